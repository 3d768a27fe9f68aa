package googlecalendar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
)

// full returns a fake with a calendar of eight events, one of them deleted.
func full() *fake {
	f := newFake()
	for i := range 8 {
		f.put(mine, fmt.Sprintf("e%d", i), fmt.Sprintf(`, "summary":"<b>& %d"`, i), i)
	}
	f.cancel(mine, "e3")
	return f
}

func TestWholeCalendar(t *testing.T) {
	f := full()
	s := stream(t, f, "events", Options{})
	var pages []syncd.Page
	req := syncd.Request{Part: mine, Since: syncd.At(at(5))} // plays no part
	for {
		page := fetch(t, s, req)
		pages = append(pages, page)
		if req.Page = page.Next; req.Page == "" {
			break
		}
		if page.Sync != "" {
			t.Errorf("a page that is not the last has the sync token %q", page.Sync)
		}
	}
	if last := pages[len(pages)-1]; len(pages) != 3 || last.Sync != "sync-9-false" {
		t.Errorf("got %d pages and the sync token %q", len(pages), last.Sync)
	}
	want := "/calendar/v3/calendars/alice@example.com/events?maxResults=2500&showDeleted=true&singleEvents=false"
	if f.asked[0] != want {
		t.Errorf("got the request %s, want %s", f.asked[0], want)
	}
	first := pages[0].Records[0]
	if first.ID != "e0" || first.Mark != syncd.At(at(0)) || string(first.Data) != f.logs[mine][0].json {
		t.Errorf("got the record %+v", first)
	}
	var r reader
	r.run(t, s, mine)
	r.want(t, f.logs[mine])
}

// All requests have the same parameters but for the tokens; those of an
// incremental walk keep the sync token beside the page token.
func TestRequestsAreAlike(t *testing.T) {
	for _, single := range []bool{false, true} {
		f := full()
		s := stream(t, f, "events", Options{Single: single})
		var r reader
		r.run(t, s, mine)
		for i := range 5 {
			f.put(mine, fmt.Sprintf("n%d", i), "", 20+i)
		}
		r.run(t, s, mine)
		path := "/calendar/v3/calendars/alice@example.com/events?"
		rest := fmt.Sprintf("&showDeleted=true&singleEvents=%v", single)
		want := []string{
			path + "maxResults=2500" + rest,
			path + "maxResults=2500&pageToken=page-0-9-4" + rest,
			path + "maxResults=2500&pageToken=page-0-9-7" + rest,
			path + "maxResults=2500" + rest + fmt.Sprintf("&syncToken=sync-9-%v", single),
			path + "maxResults=2500&pageToken=page-9-14-12" + rest + fmt.Sprintf("&syncToken=sync-9-%v", single),
		}
		if diff := cmp.Diff(want, f.asked); diff != "" {
			t.Error(diff)
		}
		r.want(t, f.logs[mine])
	}
}

func TestChangesWhileReading(t *testing.T) {
	f := full()
	f.before = func(n int) {
		if n > 6 {
			return
		}
		f.put(mine, fmt.Sprintf("e%d", n%8), fmt.Sprintf(`, "rev":%d`, n), 100+n)
		f.put(mine, fmt.Sprintf("new%d", n), "", 100+n)
		f.cancel(mine, fmt.Sprintf("e%d", (n+4)%8))
	}
	s := stream(t, f, "events", Options{})
	var r reader
	r.run(t, s, mine)
	f.before = nil
	for range 2 {
		r.run(t, s, mine)
	}
	if r.resyncs != 0 {
		t.Errorf("the calendar was read from the start %d times", r.resyncs)
	}
	r.want(t, f.logs[mine])
}

// A token that died brings a new walk over everything, which finds what was
// deleted, and is told no more, by its absence.
func TestDeadSyncToken(t *testing.T) {
	for name, dies := range map[string]int{"on the first page": 1, "in mid-walk": 2} {
		t.Run(name, func(t *testing.T) {
			f := full()
			s := stream(t, f, "events", Options{})
			var r reader
			r.run(t, s, mine)
			for i := range 5 {
				f.put(mine, fmt.Sprintf("n%d", i), "", 20+i)
			}
			f.asked = nil
			f.before = func(n int) {
				if n == dies {
					f.dead = 100
					f.logs[mine] = f.logs[mine][2:] // e0 and e1 are gone, without a trace
				}
			}
			r.run(t, s, mine)
			if r.resyncs != 1 || !r.proved {
				t.Errorf("read from the start %d times, proved: %v", r.resyncs, r.proved)
			}
			if strings.Contains(f.asked[dies], "Token=") {
				t.Errorf("the request after the 410 has a token: %s", f.asked[dies])
			}
			r.want(t, f.logs[mine])
		})
	}
}

func TestDeadPageToken(t *testing.T) {
	f := full()
	s := stream(t, f, "events", Options{})
	var r reader
	r.run(t, s, mine)
	for i := range 5 {
		f.put(mine, fmt.Sprintf("n%d", i), "", 20+i)
	}
	f.asked = nil
	f.before = func(n int) { f.broken = n == 2 }
	r.run(t, s, mine)
	if r.resyncs != 0 || !strings.HasSuffix(f.asked[2], "syncToken=sync-9-false") {
		t.Errorf("read from the start %d times; requests %q", r.resyncs, f.asked)
	}
	r.want(t, f.logs[mine])
}

// A walk that another process goes on with, and a token that dies in it.
func TestResumedWalk(t *testing.T) {
	f := full()
	s := stream(t, f, "events", Options{})
	state := cursor.Begin(cursor.State{}, s, cursor.Options{Now: at(0)})
	r := reader{table: map[string]syncd.Record{}}
	page := fetch(t, s, cursor.Next(state, mine))
	for _, rec := range page.Records {
		r.table[rec.ID] = rec
	}
	stored := cursor.Advance(state, s, page, syncd.At(at(100000)), false).State.String()
	var err error
	if r.state, err = cursor.Parse(stored); err != nil {
		t.Fatal(err)
	}
	r.run(t, stream(t, f, "events", Options{}), mine)
	r.want(t, f.logs[mine])
}

func TestRefusals(t *testing.T) {
	body := func(status int, reason, location, message string) string {
		return fmt.Sprintf(`{"error":{"errors":[{"domain":"x","reason":%q,"location":%q,"message":%q}],"code":%d,"message":%q}}`, reason, location, message, status, message)
	}
	gone := body(410, "fullSyncRequired", "syncToken", "Sync token is no longer valid, a full sync is required.")
	for _, test := range []struct {
		name       string
		status     int
		body       string
		sync, page string
		named      bool
		resync     bool
		unchanged  bool
		text       string
	}{
		{name: "dead sync token", status: 410, body: gone, sync: "s", resync: true, text: "a full sync is required"},
		{name: "dead sync token in mid-walk", status: 410, body: gone, sync: "s", page: "p", resync: true},
		{name: "410 in a walk over everything", status: 410, body: gone, page: "p", resync: true},
		{name: "410 without a word", status: 410, sync: "s", resync: true},
		{name: "410 where no token was sent", status: 410, body: body(410, "deleted", "", "Resource has been deleted"), text: "the calendar is gone"},
		{name: "no sync token at all", status: 400, body: body(400, "invalid", "syncToken", "Invalid Value"), sync: "s", resync: true},
		{name: "the same, by its message", status: 400, body: body(400, "invalid", "", "Invalid sync token value."), sync: "s", resync: true},
		{name: "that of a sync token that was not sent", status: 400, body: body(400, "invalid", "syncToken", "Invalid sync token value.")},
		{name: "dead page token", status: 400, body: body(400, "invalid", "pageToken", "Invalid page token value."), sync: "s", page: "p", text: "Invalid page token"},
		{name: "bad request", status: 400, body: body(400, "badRequest", "", "Bad Request"), sync: "s"},
		{name: "calendar of the list is not there", status: 404, body: body(404, "notFound", "", "Not Found"), sync: "s", unchanged: true},
		{name: "it goes in mid-walk", status: 404, body: body(404, "notFound", "", "Not Found"), sync: "s", page: "p", text: "the calendar is gone"},
		{name: "chosen calendar is not there", status: 404, body: body(404, "notFound", "", "Not Found"), named: true, text: "calendar alice@example.com: GET https://www.googleapis.com/calendar/v3/calendars/alice@example.com/events: 404 Not Found: Not Found (the calendar is gone, or it is not shared with the user)"},
		{name: "expired access token", status: 401, body: body(401, "authError", "Authorization", "Invalid Credentials"), text: "as Google's do after an hour"},
		{name: "scope", status: 403, body: body(403, "insufficientPermissions", "", "Insufficient Permission"), text: "calendar.readonly"},
		{name: "API turned off", status: 403, body: body(403, "accessNotConfigured", "", "Not enabled"), text: "turn the Google Calendar API on"},
		{name: "error of another form", status: 403, body: `{"error":"access_denied"}`, text: "calendar.readonly"},
		{name: "page of a proxy", status: 502, body: `<html>Bad Gateway</html>`, text: "502"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := Options{}
			if test.named {
				o.Calendars = []string{mine}
			}
			s := stream(t, says(test.status, test.body), "events", o)
			_, err := s.Fetch(context.Background(), syncd.Request{Part: mine, Sync: test.sync, Page: test.page})
			if err == nil {
				t.Fatal("got no error")
			}
			if errors.Is(err, syncd.ErrResync) != test.resync || errors.Is(err, syncd.ErrNotModified) != test.unchanged {
				t.Errorf("got the error %v", err)
			}
			refused, ok := errors.AsType[*syncd.HTTPError](err)
			if !test.unchanged && (!ok || refused.Status != test.status) {
				t.Errorf("the error does not hold the answer: %v", err)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("got the error %v, want %q in it", err, test.text)
			}
		})
	}
}

func TestThrottled(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   bool
	}{
		{403, `{"error":{"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded","message":"User Rate Limit Exceeded"}],"code":403}}`, true},
		{403, `{"error":{"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`, true},
		{403, `{"error":{"errors":[{"domain":"usageLimits","reason":"quotaExceeded"}]}}`, true},
		{403, `{"error":{"errors":[{"domain":"global","reason":"insufficientPermissions","message":"rateLimitExceeded"}]}}`, false},
		{403, `{"error":{"errors":[{"reason":"forbidden"},{"reason":"rateLimitExceeded"}]}}`, true},
		{403, `{"error":"rateLimitExceeded"}`, false},
		{403, ``, false},
		{403, `<html>rateLimitExceeded</html>`, false},
		{200, `{"error":{"errors":[{"reason":"rateLimitExceeded"}]}}`, false},
	} {
		if got := Connector().Rate.Throttled(test.status, http.Header{}, []byte(test.body)); got != test.want {
			t.Errorf("%d %s: got %v", test.status, test.body, got)
		}
	}
}
