package providers_test

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

const pocketbaseTime = "2006-01-02 15:04:05.000Z"

func TestSuiteOfPocketBase(t *testing.T) {
	c := connector(t, "pocketbase")
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   with(c, map[string]string{"collections": "orders,customers"}),
		Fake:      fakePocketBase,
		Streams: map[string]connectortest.Facts{"records": {
			Parts: []string{"orders", "customers"},
			ID:    func(n int64, _ time.Time) string { return fmt.Sprintf("r%014d", n*7919%100003) },
			Grain: time.Millisecond,
		}},
	})
}

// The two filters that are asked with: from a time on, and behind a record.
var (
	pocketbaseSince = regexp.MustCompile(`^updated>='(.*)'$`)
	pocketbaseAfter = regexp.MustCompile(`^updated>'(.*)'\|\|\(updated='(.*)'&&id>'(.*)'\)$`)
)

// fakePocketBase lists collections sorted by updated and id, and compares times as text.
func fakePocketBase(w *connectortest.World) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		collection := strings.Split(r.URL.Path, "/")[3]
		if q.Get("sort") != "updated,id" {
			http.Error(rw, `{"status":400}`, 400)
			return
		}
		spelled := func(it connectortest.Item) string { return it.Changed.UTC().Format(pocketbaseTime) }
		items := w.Items("records", collection)
		slices.SortFunc(items, func(a, b connectortest.Item) int {
			return cmp.Or(strings.Compare(spelled(a), spelled(b)), strings.Compare(a.ID, b.ID))
		})
		since, after := pocketbaseSince.FindStringSubmatch(q.Get("filter")), pocketbaseAfter.FindStringSubmatch(q.Get("filter"))
		items = slices.DeleteFunc(items, func(it connectortest.Item) bool {
			switch {
			case since != nil:
				return spelled(it) < since[1]
			case after != nil:
				return spelled(it) <= after[1] && (spelled(it) != after[2] || it.ID <= after[3])
			}
			return false
		})
		size := w.Limit(q.Get("perPage"))
		page, _ := connectortest.Cut(items, 0, size)
		fmt.Fprintf(rw, `{"items":%s,"page":1,"perPage":%d,"totalItems":-1,"totalPages":-1}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"collectionName":%q,"id":%q,"rev":%d,"updated":%q}`, collection, it.ID, it.Rev, spelled(it))
		}), size)
	})
}

func TestRequestsOfPocketBase(t *testing.T) {
	record := func(id, at string) string { return fmt.Sprintf(`{"id":%q,"updated":%q}`, id, at) }
	const at = "2026-05-01 10:00:00.123Z"
	var pages []string
	w := &wire{answer: func(*http.Request) (string, int) {
		page := ""
		if len(pages) > 0 {
			page, pages = pages[0], pages[1:]
		}
		return `{"items":[` + page + `],"perPage":2}`, 200
	}}
	s := w.streams(t, with(connector(t, "pocketbase"), map[string]string{"collections": "orders"})())["records"]

	// The first page moves on by its mark; the second is full of that mark and moves on by its id.
	pages = []string{record("old", "") + "," + record("aaa", at), record("aaa", at) + "," + record("bbb", at)}
	got, state := w.walk(t, s, "orders", cursor.State{})
	want := []string{
		"GET /api/collections/orders/records?perPage=1000&skipTotal=1&sort=updated,id",
		"GET /api/collections/orders/records?filter=updated>='" + at + "'&perPage=1000&skipTotal=1&sort=updated,id",
		"GET /api/collections/orders/records?filter=updated>'" + at + "'||(updated='" + at + "'&&id>'bbb')&perPage=1000&skipTotal=1&sort=updated,id",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, _ = w.walk(t, s, "orders", state)
	want = []string{"GET /api/collections/orders/records?filter=updated>='2026-05-01 09:59:30.123Z'&perPage=1000&skipTotal=1&sort=updated,id"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	// Records without a time are gone through by their ids.
	pages = []string{record("a", "") + "," + record("b", ""), record("c", "")}
	got, _ = w.walk(t, s, "orders", cursor.State{})
	want = []string{
		"GET /api/collections/orders/records?perPage=1000&skipTotal=1&sort=updated,id",
		"GET /api/collections/orders/records?filter=updated>''||(updated=''&&id>'b')&perPage=1000&skipTotal=1&sort=updated,id",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
