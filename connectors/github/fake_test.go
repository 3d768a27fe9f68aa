package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// direct is a round tripper that calls a handler, and follows redirects within
// the origin as the daemon's transport does.
type direct struct{ http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	for range 5 {
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, req)
		resp := rec.Result()
		resp.Request = req
		location, err := resp.Location()
		if resp.StatusCode/100 != 3 || err != nil || location.Host != req.URL.Host {
			return resp, nil
		}
		next := req.Clone(req.Context())
		next.URL = location
		req = next
	}
	return nil, fmt.Errorf("too many redirects")
}

func newClient(t *testing.T, base string, h http.Handler) *syncd.Client {
	t.Helper()
	c, err := syncd.NewClient(base, direct{h}, direct{h})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func streams(t *testing.T, c *syncd.Client, o Options) map[string]syncd.Stream {
	t.Helper()
	list, err := o.Streams(c)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]syncd.Stream{}
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName
}

// An element is an issue, pull request or comment of the fake.
type element struct {
	id      int
	updated time.Time
	pull    bool
}

func (e element) json() string {
	pull := ""
	if e.pull {
		pull = `, "pull_request": {"url": "https://example.test/pulls"}`
	}
	return fmt.Sprintf(`{"id":%d, "title":"<b>&  %d", "updated_at":%q%s}`, e.id, e.id, e.updated.Format(time.RFC3339), pull)
}

// fake is a repository's list as GitHub serves it: filtered by since, sorted by
// the time of the last change, in pages with a Link header.
type fake struct {
	elements []element
	path     string          // of the list
	before   func(n int)     // called before the n-th request is answered, from 1
	asked    []*http.Request // the requests so far
	maxPage  int             // page numbers above it are refused; 0 is no limit
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r)
	if f.before != nil {
		f.before(len(f.asked))
	}
	q := r.URL.Query()
	if r.URL.Path != f.path {
		http.NotFound(w, r)
		return
	}
	var list []element
	for _, e := range f.elements {
		if since := q.Get("since"); since == "" || e.updated.Format(time.RFC3339) >= since {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b element) int {
		c := a.updated.Compare(b.updated)
		if c == 0 {
			c = a.id - b.id
		}
		if q.Get("direction") == "desc" {
			c = -c
		}
		return c
	})
	size, _ := strconv.Atoi(q.Get("per_page"))
	page := 1
	if p := q.Get("page"); p != "" {
		page, _ = strconv.Atoi(p)
	}
	if f.maxPage > 0 && page > f.maxPage && q.Get("after") == "" {
		w.WriteHeader(422)
		fmt.Fprint(w, `{"message":"Pagination with the page parameter is not supported for large datasets"}`)
		return
	}
	lo, hi := min((page-1)*size, len(list)), min(page*size, len(list))
	if hi < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		if f.maxPage > 0 {
			q.Set("after", "Y3Vyc29yOnYy")
		}
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?%s>; rel="next", <http://%s/x?page=9>; rel="last"`, r.Host, r.URL.Path, q.Encode(), r.Host))
	}
	var texts []string
	for _, e := range list[lo:hi] {
		texts = append(texts, e.json())
	}
	fmt.Fprintf(w, "[%s]", strings.Join(texts, ",\n "))
}

// walk reads one part of a stream to the end by the rules of the engine: an
// ascending list is asked for again from the newest mark, unless that did not
// move; a descending one ends where it is older than since.
func walk(t *testing.T, s syncd.Stream, part string, since syncd.Mark) []syncd.Record {
	t.Helper()
	var all []syncd.Record
	req := syncd.Request{Part: part, Since: since}
	asked := map[syncd.Request]bool{}
	for {
		if asked[req] {
			t.Fatalf("the request %+v was made twice", req)
		}
		asked[req] = true
		page, err := s.Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Records...)
		checkOrder(t, s, req, page)
		var high, low syncd.Mark
		for _, r := range page.Records {
			high = max(high, r.Mark)
			if low == 0 || r.Mark < low {
				low = r.Mark
			}
		}
		switch {
		case page.Next == "":
			return all
		case s.Order == syncd.Descending && low != 0 && low < since:
			return all
		case s.Order == syncd.Ascending && high > req.Since:
			req.Since, req.Page = high, ""
		default:
			req.Page = page.Next
		}
	}
}

func checkOrder(t *testing.T, s syncd.Stream, req syncd.Request, page syncd.Page) {
	t.Helper()
	var last syncd.Mark
	for _, r := range page.Records {
		switch {
		case s.Order == syncd.Ascending && (r.Mark < last || r.Mark < req.Since):
			t.Errorf("record %s of %v comes after %v, asked since %v", r.ID, r.Mark.Time(), last.Time(), req.Since.Time())
		case s.Order == syncd.Descending && last != 0 && r.Mark > last:
			t.Errorf("record %s of %v comes after %v", r.ID, r.Mark.Time(), last.Time())
		}
		last = r.Mark
	}
}

func ids(records []syncd.Record) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for _, r := range records {
		m[r.ID] = r.Data
	}
	return m
}

func fetch(t *testing.T, s syncd.Stream, req syncd.Request) syncd.Page {
	t.Helper()
	page, err := s.Fetch(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
