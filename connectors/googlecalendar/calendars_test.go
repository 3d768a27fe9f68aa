package googlecalendar

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

func withList(entries ...string) *fake {
	f := newFake()
	f.entries = entries
	return f
}

func TestCalendars(t *testing.T) {
	f := withList(
		`{"kind": "calendar#calendarListEntry","id":"alice@example.com","primary":true,"accessRole":"owner"}`,
		`{"id":"de.german#holiday@group.v.calendar.google.com","hidden":true,"accessRole":"reader"}`,
		`{"id":"old@group.calendar.google.com","deleted":true}`,
		`{"id":"boss@example.com","accessRole":"freeBusyReader"}`,
	)
	s := stream(t, f, "calendars", Options{Calendars: []string{mine}}) // the list is whole all the same
	if !s.Snapshot {
		t.Error("the stream calendars is not a snapshot")
	}
	first := fetch(t, s, syncd.Request{})
	last := fetch(t, s, syncd.Request{Page: first.Next})
	if last.Next != "" || first.Sync != "" || last.Sync != "" {
		t.Errorf("got the tokens %q, %q, %q", last.Next, first.Sync, last.Sync)
	}
	if want := "/calendar/v3/users/me/calendarList?maxResults=250&showDeleted=true&showHidden=true"; f.asked[0] != want {
		t.Errorf("got the request %s, want %s", f.asked[0], want)
	}
	for i, r := range append(first.Records, last.Records...) {
		if r.Err != nil || r.Mark != 0 || string(r.Data) != f.entries[i] || !strings.Contains(f.entries[i], `"id":"`+r.ID+`"`) || r.Deleted != (i == 2) {
			t.Errorf("entry %d: got %+v", i, r)
		}
	}
}

func TestDeadPageTokenOfCalendars(t *testing.T) {
	s := stream(t, says(410, `{}`), "calendars", Options{})
	if _, err := s.Fetch(context.Background(), syncd.Request{Page: "p"}); !errors.Is(err, syncd.ErrResync) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Fetch(context.Background(), syncd.Request{}); err == nil || errors.Is(err, syncd.ErrResync) {
		t.Errorf("where no token was sent: got %v", err)
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		name   string
		list   []string
		chosen []string
		want   []string
		text   string // of the error
	}{
		{
			name: "all in the list, hidden ones too, over two pages",
			list: []string{`{"id":"a@x"}`, `{"id":"b#c@x","hidden":true}`, `{"id":"gone@x","deleted":true}`, `{"id":"d@x"}`},
			want: []string{"a@x", "b#c@x", "d@x"},
		},
		{name: "chosen ones, in the list or not", list: []string{`{"id":"a@x"}`}, chosen: []string{"b@x", "50%/c@x"}, want: []string{"b@x", "50%25%2Fc@x"}},
		{name: "the user's own", chosen: []string{"primary", "b@x"}, want: []string{mine, "b@x"}},
		{name: "an entry that can't be read", list: []string{`{"id":"a@x"}`, `null`, `{"id":""}`, `{"id":"d@x"}`}, want: []string{"a@x", "%", "%", "d@x"}},
		{name: "none", text: "it is empty"},
		{name: "none that is left", list: []string{`{"id":"gone@x","deleted":true}`}, text: "it is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := stream(t, withList(test.list...), "events", Options{Calendars: test.chosen}).Parts(context.Background())
			if (err != nil) != (test.text != "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got the error %v, want %q", err, test.text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPartsEnd(t *testing.T) {
	h := says(200, `{"kind":"calendar#calendarList","items":[{"id":"a@x"}],"nextPageToken":"again"}`)
	if _, err := stream(t, h, "events", Options{}).Parts(context.Background()); err == nil || !strings.Contains(err.Error(), "comes round again") {
		t.Errorf("got %v", err)
	}
	for _, h := range []int{401, 403, 500} {
		_, err := stream(t, says(h, `{}`), "events", Options{}).Parts(context.Background())
		if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != h {
			t.Errorf("got %v, want a %d", err, h)
		}
	}
	for _, body := range []string{`{}`, `{"id":""}`, `{"id":[]}`, ``} {
		if _, err := stream(t, says(200, body), "events", Options{Calendars: []string{"primary"}}).Parts(context.Background()); err == nil {
			t.Errorf("primary is answered by %q: got no error", body)
		}
	}
}

// An entry that can't be read is a failure that can be seen, beside the others.
func TestUnreadableEntry(t *testing.T) {
	s := stream(t, newFake(), "events", Options{})
	for _, part := range []string{"%", "%zz", ""} {
		_, err := s.Fetch(context.Background(), syncd.Request{Part: part})
		if err == nil || errors.Is(err, syncd.ErrNotModified) {
			t.Errorf("part %q: got %v", part, err)
		}
	}
}

// Ids with all that is odd come back from their parts, and reach Google whole.
func TestIDs(t *testing.T) {
	for _, id := range []string{
		mine, "de.german#holiday@group.v.calendar.google.com", "a/b@x", "50%@x", "%2F@x", "%252F/@x", "a?b=c&d@x", "a b+c@x", "ü@x", "a;b:c,d@x", `"a\b"@x`, "../@x", "a\x00b@x",
	} {
		part := partOf(id)
		if got, err := idOf(part); err != nil || got != id || strings.ContainsAny(part, "/\x00") {
			t.Errorf("%q: part %q, which is %q, %v", id, part, got, err)
		}
		f := newFake()
		want := f.put(id, "e", "", 1)
		page := fetch(t, stream(t, f, "events", Options{}), syncd.Request{Part: part})
		if len(page.Records) != 1 || string(page.Records[0].Data) != want {
			t.Errorf("%q: got %+v; asked %s", id, page, f.asked[0])
		}
	}
	if partOf("%2F@x") == partOf("/@x") {
		t.Error("two calendars share a part")
	}
}

// A calendar that is taken out of the list is deleted there; its events are not
// asked for any more. One of the list that Google does not give out stays as it is.
func TestCalendarVanishes(t *testing.T) {
	f := withList(`{"id":"alice@example.com"}`, `{"id":"team@x"}`)
	f.put("team@x", "e", "", 1)
	s := stream(t, f, "events", Options{})
	var r reader
	r.run(t, s, "team@x")
	before := r.state.String()
	delete(f.logs, "team@x")
	if _, err := s.Fetch(context.Background(), syncd.Request{Part: "team@x", Sync: r.state.Sync}); !errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("got %v", err)
	}
	if r.state.String() != before || len(r.table) != 1 {
		t.Errorf("the cursor %s or the table %v has changed", r.state, r.table)
	}
	f.entries[1] = `{"id":"team@x","deleted":true}`
	parts, err := s.Parts(context.Background())
	if diff := cmp.Diff([]string{mine}, parts); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	records := fetch(t, stream(t, f, "calendars", Options{}), syncd.Request{}).Records
	if len(records) != 2 || records[0].Deleted || !records[1].Deleted {
		t.Errorf("got the records %+v", records)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string // the option that is wrong
	}{
		{Options{}, ""},
		{Options{Calendars: []string{"primary", "a@x", "#contacts@group.v.calendar.google.com"}}, ""},
		{Options{Only: []string{"events"}}, ""},
		{Options{Calendars: []string{""}}, "calendars"},
		{Options{Calendars: []string{"Team"}}, "calendars"},
		{Options{Calendars: []string{"a@x", " b@x"}}, "calendars"},
		{Options{Calendars: []string{"https://calendar.google.com/calendar/ical/a@x/basic.ics"}}, "calendars"},
		{Options{Calendars: []string{"a@\xff"}}, "calendars"},
		{Options{Calendars: []string{strings.Repeat("a", 200) + "@x"}}, "calendars"},
		{Options{Only: []string{"event"}}, "streams"},
	} {
		_, err := test.o.Streams(nil)
		bad, ok := errors.AsType[*syncd.OptionError](err)
		if ok != (test.want != "") || ok && bad.Option != test.want {
			t.Errorf("%+v: got %v, want %q to be wrong", test.o, err, test.want)
		}
	}
}
