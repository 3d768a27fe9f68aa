package providers_test

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

func TestSuiteOfHackerNews(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: connector(t, "hacker_news"),
		Fake:      fakeHackerNews,
		Streams: map[string]connectortest.Facts{"items": {Mark: connectortest.Created, Except: map[string]string{
			"more ties than a page": "the list goes on by the second: more than 1,000 items of one second are not to be had, and there are none",
		}}},
	})
}

var numericFilter = regexp.MustCompile(`created_at_i(>=|<=)(\d+)`)

// fakeHackerNews lists items newest first, by their creation, between two bounds.
func fakeHackerNews(w *connectortest.World) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items := w.Items("items", "")
		slices.SortStableFunc(items, func(a, b connectortest.Item) int {
			return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.N, a.N))
		})
		for _, bound := range numericFilter.FindAllStringSubmatch(q.Get("numericFilters"), -1) {
			n, _ := strconv.ParseInt(bound[2], 10, 64)
			items = slices.DeleteFunc(items, func(it connectortest.Item) bool {
				at := it.Created.Unix()
				return bound[1] == ">=" && at < n || bound[1] == "<=" && at > n
			})
		}
		size := w.Limit(q.Get("hitsPerPage"))
		page, _ := connectortest.Cut(items, 0, size)
		fmt.Fprintf(rw, `{"hits":%s,"hitsPerPage":%d}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"objectID":%q,"created_at_i":%d,"points":%d}`, it.ID, it.Created.Unix(), it.Rev)
		}), size)
	})
}

func TestRequestsOfHackerNews(t *testing.T) {
	pages := []string{
		`{"hitsPerPage":1,"hits":[{"objectID":"2","created_at_i":1780000000}]}`,
		`{"hitsPerPage":2,"hits":[{"objectID":"1","created_at_i":1770000000}]}`,
		`{"hitsPerPage":2,"hits":[]}`,
	}
	w := &wire{answer: func(*http.Request) (string, int) {
		page := pages[0]
		pages = pages[1:]
		return page, 200
	}}
	s := w.streams(t, connector(t, "hacker_news").Options())["items"]
	first, state := w.walk(t, s, "", cursor.State{})
	later, _ := w.walk(t, s, "", state)
	want := []string{
		"GET /search_by_date?hitsPerPage=1000&tags=story",
		"GET /search_by_date?hitsPerPage=1000&numericFilters=created_at_i<=1780000000&tags=story",
		fmt.Sprintf("GET /search_by_date?hitsPerPage=1000&numericFilters=created_at_i>=%d&tags=story", 1780000000-48*3600),
	}
	if diff := gocmp.Diff(want, append(first, later...)); diff != "" {
		t.Error(diff)
	}
}
