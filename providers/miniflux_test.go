package providers_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

func TestSuiteOfMiniflux(t *testing.T) {
	one := connectortest.Facts{OnePage: true, Mark: connectortest.Unmarked}
	c := connector(t, "miniflux")
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   paged(c, 4, "entries"), // it gives as many as it is asked for
		Fake:      fakeMiniflux,
		Streams: map[string]connectortest.Facts{
			// The newest item of a feed may get a lower id than the others.
			"entries": {ID: func(n int64, _ time.Time) string { return strconv.FormatInt(100*(n/5)+50-n%5, 10) }, Grain: time.Microsecond},
			"feeds":   one, "categories": one,
		},
	})
}

// fakeMiniflux lists entries by their ids, and those alone that changed after a second.
func fakeMiniflux(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/entries", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("order") != "id" || q.Get("direction") != "asc" {
			http.Error(rw, `{"error_message":"not in the order of ids"}`, 400)
			return
		}
		number := func(name string) int64 { n, _ := strconv.ParseInt(q.Get(name), 10, 64); return max(n, 0) } // what is none is ignored
		items := w.Items("entries", "")
		slices.SortFunc(items, func(a, b connectortest.Item) int { return cmp.Compare(numeric(a), numeric(b)) })
		items = slices.DeleteFunc(items, func(it connectortest.Item) bool {
			since := number("changed_after")
			return numeric(it) <= number("after_entry_id") || since > 0 && !it.Changed.After(time.Unix(since, 0))
		})
		page, _ := connectortest.Cut(items, 0, int(number("limit")))
		fmt.Fprintf(rw, `{"total":%d,"entries":%s}`, len(items), w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%s,"title":"%d","changed_at":%q,"feed":{"id":1}}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339Nano))
		}))
	})
	mux.HandleFunc("GET /v1/{list}", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, w.Elements(w.Items(r.PathValue("list"), ""), func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%s,"title":"%d"}`, it.ID, it.Rev)
		}))
	})
	return mux
}

func TestRequestsOfMiniflux(t *testing.T) {
	entry := func(id int, at string) string {
		return fmt.Sprintf(`{"id":%d,"changed_at":"2026-05-01T%sZ"}`, id, at)
	}
	w := &wire{answer: func(req *http.Request) (string, int) {
		if req.URL.Path != "/v1/entries" {
			return "[]", 200
		}
		q := req.URL.Query()
		switch {
		case q.Get("changed_after") != "" || q.Get("after_entry_id") == "12":
			return `{"total":1,"entries":[` + entry(13, "10:00:00.5") + `]}`, 200
		}
		return `{"total":3,"entries":[` + strings.Join([]string{entry(11, "10:00:01.000001"), entry(12, "09:00:00")}, ",") + `]}`, 200
	}}
	streams := w.streams(t, paged(connector(t, "miniflux"), 2, "entries")())
	got, state := w.walk(t, streams["entries"], "", cursor.State{})
	want := []string{
		"GET /v1/entries?direction=asc&limit=2&order=id",
		"GET /v1/entries?after_entry_id=12&direction=asc&limit=2&order=id",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, _ = w.walk(t, streams["entries"], "", state)
	want = []string{fmt.Sprintf("GET /v1/entries?changed_after=%d&direction=asc&limit=2&order=id", time.Date(2026, 5, 1, 9, 58, 0, 0, time.UTC).Unix())}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"feeds": "GET /v1/feeds", "categories": "GET /v1/categories"} {
		if got, _ := w.walk(t, streams[name], "", cursor.State{}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
