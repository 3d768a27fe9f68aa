package notion

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// stream returns a stream under the default options, changed by change.
func stream(t *testing.T, h http.Handler, name string, change func(*Options)) syncd.Stream {
	t.Helper()
	o := Connector().Options().(*Options)
	o.Only = []string{name}
	if change != nil {
		change(o)
	}
	return connectortest.Open(t, Connector().BaseURL, o, h)[name]
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

// A page is one of the fake, with the exact time of its last edit.
type page struct {
	n      int
	edited time.Time
	trash  bool
}

func (p page) id() string { return id(int64(p.n), time.Time{}) }

// shown is the time as Notion shows it.
func (p page) shown() time.Time { return p.edited.Round(time.Minute) }

func (p page) json() string {
	return fmt.Sprintf(`{"object": "page", "id":%q,"last_edited_time":%q,"in_trash":%v}`, p.id(), p.shown().Format("2006-01-02T15:04:05.000Z"), p.trash)
}

// workspace is a list as Notion serves it: filtered and sorted by the exact
// times, shown with rounded ones, and cut at most elements.
type workspace struct {
	pages []page
	most  int // elements that a query lists in all; 0 is no limit
	asked []string
}

// body reads a request's body.
func body(r *http.Request) string {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f *workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := body(r)
	f.asked = append(f.asked, text)
	var q asked
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		refuse(w, 400, "invalid_json", err.Error())
		return
	}
	list := slices.Clone(f.pages)
	down := strings.HasSuffix(r.URL.Path, "/search")
	slices.SortStableFunc(list, func(a, b page) int {
		c := cmp.Or(a.edited.Compare(b.edited), a.n-b.n)
		if down {
			return -c
		}
		return c
	})
	from, _ := time.Parse(time.RFC3339, q.Filter.Edited.From)
	list = slices.DeleteFunc(list, func(p page) bool { return p.trash != q.Filter.Trash || p.edited.Before(from) })
	status := ""
	if f.most > 0 && len(list) > f.most {
		list, status = list[:f.most], `,"request_status":{"type":"incomplete","incomplete_reason":"query_result_limit_reached"}`
	}
	if q.Cursor != "" {
		i := slices.IndexFunc(list, func(p page) bool { return p.id() == q.Cursor })
		if i < 0 {
			refuse(w, 400, "validation_error", "The start_cursor provided is invalid: "+q.Cursor)
			return
		}
		list = list[i:]
	}
	next := "null"
	if len(list) > q.Size {
		next, list = fmt.Sprintf("%q", list[q.Size].id()), list[:q.Size]
	}
	var texts []string
	for _, p := range list {
		texts = append(texts, p.json())
	}
	fmt.Fprintf(w, `{"object":"list","results":[%s],"next_cursor":%s,"has_more":%v%s}`, strings.Join(texts, ","), next, next != "null", status)
}

// walk reads a stream by the rules of the engine: an ascending list is asked
// for again from the newest mark, unless that did not move.
func walk(t *testing.T, s syncd.Stream, since syncd.Mark) map[string]syncd.Record {
	t.Helper()
	got := map[string]syncd.Record{}
	asked := map[syncd.Request]bool{}
	req := syncd.Request{Part: sources[0], Since: since}
	for {
		if asked[req] {
			t.Fatalf("the request %+v was made twice", req)
		}
		asked[req] = true
		page := fetch(t, s, req)
		high := syncd.Mark(0)
		for _, r := range page.Records {
			if s.Order == syncd.Ascending && (r.Mark < high || r.Mark < req.Since) {
				t.Errorf("record %s of %v is out of order, asked since %v", r.ID, r.Mark.Time(), req.Since.Time())
			}
			high = max(high, r.Mark)
			got[r.ID] = r
		}
		switch {
		case page.Next == "":
			return got
		case s.Order == syncd.Ascending && high > req.Since:
			req.Since, req.Page = high, ""
		default:
			req.Page = page.Next
		}
	}
}

func wantPages(t *testing.T, got map[string]syncd.Record, want []page) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d records, want %d", len(got), len(want))
	}
	for _, p := range want {
		r, ok := got[p.id()]
		if !ok || string(r.Data) != p.json() || r.Mark != syncd.At(p.shown()) || r.Deleted != p.trash || r.Err != nil {
			t.Fatalf("page %d: got %+v, want %s", p.n, r, p.json())
		}
	}
}
