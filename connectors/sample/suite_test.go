package sample

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectortest"
)

func TestSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Fake:      fake,
		Streams: map[string]connectortest.Facts{
			"orders":  {ID: func(n int64, _ time.Time) string { return fmt.Sprintf("ord_%d", n) }},
			"tickets": {Deletions: connectortest.Told},
		},
	})
}

// fake serves the suite's items in place of the built-in provider's.
func fake(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/customers", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		size, number := w.Limit("50"), 1
		if q.Has("page") {
			number, _ = strconv.Atoi(q.Get("page"))
		}
		items := connectortest.Oldest(connectortest.Since(w.Items("customers", ""), q.Get("since")))
		page, more := connectortest.Cut(items, (number-1)*size, size)
		next := "null"
		if more > 0 {
			next = strconv.Itoa(number + 1)
		}
		fmt.Fprintf(rw, `{"customers": %s, "next_page": %s}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %s, "visits": %d, "updated_at": %q}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339))
		}), next)
	})
	mux.HandleFunc("GET /v1/orders", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, _ := strconv.ParseInt(q.Get("from"), 10, 64)
		if q.Has("cursor") {
			from, _ = decodeCursor(q.Get("cursor"))
		}
		items := slices.DeleteFunc(w.Items("orders", ""), func(it connectortest.Item) bool { return it.Seq < from })
		page, more := connectortest.Cut(items, 0, w.Limit("500"))
		next := "null"
		if more > 0 {
			next = strconv.Quote(encodeCursor(items[more].Seq))
		}
		fmt.Fprintf(rw, `{"orders": %s, "next_cursor": %s}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %q, "number": %d, "total": "9.99"}`, it.ID, it.Seq)
		}), next)
	})
	mux.HandleFunc("GET /v1/tickets", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items, ok := connectortest.Behind(connectortest.Newest, w.Items("tickets", ""), q.Get("before"))
		if !ok {
			refuse(rw, http.StatusBadRequest, "before is no place")
			return
		}
		page, more := connectortest.Cut(items, 0, w.Limit("25"))
		if more > 0 {
			q.Set("before", connectortest.Place(page[len(page)-1]))
			rw.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, q.Encode()))
		}
		fmt.Fprint(rw, w.Elements(page, func(it connectortest.Item) string {
			text, err := json.Marshal(ticket{ID: it.ID, Subject: strconv.Itoa(it.Rev), Deleted: it.Deleted, UpdatedAt: it.Changed.Format(time.RFC3339)})
			if err != nil {
				panic(err) // a struct of texts
			}
			return string(text)
		}))
	})
	return mux
}
