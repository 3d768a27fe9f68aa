package example

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectortest"
)

// The suite takes the connector through what providers do: changes while it
// reads, ties, late rows, crashes, poison records, 429, cut bodies, and more.
func TestSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Fake:      fake,
		Streams:   map[string]connectortest.Facts{"tickets": {Deletions: connectortest.Told}},
	})
}

// fake is GET /v1/tickets as the provider's documentation has it: filtered by
// updated_since, oldest change first, in pages with a cursor.
func fake(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tickets", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items := connectortest.Oldest(connectortest.Since(w.Items("tickets", ""), q.Get("updated_since")))
		from, _ := strconv.Atoi(q.Get("cursor"))
		page, next := connectortest.Cut(items, from, w.Limit(q.Get("limit")))
		cursor := "null"
		if next > 0 {
			cursor = strconv.Quote(strconv.Itoa(next))
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"tickets": %s, "next_cursor": %s}`, w.Elements(page, element), cursor)
	})
	return mux
}

// element is a ticket in the provider's JSON. Its revision makes each state differ.
func element(it connectortest.Item) string {
	return fmt.Sprintf(`{"id": %s, "subject": "state %d", "updated_at": %q, "deleted": %v}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339), it.Deleted)
}

func TestOptions(t *testing.T) {
	if _, err := (&Options{Team: "a team with a name that is much too long to be one"}).Streams(nil); err == nil {
		t.Error("a team's name that is too long is taken")
	}
}
