package stripe

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// A row is what a list of Stripe's holds, as far as lists are filtered and paged.
type row struct {
	id      string
	created int64
	n       int // where it stands in its list
}

// params are the parameters that a path takes; all others are refused.
var params = map[string][]string{
	"charges":       {"limit", "starting_after", "created[gte]", "created[lte]"},
	"customers":     {"limit", "starting_after", "created[gte]", "created[lte]"},
	"invoices":      {"limit", "starting_after", "created[gte]", "created[lte]"},
	"subscriptions": {"limit", "starting_after", "created[gte]", "created[lte]", "status"},
	"events":        {"limit", "starting_after", "created[gte]", "created[lte]", "types[]"},
}

// page returns the rows of a page of a list and whether there are more, as
// Stripe does: newest first, of one second the last of the list first. ok is
// false where the request was refused.
func page(w http.ResponseWriter, path string, q url.Values, rows []row, limit int) (out []row, more, ok bool) {
	for name := range q {
		if !slices.Contains(params[path], name) {
			refuse(w, 400, "parameter_unknown", name, "Received unknown parameter: "+name)
			return nil, false, false
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.created != b.created {
			return int(b.created - a.created)
		}
		return b.n - a.n
	})
	if id := q.Get("starting_after"); id != "" {
		i := slices.IndexFunc(rows, func(r row) bool { return r.id == id })
		if i < 0 {
			refuse(w, 400, "resource_missing", "starting_after", "No such object: '"+id+"'")
			return nil, false, false
		}
		rows = rows[i+1:]
	}
	bound := func(name string, without int64) int64 {
		if !q.Has(name) {
			return without
		}
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%s is %q", name, q.Get(name)))
		}
		return n
	}
	from, to := bound("created[gte]", 0), bound("created[lte]", 1<<62)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.created < from || r.created > to })
	if len(rows) > limit {
		return rows[:limit], true, true
	}
	return rows, false, true
}

func refuse(w http.ResponseWriter, status int, code, param, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"doc_url":"https://stripe.com/docs","message":%q,"param":%q,"type":"invalid_request_error"}}`, code, message, param)
}

// A thing is an object of the fake.
type thing struct {
	id      string
	created int64
	rev     int
	ended   bool // a subscription that was cancelled
}

func (o *thing) json(k kind) string {
	return fmt.Sprintf(`{"id": %q, "object": %q, "created": %d, "livemode": false, "rev": %d}`, o.id, k.object, o.created, o.rev)
}

// An event is one of the fake. What it holds is a snapshot of another shape.
type event struct {
	id, kind string
	created  int64
	account  string
	holds    string
}

func (e event) json() string {
	account := ""
	if e.account != "" {
		account = fmt.Sprintf(`"account":%q,`, e.account)
	}
	return fmt.Sprintf(`{"id":%q,"object":"event",%s"api_version":"2019-02-19","created":%d,"livemode":false,"type":%q,"data":{"object":%s}}`, e.id, account, e.created, e.kind, e.holds)
}

// fake is an account at Stripe.
type fake struct {
	now    int64 // by Stripe's clock
	size   int   // of a page
	things map[string][]*thing
	gone   map[string]bool
	events []event
	n      int

	before func(n int)                                       // called before the nth request is answered, from 1
	answer func(w http.ResponseWriter, r *http.Request) bool // answers in the fake's place
	asked  []*http.Request
	undate bool // answers have no Date
}

func newFake() *fake {
	return &fake{now: epoch, size: 3, things: map[string][]*thing{}, gone: map[string]bool{}}
}

const epoch = 1772366400 // 2026-03-01T12:00:00Z

func kindOf(name string) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == name })]
}

// tell appends an event.
func (f *fake) tell(kind, holds string) {
	f.n++
	f.events = append(f.events, event{id: fmt.Sprintf("evt_%d", f.n), kind: kind, created: f.now, holds: holds})
}

// create makes an object, now.
func (f *fake) create(name string) *thing {
	f.n++
	o := &thing{id: fmt.Sprintf("%s_%d", name[:2], f.n), created: f.now, rev: 1}
	f.things[name] = append(f.things[name], o)
	f.tell(kindOf(name).types[0], o.json(kindOf(name)))
	return o
}

// change changes an object, now, and tells of it by an event that holds the
// state before.
func (f *fake) change(name string, o *thing) {
	k := kindOf(name)
	before := o.json(k)
	o.rev++
	f.tell(k.types[len(k.types)-1], before)
}

// remove deletes an object, now.
func (f *fake) remove(name string, o *thing) {
	f.gone[o.id] = true
	f.things[name] = slices.DeleteFunc(f.things[name], func(x *thing) bool { return x == o })
	f.tell(kindOf(name).object+".deleted", o.json(kindOf(name)))
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r)
	if f.before != nil {
		f.before(len(f.asked))
	}
	if !f.undate {
		w.Header().Set("Date", time.Unix(f.now, 0).UTC().Format(http.TimeFormat))
	}
	if f.answer != nil && f.answer(w, r) {
		return
	}
	path, id, single := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch {
	case r.Header.Get("Stripe-Version") != version:
		refuse(w, 400, "", "", "Invalid Stripe API version")
	case single:
		f.serveOne(w, kindOf(path), id)
	case path == "events":
		f.serveEvents(w, r.URL.Query())
	case params[path] != nil:
		f.serveList(w, kindOf(path), r.URL.Query())
	default:
		refuse(w, 404, "", "", "Unrecognized request URL")
	}
}

func (f *fake) serveOne(w http.ResponseWriter, k kind, id string) {
	for _, o := range f.things[k.name] {
		if o.id == id {
			fmt.Fprint(w, "\n"+o.json(k)+"\n")
			return
		}
	}
	if f.gone[id] && k.name == "customers" {
		fmt.Fprintf(w, `{"id":%q,"object":"customer","deleted":true}`, id)
		return
	}
	refuse(w, 404, "resource_missing", k.object, "No such "+k.object)
}

func (f *fake) serveEvents(w http.ResponseWriter, q url.Values) {
	var rows []row
	for i, e := range f.events {
		recent := f.now-e.created < 30*24*3600
		if types := q["types[]"]; recent && (types == nil || slices.Contains(types, e.kind)) {
			rows = append(rows, row{e.id, e.created, i})
		}
	}
	if rows, more, ok := page(w, "events", q, rows, f.size); ok {
		write(w, rows, more, func(r row) string { return f.events[r.n].json() })
	}
}

func (f *fake) serveList(w http.ResponseWriter, k kind, q url.Values) {
	var rows []row
	for i, o := range f.things[k.name] {
		if !o.ended || q.Get("status") == "all" {
			rows = append(rows, row{o.id, o.created, i})
		}
	}
	if rows, more, ok := page(w, k.name, q, rows, f.size); ok {
		write(w, rows, more, func(r row) string { return f.things[k.name][r.n].json(k) })
	}
}

func write(w http.ResponseWriter, rows []row, more bool, render func(row) string) {
	var texts []string
	for _, r := range rows {
		texts = append(texts, render(r))
	}
	fmt.Fprintf(w, `{"object":"list","has_more":%v,"data":[%s]}`, more, strings.Join(texts, ",\n"))
}

// paths returns the requests since the last call, spelt.
func (f *fake) paths() []string {
	var out []string
	for _, r := range f.asked {
		q := r.URL.Query()
		if q.Has("types[]") {
			q.Set("types[]", "T")
		}
		q.Del("limit")
		text, _ := url.QueryUnescape(q.Encode())
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/")+"?"+text, "?"))
	}
	f.asked = nil
	return out
}

func stream(t *testing.T, h http.Handler, o Options, name string) syncd.Stream {
	t.Helper()
	s, ok := connectortest.Open(t, Connector().BaseURL, &o, h)[name]
	if !ok {
		t.Fatalf("there is no stream %s", name)
	}
	return s
}

// A table is what a stream's records come to, and where its next walk begins.
type table struct {
	stream  syncd.Stream
	state   map[string]string // id to data; "deleted"
	rejects []syncd.Record
	sync    string
	since   syncd.Mark
}

func newTable(s syncd.Stream) *table { return &table{stream: s, state: map[string]string{}} }

// walk reads the stream to its end. Records without marks are applied in the
// order in which they come, as the engine does.
func (tb *table) walk(t *testing.T) error {
	t.Helper()
	req := syncd.Request{Sync: tb.sync, Since: tb.since}
	for range 100 {
		page, err := tb.stream.Fetch(t.Context(), req)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			switch {
			case r.Err != nil:
				tb.rejects = append(tb.rejects, r)
			case r.Deleted:
				tb.state[r.ID] = "deleted"
			default:
				tb.state[r.ID] = string(r.Data)
			}
		}
		if page.Next == "" {
			tb.sync = page.Sync
			return nil
		}
		req.Page = page.Next
	}
	t.Fatal("the walk does not end")
	return nil
}

// is holds the table against the fake.
func (tb *table) is(t *testing.T, f *fake) {
	t.Helper()
	k := kindOf(tb.stream.Name)
	for _, o := range f.things[k.name] {
		if got, want := tb.state[o.id], o.json(k); got != want {
			t.Errorf("%s: got %q, want %q", o.id, got, want)
		}
	}
	for id, state := range tb.state {
		live := slices.ContainsFunc(f.things[k.name], func(o *thing) bool { return o.id == id })
		if !live && state != "deleted" {
			t.Errorf("%s: got %q, want it deleted", id, state)
		}
	}
}
