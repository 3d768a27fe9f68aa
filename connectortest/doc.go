// Package connectortest proves a connector against what providers do.
//
// The author writes a fake of the provider: an http.Handler that lists the
// items of a World as the provider would, 20 to 40 lines. Run does the rest. It
// reads the fake with the real engine, transport and a store in memory, in fake
// time, while the items change and the answers go wrong as they do in practice,
// and then holds the table against the world: each item once, in its last
// state, nothing lost, nothing made up. What it finds, it says in a sentence
// that names what the provider did and what to look at in the connector.
//
//	func TestSuite(t *testing.T) {
//		connectortest.Run(t, connectortest.Subject{
//			Connector: Connector(),
//			Fake:      fake,
//		})
//	}
//
//	// fake is GET /v1/customers?since=TIME&page=N, oldest change first.
//	func fake(w *connectortest.World) http.Handler {
//		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
//			q := r.URL.Query()
//			items := connectortest.Oldest(connectortest.Since(w.Items("customers", ""), q.Get("since")))
//			from, _ := strconv.Atoi(q.Get("page"))
//			page, next := connectortest.Cut(items, from, w.Limit(q.Get("limit")))
//			fmt.Fprintf(rw, `{"customers": %s, "next_page": %d}`, w.Elements(page, func(it connectortest.Item) string {
//				return fmt.Sprintf(`{"id": %s, "visits": %d, "updated_at": %q}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339))
//			}), next)
//		})
//	}
//
// A fake lists what the World has at that moment and filters, sorts and pages
// it as the provider does, faults of the provider's included: the suite can
// only find in a connector what its fake would make of it. It shows the item's
// Rev in each element, so that its states differ, and makes the elements by
// World.Elements, where the suite slips in what goes wrong inside of a list.
//
// What the suite cannot see from the connector's streams is told in Facts.
package connectortest
