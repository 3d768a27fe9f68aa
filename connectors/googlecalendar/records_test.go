package googlecalendar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

// The elements are those of real answers, cut to what matters.
func TestRecords(t *testing.T) {
	const updated = `"updated":"2024-10-04T21:23:22.967Z"`
	mark := syncd.At(time.Date(2024, 10, 4, 21, 23, 22, 967e6, time.UTC))
	for _, test := range []struct {
		name, element string
		mark          syncd.Mark
		gone          bool // where recurring events are listed as such
		goneSingle    bool // where they are listed as their occurrences
	}{
		{"event", `{"id":"e","status":"confirmed",` + updated + `}`, mark, false, false},
		{"tentative event", `{"id":"e","status":"tentative",` + updated + `}`, mark, false, false},
		{"event without a status", `{"id":"e",` + updated + `}`, mark, false, false},
		{"what a user sees who may see when others are busy", `{"id":"e","status":"confirmed",` + updated + `,"visibility":"private"}`, mark, false, false},
		{"deleted event", `{"kind":"calendar#event","etag":"\"3422132889678000\"","id":"e","status":"cancelled"}`, 0, true, true},
		{"deleted event with details", `{"id":"e","status":"cancelled",` + updated + `,"summary":"x"}`, mark, true, true},
		{"deleted recurring event", `{"id":"e","status":"cancelled","recurrence":["RRULE:FREQ=DAILY"]}`, 0, true, true},
		{"changed occurrence", `{"id":"e_20260302T120000Z","status":"confirmed",` + updated + `,"recurringEventId":"e"}`, mark, false, false},
		{"cancelled occurrence", `{"id":"e_20260302T120000Z","status":"cancelled","recurringEventId":"e","originalStartTime":{"date":"2026-03-02"}}`, 0, false, true},
	} {
		for _, single := range []bool{false, true} {
			h := says(200, `{"kind":"calendar#events","nextSyncToken":"t","items":[`+test.element+`]}`)
			s := stream(t, h, "events", Options{Single: single})
			page := fetch(t, s, syncd.Request{Part: mine})
			if len(page.Records) != 1 {
				t.Fatalf("%s: got %d records", test.name, len(page.Records))
			}
			want := test.gone
			if single {
				want = test.goneSingle
			}
			r := page.Records[0]
			if r.Err != nil || r.Deleted != want || r.Mark != test.mark || string(r.Data) != test.element {
				t.Errorf("%s, single_events %v: got %+v", test.name, single, r)
			}
			again, err := s.Replay(context.Background(), []byte(test.element))
			if diff := cmp.Diff(r, again); err != nil || diff != "" {
				t.Errorf("%s: replayed: %v %s", test.name, err, diff)
			}
		}
	}
}

// A cancelled occurrence stays while it is told once more, changed, and in a
// walk over everything: as long as the recurring event is there.
func TestCancelledOccurrence(t *testing.T) {
	f := newFake()
	f.put(mine, "weekly", `,"status":"confirmed","recurrence":["RRULE:FREQ=WEEKLY"]`, 1)
	s := stream(t, f, "events", Options{})
	var r reader
	r.run(t, s, mine)
	exception := `{"id":"weekly_20260308","status":"cancelled","recurringEventId":"weekly","originalStartTime":{"date":"2026-03-08"}}`
	f.logs[mine] = append(f.logs[mine], change{"weekly_20260308", exception})
	for _, dead := range []int{0, 100} {
		f.dead = dead
		r.run(t, s, mine)
		if got := string(r.table["weekly_20260308"].Data); got != exception || len(r.table) != 2 {
			t.Errorf("got %q and %d records, want %q and 2", got, len(r.table), exception)
		}
	}
	// The recurring event is deleted: that is told, and is so.
	f.dead = 0
	f.cancel(mine, "weekly")
	r.run(t, s, mine)
	if _, ok := r.table["weekly"]; ok {
		t.Error("the recurring event is still there")
	}
}

func TestPoison(t *testing.T) {
	elements := []string{
		`{"id":"a","updated":"2026-03-01T12:00:00Z"}`,
		`null`, `7`, `[]`, `"a"`,
		`{"id":{},"updated":"2026-03-01T12:00:00Z"}`,
		`{"id":"b","updated":"yesterday"}`,
		`{"id":"c","updated":17}`,
		`{"id":"d","status":[]}`,
		`{"id":"d","id":"e"}`,
		`{"id":"f","updated":null,"recurringEventId":null,"status":null}`,
		`{"id":"z","updated":"2026-03-01T12:00:00+01:00"}`,
	}
	h := says(200, `{"kind":"calendar#events","nextSyncToken":"t","items":[`+strings.Join(elements, ", ")+`]}`)
	page := fetch(t, stream(t, h, "events", Options{}), syncd.Request{Part: mine})
	if len(page.Records) != len(elements) || page.Sync != "t" {
		t.Fatalf("got %d records and the sync token %q", len(page.Records), page.Sync)
	}
	for i, r := range page.Records {
		if string(r.Data) != elements[i] {
			t.Errorf("element %d: got the bytes %s, want %s", i, r.Data, elements[i])
		}
		if good := i == 0 || i >= 10; (r.Err == nil) != good {
			t.Errorf("%s: got the error %v", elements[i], r.Err)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `"x"`, `<html>`,
		`{"items":[]}`,
		`{"items":[],"nextSyncToken":"t"}`,
		`{"kind":"calendar#events","items":[]}`,
		`{"kind":"calendar#events","items":[],"nextSyncToken":""}`,
		`{"kind":"calendar#events","items":[],"nextSyncToken":7}`,
		`{"kind":"calendar#events","items":{},"nextSyncToken":"t"}`,
		`{"kind":"calendar#events","nextSyncToken":"t","items":[{"id":"a"}`,
		`{"kind":"calendar#event","id":"a","items":[],"nextSyncToken":"t"}`,
		`{"error":{"code":500,"message":"Backend Error"}}`,
	} {
		for name, kind := range map[string]string{"events": "calendar#events", "calendars": "calendar#calendarList"} {
			body := strings.Replace(body, "calendar#events", kind, 1)
			page, err := stream(t, says(200, body), name, Options{}).Fetch(context.Background(), syncd.Request{Part: mine})
			if err == nil || errors.Is(err, syncd.ErrResync) || errors.Is(err, syncd.ErrNotModified) {
				t.Errorf("%s: %s: got %+v, %v", name, body, page, err)
			}
		}
	}
}

// Pages may be empty and not the last, and a field that is empty may be left out.
func TestEmptyPages(t *testing.T) {
	for body, want := range map[string]syncd.Page{
		`{"kind":"calendar#events","items":[],"nextPageToken":"p"}`:                     {Next: "p"},
		`{"kind":"calendar#events","items":[],"nextSyncToken":"t"}`:                     {Sync: "t"},
		`{"kind":"calendar#events","nextSyncToken":"t"}`:                                {Sync: "t"},
		`{"kind":"calendar#events","items":null,"nextSyncToken":"t"}`:                   {Sync: "t"},
		`{"kind":"calendar#events","items":[],"nextPageToken":"p","nextSyncToken":"t"}`: {Next: "p"},
	} {
		got := fetch(t, stream(t, says(200, body), "events", Options{}), syncd.Request{Part: mine})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestSameRequestSameAnswer(t *testing.T) {
	f := full()
	s := stream(t, f, "events", Options{})
	reqs := []syncd.Request{
		{Part: mine},
		{Part: mine, Page: "page-0-9-3"},
		{Part: mine, Sync: "sync-4-false"},
		{Part: mine, Sync: "sync-4-false", Page: "page-4-9-7"},
	}
	var first []syncd.Page
	for _, req := range reqs {
		first = append(first, fetch(t, s, req))
	}
	for i, req := range slices.Backward(reqs) {
		if diff := cmp.Diff(first[i], fetch(t, stream(t, f, "events", Options{}), req)); diff != "" {
			t.Errorf("%+v: %s", req, diff)
		}
	}
}

// That a calendar shows no details is said once, when it is read from the start.
func TestBusyOnly(t *testing.T) {
	h := says(200, `{"kind":"calendar#events","accessRole":"freeBusyReader","nextSyncToken":"t","items":[]}`)
	s := stream(t, h, "events", Options{})
	for _, req := range []syncd.Request{{Part: mine}, {Part: mine, Page: "p"}, {Part: mine, Sync: "t"}} {
		notes := fetch(t, s, req).Notes
		if first := req.Sync == "" && req.Page == ""; (len(notes) == 1) != first {
			t.Errorf("%+v: got the notes %q", req, notes)
		} else if first && !strings.Contains(fmt.Sprint(notes), mine) {
			t.Errorf("the note %q does not name the calendar", notes)
		}
	}
}
