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
//	// fake is GET /v1/customers?since=TIME&from=NUMBER, oldest change first.
//	func fake(w *connectortest.World) http.Handler {
//		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
//			q := r.URL.Query()
//			items := connectortest.Oldest(connectortest.Since(w.Items("customers", ""), q.Get("since")))
//			from, _ := strconv.Atoi(q.Get("from"))
//			page, more := connectortest.Cut(items, from, w.Limit(q.Get("limit")))
//			next := "null"
//			if more > 0 {
//				next = strconv.Itoa(more)
//			}
//			fmt.Fprintf(rw, `{"customers": %s, "next": %s}`, w.Elements(page, func(it connectortest.Item) string {
//				return fmt.Sprintf(`{"id": %s, "visits": %d, "updated_at": %q}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339))
//			}), next)
//		})
//	}
//
// A fake lists what the World has at that moment and filters, sorts and pages
// it as the provider does, faults of the provider's included: the suite can
// only find in a connector what its fake would make of it. It shows the item's
// Rev in each element, so that its states differ, and makes the elements by
// World.Elements, where the suite slips in what goes wrong inside of a list. It
// answers the same to the same request for as long as the World keeps still:
// its page tokens are no random texts.
//
// What the suite cannot see from the connector's streams is told in Facts.
//
// # Scenarios
//
//   - whole list: it keeps still, and is read twice, and once more in full
//   - nothing there: an empty provider, and its first records
//   - the same request again: later, in another order, in another process
//   - a record set aside is tried again: Stream.Replay makes what Fetch made
//   - ties at the watermark, more ties than a page
//   - late rows: they show up behind the watermark, within Stream.Overlap
//   - changes while it is read, deletions while it is read
//   - deletions: between two runs
//   - dates in the future
//   - clocks apart: the provider's and the machine's
//   - crash at every page: before and after each commit
//   - one page a run
//   - poison at page edges: elements that cannot be decoded
//   - nulls: each field in its turn
//   - duplicates, elements out of order
//   - empty pages: with others after them
//   - throttled, throttled for an hour
//   - a storm of server errors
//   - refused: 401, 403, 404, 400 and 500, at first or in mid-walk
//   - cut bodies
//   - pages for people: HTML in the place of data
//   - empty answers
//   - answers without the list: and errors told with status 200
//   - lost sync tokens: between runs and in mid-walk
//   - dead page tokens: refused once, in mid-walk and when a run goes on
//   - repeating pages: one again and again, or two by turns
//   - at random: with a seed to play it again by
//
// The ids that the suite makes, where Facts.ID does not, are whole numbers above
// 2^53, of which every other one does not survive a float64.
package connectortest
