package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// clock is a time that a test sets, and that may move on with every look.
type clock struct {
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time { c.at = c.at.Add(c.step); return c.at }

func newClock() *clock { return &clock{at: time.Date(2026, 1, 25, 9, 0, 7, 0, time.UTC)} }

// patient is a round tripper that calls the server and asks again where that
// throttles, fails or cuts its answer, once.
type patient struct {
	*Server
	again int
}

func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 0; ; try++ {
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, req)
		resp := rec.Result()
		resp.Request = req
		cut := resp.ContentLength >= 0 && resp.ContentLength != int64(rec.Body.Len())
		if resp.StatusCode != 429 && resp.StatusCode != 503 && !cut {
			return resp, nil
		}
		if try > 0 {
			return nil, fmt.Errorf("two faults in a row")
		}
		p.again++
	}
}

func setup(t *testing.T, c *clock, change func(*Options)) (map[string]syncd.Stream, *patient) {
	t.Helper()
	p := &patient{Server: &Server{Now: c.now}}
	client, err := syncd.NewClient("http://sample.test", p, p)
	if err != nil {
		t.Fatal(err)
	}
	o := Connector().Options().(*Options)
	if change != nil {
		change(o)
	}
	list, err := o.Streams(client)
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]syncd.Stream{}
	for _, s := range list {
		streams[s.Name] = s
	}
	return streams, p
}

// walk reads a stream to its end by the rules of the engine, checks its promise
// of order and that requests can be repeated, and returns its records and the
// highest mark. While the clock moves, requests can't be repeated.
func walk(t *testing.T, s syncd.Stream, since syncd.Mark, still bool) (all []syncd.Record, high syncd.Mark) {
	t.Helper()
	req := syncd.Request{Since: since}
	for range 1000 {
		page := fetch(t, s, req)
		if still && !samePage(page, fetch(t, s, req)) {
			t.Errorf("%s: %+v: the second answer differs", s.Name, req)
		}
		var last, low syncd.Mark
		for _, r := range page.Records {
			if s.Order == syncd.Ascending && (r.Mark < last || r.Mark < req.Since) || s.Order == syncd.Descending && last != 0 && r.Mark > last {
				t.Errorf("%s: record %s of mark %d after %d, asked since %d, breaks the order", s.Name, r.ID, r.Mark, last, req.Since)
			}
			last = r.Mark
			if low == 0 || r.Mark < low {
				low = r.Mark
			}
			high = max(high, r.Mark)
		}
		all = append(all, page.Records...)
		switch {
		case page.Next == "" || s.Order == syncd.Descending && low < since:
			return all, high
		case s.Order == syncd.Ascending && high > req.Since:
			req.Since, req.Page = high, ""
		default:
			req.Page = page.Next
		}
	}
	t.Fatalf("%s: the walk does not end", s.Name)
	return nil, 0
}

func fetch(t *testing.T, s syncd.Stream, req syncd.Request) syncd.Page {
	t.Helper()
	page, err := s.Fetch(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %+v: %v", s.Name, req, err)
	}
	return page
}

func samePage(a, b syncd.Page) bool {
	if a.Next != b.Next || len(a.Records) != len(b.Records) {
		return false
	}
	for i := range a.Records {
		x, y := a.Records[i], b.Records[i]
		if x.ID != y.ID || x.Mark != y.Mark || x.Deleted != y.Deleted || !bytes.Equal(x.Data, y.Data) {
			return false
		}
	}
	return true
}

// table is what a reader has stored: the newest state by id.
type table map[string]string

func (t table) put(records []syncd.Record) {
	for _, r := range records {
		if r.ID != "" {
			t[r.ID] = string(r.Data)
		}
	}
}

func (t table) differences(other table) int {
	n := 0
	for id, data := range t {
		if other[id] != data {
			n++
		}
	}
	for id := range other {
		if _, ok := t[id]; !ok {
			n++
		}
	}
	return n
}

func TestFirstWalk(t *testing.T) {
	for _, size := range []int{minSize, 120, 1000} {
		streams, p := setup(t, newClock(), func(o *Options) { o.Size = size })
		want := map[string]int{"customers": size, "orders": size + 24*24 + 9, "tickets": size / 3}
		for name, s := range streams {
			records, _ := walk(t, s, 0, true)
			got := table{}
			got.put(records)
			if len(got) != want[name] {
				t.Errorf("size %d: got %d %s, want %d", size, len(got), name, want[name])
			}
			without := 0
			for _, r := range records {
				if r.ID == "" {
					without++
				}
				if r.Err != nil || r.Mark == 0 || !json.Valid(r.Data) {
					t.Errorf("%s: bad record %+v", name, r)
				}
			}
			if bad := name == "tickets"; bad != (without == 1) || without > 1 {
				t.Errorf("size %d: %d %s have no id", size, without, name)
			}
		}
		if p.again == 0 {
			t.Errorf("size %d: no fault was met", size)
		}
	}
}

func TestSinceIsInclusive(t *testing.T) {
	streams, _ := setup(t, newClock(), nil)
	for _, name := range []string{"customers", "orders"} {
		all, _ := walk(t, streams[name], 0, true)
		for i := 0; i < len(all); i += len(all) / 12 {
			want, got := table{}, table{}
			for _, r := range all {
				if r.Mark >= all[i].Mark {
					want.put([]syncd.Record{r})
				}
			}
			records, _ := walk(t, streams[name], all[i].Mark, true)
			if got.put(records); got.differences(want) != 0 {
				t.Errorf("%s since %d: got %d records, want the %d from there on", name, all[i].Mark, len(got), len(want))
			}
		}
	}
}

// Another process with the same options serves the same bytes.
func TestRestart(t *testing.T) {
	one, _ := setup(t, newClock(), nil)
	two, _ := setup(t, newClock(), func(o *Options) { o.Faults = false })
	for name := range one {
		a, _ := walk(t, one[name], 0, true)
		b, _ := walk(t, two[name], 0, true)
		if !samePage(syncd.Page{Records: a}, syncd.Page{Records: b}) {
			t.Errorf("%s differ after a restart", name)
		}
	}
}

func TestWhatChanges(t *testing.T) {
	c := newClock()
	streams, _ := setup(t, c, nil)
	read := func(name string) table {
		records, _ := walk(t, streams[name], 0, true)
		got := table{}
		got.put(records)
		return got
	}
	for _, step := range []struct {
		name string
		wait time.Duration
		want int
	}{
		{"customers", 20 * time.Second, 1},
		{"customers", time.Minute, 3},
		{"customers", 40 * time.Minute, 120},
		{"tickets", 40 * time.Second, 1},
		{"tickets", 400 * time.Second, 10},
		{"orders", time.Minute, 0},
		{"orders", 2 * time.Hour, 2},
	} {
		before := read(step.name)
		c.at = c.at.Add(step.wait)
		if got := before.differences(read(step.name)); got != step.want {
			t.Errorf("%s: %d changed in %v, want %d", step.name, got, step.wait, step.want)
		}
	}
}

// A reader who reads only what changed since the last time, while it goes on
// changing, has the same as one who reads everything at the end.
func TestReadingOnlyChanges(t *testing.T) {
	for _, every := range []time.Duration{minEvery, 20 * time.Second} {
		c := newClock()
		c.step = every / 3
		streams, _ := setup(t, c, func(o *Options) { o.ChangeEvery = every })
		got, marks := map[string]table{}, map[string]syncd.Mark{}
		update := func() {
			for name, s := range streams {
				if got[name] == nil {
					got[name] = table{}
				}
				since := max(0, marks[name]-syncd.Mark(s.Overlap))
				if p := syncd.Mark(s.Precision); p > 0 {
					since -= since % p
				}
				records, high := walk(t, s, since, false)
				if s.Order == syncd.Descending { // oldest last: the newest state must win
					for i := len(records) - 1; i >= 0; i-- {
						got[name].put(records[i : i+1])
					}
				} else {
					got[name].put(records)
				}
				marks[name] = max(marks[name], high)
			}
		}
		for range 20 {
			update()
			c.at = c.at.Add(7 * every)
		}
		c.step = 0
		update()
		for name, s := range streams {
			want := table{}
			records, _ := walk(t, s, 0, true)
			want.put(records)
			if n := got[name].differences(want); n != 0 {
				t.Errorf("every %v: %d of %d %s differ from a full reading", every, n, len(want), name)
			}
		}
	}
}

// Every ticket is deleted and restored in its time.
func TestTicketsAreDeletedAndRestored(t *testing.T) {
	c := newClock()
	streams, _ := setup(t, c, func(o *Options) { o.Size, o.Faults = 30, false })
	deleted, restored := map[string]bool{}, map[string]bool{}
	for range len(states) + 1 {
		records, _ := walk(t, streams["tickets"], 0, true)
		for _, r := range records {
			switch {
			case r.ID == "":
			case r.Deleted:
				deleted[r.ID] = true
			case deleted[r.ID]:
				restored[r.ID] = true
			}
		}
		c.at = c.at.Add(10 * 40 * time.Second)
	}
	if len(deleted) != 10 || len(restored) != 10 {
		t.Errorf("%d tickets were deleted and %d restored, want all 10", len(deleted), len(restored))
	}
}

func TestAccountsShareNothing(t *testing.T) {
	ids := map[string]string{}
	for _, change := range []func(*Options){
		func(o *Options) {},
		func(o *Options) { o.Account = "alice" },
		func(o *Options) { o.Account = "bob" },
		func(o *Options) { o.Account = "Bob & co?" },
		func(o *Options) { o.Seed = 2 },
	} {
		var options Options
		streams, _ := setup(t, newClock(), func(o *Options) { change(o); options = *o })
		for name, s := range streams {
			for _, r := range fetch(t, s, syncd.Request{}).Records {
				if other, ok := ids[r.ID]; ok {
					t.Fatalf("%s of %+v is also among those of %s", r.ID, options, other)
				}
				ids[r.ID] = fmt.Sprintf("%+v %s", options, name)
			}
		}
		delete(ids, "")
	}
}

// Tokens stand for accounts where none is named.
func TestTokens(t *testing.T) {
	get := func(token, account string) (int, string) {
		req := httptest.NewRequest("GET", "http://sample.test/v1/customers?faults=false&account="+account, nil)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		rec := httptest.NewRecorder()
		(&Server{Now: newClock().now}).ServeHTTP(rec, req)
		body, err := io.ReadAll(rec.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return rec.Code, string(body)
	}
	_, none := get("", "")
	_, one := get("one", "")
	_, two := get("two", "")
	_, named := get("one", "alice")
	_, alice := get("", "alice")
	if none == one || one == two || named != alice {
		t.Error("tokens and accounts lead to the wrong data")
	}
	if code, _ := get("revoked", "alice"); code != 401 {
		t.Errorf("a revoked token: got %d, want 401", code)
	}
}
