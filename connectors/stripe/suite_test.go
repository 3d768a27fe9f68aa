package stripe

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectortest"
)

func TestSuite(t *testing.T) {
	facts := map[string]connectortest.Facts{"events": {ID: func(n int64, _ time.Time) string { return fmt.Sprintf("evt_of_%d", n) }}}
	// A charge cannot be deleted, and a subscription that is cancelled is still
	// there. https://docs.stripe.com/api/charges, https://docs.stripe.com/api/subscriptions/cancel
	deletions := map[string]connectortest.Deletions{
		"charges": connectortest.Never, "subscriptions": connectortest.Never, "customers": connectortest.Told, "invoices": connectortest.Told,
	}
	for _, k := range kinds() {
		facts[k.name] = connectortest.Facts{
			ID:        func(n int64, _ time.Time) string { return fmt.Sprintf("%s_%d", k.name[:2], n) },
			Mark:      connectortest.Unmarked,
			Deletions: deletions[k.name],
		}
	}
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Fake:      func(w *connectortest.World) http.Handler { return &world{World: w, told: map[string]int64{}} },
		Streams:   facts,
	})
}

// A world serves the suite's items as Stripe does. It keeps the events that
// tell of them: what happened to an item between two requests is one event.
type world struct {
	*connectortest.World
	mu     sync.Mutex
	told   map[string]int64 // by stream and id, the number of the last change that an event tells of
	events []event
}

// watch makes the events of what has happened since the last request.
func (w *world) watch() {
	for _, k := range kinds() {
		for _, it := range w.Items(k.name, "") {
			key := k.name + "/" + it.ID
			if w.told[key] == it.Seq {
				continue
			}
			w.told[key] = it.Seq
			name := k.types[0]
			if it.Deleted {
				name = k.object + ".deleted"
			}
			w.events = append(w.events, event{
				id: fmt.Sprintf("evt_%d", it.Seq), kind: name, created: it.Changed.Unix(),
				holds: fmt.Sprintf(`{"id":%q,"object":%q,"created":%d}`, it.ID, k.object, it.Created.Unix()),
			})
		}
	}
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch()
	q := r.URL.Query()
	limit := w.Limit(q.Get("limit"))
	path, id, single := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	if types := q["types[]"]; path == "events" && types != nil {
		var rows []row
		for i, e := range w.events {
			if slices.Contains(types, e.kind) {
				rows = append(rows, row{e.id, e.created, i})
			}
		}
		if rows, more, ok := page(rw, path, q, rows, limit); ok {
			write(rw, rows, more, func(r row) string { return w.events[r.n].json() })
		}
		return
	}
	items := w.Items(path, "")
	render := func(it connectortest.Item) string {
		return fmt.Sprintf(`{"id": %q, "created": %d, "rev": %d}`, it.ID, it.Created.Unix(), it.Rev)
	}
	var rows []row
	for i, it := range items {
		switch {
		case single && it.ID == id && it.Deleted && path == "customers":
			fmt.Fprintf(rw, `{"id":%q,"object":"customer","deleted":true}`, id)
			return
		case single && it.ID == id && !it.Deleted:
			texts := w.Each(items[i:i+1], render) // more than one where the suite doubles elements of lists
			fmt.Fprint(rw, texts[len(texts)-1])
			return
		case !single && !it.Deleted:
			rows = append(rows, row{it.ID, it.Created.Unix(), i})
		}
	}
	if single {
		refuse(rw, 404, "resource_missing", "id", "No such object: '"+id+"'")
		return
	}
	if rows, more, ok := page(rw, path, q, rows, limit); ok {
		var page []connectortest.Item
		for _, r := range rows {
			page = append(page, items[r.n])
		}
		fmt.Fprintf(rw, `{"object":"list","has_more":%v,"data":%s}`, more, w.Elements(page, render))
	}
}
