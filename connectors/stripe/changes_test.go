package stripe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

// Each kind arrives whole, and what happens to old objects later is found.
func TestChangesAreFound(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			f := newFake()
			for range 10 {
				f.create(k.name)
				f.now += 3600
			}
			f.now += 80 * 24 * 3600 // far older than any event
			tb := newTable(stream(t, f, Options{}, k.name))
			run := func() {
				t.Helper()
				if err := tb.walk(t); err != nil {
					t.Fatal(err)
				}
				tb.is(t, f)
				f.now += 20
			}
			run()
			if got, want := len(tb.state), 10; got != want {
				t.Fatalf("first walk: got %d records, want %d", got, want)
			}
			for range 3 {
				f.change(k.name, f.things[k.name][0])
				f.create(k.name)
				f.now++
				f.change(k.name, f.things[k.name][len(f.things[k.name])-1])
				run()
			}
			if slices.Contains(k.types, k.object+".deleted") {
				f.remove(k.name, f.things[k.name][1])
				f.remove(k.name, f.things[k.name][len(f.things[k.name])-1])
				run()
			}
			if len(tb.rejects) > 0 {
				t.Errorf("set aside: %v", tb.rejects[0].Err)
			}
		})
	}
}

// Subscriptions that have ended are listed too.
func TestEndedSubscriptions(t *testing.T) {
	f := newFake()
	f.create("subscriptions").ended = true
	tb := newTable(stream(t, f, Options{}, "subscriptions"))
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
}

// Within a second, the events of an object come in any order, and each holds
// some state of it: the object's own is taken.
func TestEventsOfOneSecond(t *testing.T) {
	f := newFake()
	o := f.create("invoices")
	f.now += 24 * 3600
	tb := newTable(stream(t, f, Options{}, "invoices"))
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	f.now += 60
	for range 8 { // more than a page
		f.change("invoices", o)
	}
	slices.Reverse(f.events)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
}

// Two pages of events about the same object alone must not look like one page twice.
func TestPagesOfEventsDiffer(t *testing.T) {
	f := newFake()
	o := f.create("invoices")
	f.now += 24 * 3600
	s := stream(t, f, Options{}, "invoices")
	tb := newTable(s)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		f.change("invoices", o)
	}
	places := map[string]bool{}
	req := syncd.Request{Sync: tb.sync}
	pages := 0
	for more := true; more; more = req.Page != "" {
		page, err := s.Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, r := range page.Records {
			places[r.Place] = true
		}
		req.Page = page.Next
	}
	if got, want := len(places), pages; pages != 3 || got != want {
		t.Errorf("got %d places on %d pages, want one on each of 3", got, pages)
	}
}

// What a walk asks for: one request where nothing happened, one for each old
// object, and the list for all new ones.
func TestRequests(t *testing.T) {
	f := newFake()
	f.size = 100
	var old []*thing
	for range 3 {
		old = append(old, f.create("charges"))
	}
	f.now += 40 * 24 * 3600
	tb := newTable(stream(t, f, Options{}, "charges"))
	check := func(want ...string) {
		t.Helper()
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		tb.is(t, f)
		if got := f.paths(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	day := int64(f.now - f.now%(24*3600))
	check("events?types[]=T", "charges")
	f.now += 900
	check(fmt.Sprintf("events?created[gte]=%d&types[]=T", day-300))
	f.change("charges", old[0])
	f.change("charges", old[0])
	f.change("charges", old[2])
	changed := f.now
	f.now += 900
	check(fmt.Sprintf("events?created[gte]=%d&types[]=T", day-300), "charges/"+old[2].id, "charges/"+old[0].id)
	first := f.now
	for range 5 {
		f.create("charges")
		f.now++
	}
	f.change("charges", old[1])
	last := f.things["charges"][7]
	f.change("charges", last)
	check(fmt.Sprintf("events?created[gte]=%d&types[]=T", changed-300), "charges/"+last.id,
		"charges/"+old[1].id, "charges/"+old[2].id, "charges/"+old[0].id, fmt.Sprintf("charges?created[gte]=%d", first))
	// What was created within the overlap is listed again.
	check(fmt.Sprintf("events?created[gte]=%d&types[]=T", f.now-300), "charges/"+last.id, "charges/"+old[1].id, fmt.Sprintf("charges?created[gte]=%d", first))
}

// What changes while a walk is under way is found by it or by the next one.
func TestChangesWhileReading(t *testing.T) {
	f := newFake()
	for range 12 {
		f.create("customers")
		f.now += 7
	}
	f.now += 2 * 24 * 3600
	tb := newTable(stream(t, f, Options{}, "customers"))
	for range 4 {
		f.before = func(n int) {
			list := f.things["customers"]
			switch f.now++; n % 7 {
			case 1:
				f.change("customers", list[n%len(list)])
			case 2:
				f.change("customers", list[len(list)-1])
			case 4:
				f.create("customers")
			case 6:
				f.remove("customers", list[n%len(list)])
			}
		}
		f.asked = nil
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		f.before = nil
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		tb.is(t, f)
		f.now += 3600
	}
}

// An event that shows up late, behind those that were read, is not lost.
func TestLateEvent(t *testing.T) {
	f := newFake()
	o, other := f.create("charges"), f.create("charges")
	f.now += 24 * 3600
	tb := newTable(stream(t, f, Options{}, "charges"))
	f.change("charges", other)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	f.change("charges", o)
	f.events[len(f.events)-1].created -= 250
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
}

// Where events may have been forgotten since the last walk, everything is read.
func TestForgottenEvents(t *testing.T) {
	for days, resync := range map[int64]bool{1: false, 28: false, 30: true, 400: true} {
		f := newFake()
		o := f.create("charges")
		f.now += 24 * 3600
		tb := newTable(stream(t, f, Options{}, "charges"))
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		f.change("charges", o)
		f.now += days * 24 * 3600
		err := tb.walk(t)
		if got := errors.Is(err, syncd.ErrResync); got != resync {
			t.Errorf("%d days later: got %v, want ErrResync: %v", days, err, resync)
		}
		if resync {
			tb.sync = ""
			err = tb.walk(t)
		}
		if err != nil {
			t.Errorf("%d days later: %v", days, err)
		}
		tb.is(t, f)
	}
}

// Where nothing happens for long, a walk is not one over everything for ever.
func TestQuietYear(t *testing.T) {
	f := newFake()
	o := f.create("charges")
	tb := newTable(stream(t, f, Options{}, "charges"))
	for day := range 365 {
		if err := tb.walk(t); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		f.now += 24 * 3600
	}
	f.change("charges", o)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
}

func TestHead(t *testing.T) {
	const day = 24 * 3600
	noon := int64(epoch)
	midnight := noon - noon%day
	for _, c := range []struct{ before, newest, now, want int64 }{
		{0, 0, noon, midnight},
		{0, noon - 10, noon, noon - 10},
		{0, noon - 3*day, noon, midnight},
		{noon - 5, noon - 60, noon, noon - 5},
		{midnight - 5*day, noon - 3*day, noon, midnight},
		{midnight, noon + 400*day, noon, noon}, // an event of the future
		{noon + 60, noon, noon, noon + 60},     // a clock that went back
	} {
		if got := head(c.before, c.newest, unix(c.now)); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

// What an event is about.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		kind, event string
		id          string
		created     int64
		deleted     bool
		err         string
	}{
		{kind: "charges", event: `{"id":"evt_1","type":"charge.updated","data":{"object":{"id":"ch_1","object":"charge","created":5}}}`, id: "ch_1", created: 5},
		{kind: "charges", event: `{"id":"evt_1","type":"charge.dispute.created","data":{"object":{"id":"dp_1","object":"dispute","charge":"ch_2","created":5}}}`, id: "ch_2"},
		{kind: "charges", event: `{"id":"evt_1","type":"refund.updated","data":{"object":{"id":"re_1","object":"refund","charge":null}}}`},
		{kind: "charges", event: `{"id":"evt_1","account":"acct_other","data":{"object":{"id":"ch_1","object":"charge"}}}`},
		{kind: "charges", event: `{"id":"evt_1","account":"acct_mine","data":{"object":{"id":"ch_1","object":"charge"}}}`, id: "ch_1"},
		{kind: "charges", event: `{"id":"evt_1","account":null,"data":{"object":{"id":"ch_1","object":"charge","created":"soon"}}}`, id: "ch_1"},
		{kind: "customers", event: `{"id":"evt_1","type":"customer.deleted","data":{"object":{"id":"cus_1","object":"customer","created":5}}}`, id: "cus_1", created: 5, deleted: true},
		{kind: "customers", event: `{"id":"evt_1","type":"customer.source.deleted","data":{"object":{"id":"card_1","object":"card","customer":"cus_1"}}}`, id: "cus_1"},
		{kind: "subscriptions", event: `{"id":"evt_1","type":"customer.subscription.deleted","data":{"object":{"id":"sub_1","object":"subscription"}}}`, id: "sub_1"},
		{kind: "subscriptions", event: `{"id":"evt_1","type":"subscription_schedule.updated","data":{"object":{"id":"sub_sched_1","object":"subscription_schedule","subscription":"sub_1","released_subscription":null}}}`, id: "sub_1"},
		{kind: "subscriptions", event: `{"id":"evt_1","type":"subscription_schedule.released","data":{"object":{"id":"sub_sched_1","object":"subscription_schedule","subscription":null,"released_subscription":"sub_1"}}}`, id: "sub_1"},
		{kind: "invoices", event: `{"id":"evt_1","type":"invoice.deleted","data":{"object":{"id":"in_1","object":"invoice"}}}`, id: "in_1", deleted: true},
		{kind: "invoices", event: `{"id":"evt_1","data":{"object":{"object":"invoice"}}}`},
		{kind: "invoices", event: `{"id":"evt_1","data":{}}`, err: "the event holds no object"},
		{kind: "invoices", event: `{"id":"evt_1"}`, err: "the event holds no object"},
		{kind: "invoices", event: `{"id":"evt_1","data":{"object":[]}}`, err: "the event holds no object"},
	} {
		s := source{api: &api{account: "acct_mine"}, kind: kindOf(c.kind)}
		var got change
		r, err := syncd.Replay(func(e element) syncd.Record {
			var err error
			got, err = s.change(e)
			return syncd.Record{ID: "x", Err: err}
		})(t.Context(), []byte(c.event))
		if err != nil {
			t.Fatal(err)
		}
		if got.id != c.id || got.created != c.created || got.deleted != c.deleted || (r.Err == nil) != (c.err == "") || r.Err != nil && r.Err.Error() != c.err {
			t.Errorf("%s: got %+v, %v, want %q, %d, %v, %q", c.event, got, r.Err, c.id, c.created, c.deleted, c.err)
		}
	}
}

// A bad event is set aside, and its object is asked for when it is tried again.
func TestBadEvents(t *testing.T) {
	f := newFake()
	o := f.create("customers")
	f.now += 24 * 3600
	s := stream(t, f, Options{}, "customers")
	tb := newTable(s)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		f.now++
		f.tell("customer.updated", `null`)
	}
	f.change("customers", o)
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
	if got, want := len(tb.rejects), 5; got != want {
		t.Fatalf("set aside: got %d, want %d", got, want)
	}
	again, err := s.Replay(t.Context(), tb.rejects[0].Data)
	if err != nil || again.Err == nil {
		t.Errorf("as it came: got %+v, %v, want it set aside again", again, err)
	}
	mended := event{id: "evt_x", kind: "customer.updated", created: f.now, holds: o.json(kindOf("customers"))}.json()
	if again, err = s.Replay(t.Context(), []byte(mended)); err != nil || again.ID != o.id || string(again.Data) != o.json(kindOf("customers")) {
		t.Errorf("mended: got %s %s, %v", again.ID, again.Data, err)
	}
}

// A refusal of an object fails the page, unless it says that there is none.
func TestRetrieve(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string // of the error; "" is a record that is deleted
	}{
		{404, `{"error":{"code":"resource_missing","param":"charge","type":"invalid_request_error"}}`, ""},
		{404, `{"error":{"message":"Unrecognized request URL","type":"invalid_request_error"}}`, "404"},
		{404, `<html>`, "404"},
		{403, `{"error":{"message":"The provided key 'rk_live_*****a1b2' does not have the permission rak_charge_read"}}`, "rak_charge_read"},
		{200, ``, "not as expected"},
		{200, `null`, "not as expected"},
		{200, `{}`, "not as expected"},
		{200, `{"id":"ch_other"}`, "not as expected"},
		{200, `{"error":{"code":"api_error"}}`, "not as expected"},
		{200, `{"id":"ch_1"`, "not as expected"},
	} {
		f := newFake()
		o := f.create("charges")
		f.now += 24 * 3600
		tb := newTable(stream(t, f, Options{}, "charges"))
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		f.change("charges", o)
		f.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, o.id) {
				return false
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
			return true
		}
		err := tb.walk(t)
		switch {
		case c.want == "" && (err != nil || tb.state[o.id] != "deleted"):
			t.Errorf("%d %s: got %q, %v, want it deleted", c.status, c.body, tb.state[o.id], err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "a1b2")):
			t.Errorf("%d %s: got %v, want %q", c.status, c.body, err, c.want)
		}
	}
}

func TestTypes(t *testing.T) {
	for _, k := range kinds() {
		if len(k.types) > 20 {
			t.Errorf("%s: %d types, Stripe takes 20", k.name, len(k.types))
		}
		if slices.Contains(k.types, "invoice.upcoming") {
			t.Errorf("%s: invoice.upcoming is of an invoice that does not exist", k.name)
		}
		sorted := slices.Sorted(slices.Values(k.types))
		if len(slices.Compact(sorted)) != len(k.types) {
			t.Errorf("%s: a type is there twice", k.name)
		}
	}
}
