package googlecalendar

import (
	"context"
	"errors"
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
	"github.com/syncdhq/syncd/internal/cursor"
)

// says is a handler that answers everything alike.
func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		fmt.Fprint(rw, body)
	})
}

// stream returns a stream of a source with these options.
func stream(t *testing.T, h http.Handler, name string, o Options) syncd.Stream {
	t.Helper()
	o.Only = []string{name}
	return connectortest.Open(t, Connector().BaseURL, &o, h)[name]
}

func fetch(t *testing.T, s syncd.Stream, req syncd.Request) syncd.Page {
	t.Helper()
	page, err := s.Fetch(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// A change is one state of an element in the fake's log.
type change struct{ id, json string }

// fake is the API, strict about what its pages say. Each calendar is a log of
// changes; a sync token is a place in it.
type fake struct {
	logs    map[string][]change // by calendar
	entries []string            // of the calendar list
	size    int                 // of a page
	dead    int                 // sync tokens of places below it have died
	broken  bool                // page tokens have died
	asked   []string
	before  func(n int) // called before the nth request, from 1
}

const mine = "alice@example.com"

func newFake() *fake { return &fake{logs: map[string][]change{}, size: 3} }

// put appends a state of an event to a calendar's log.
func (f *fake) put(calendar, id, rest string, seconds int) string {
	text := fmt.Sprintf(`{"kind": "calendar#event","id":%q,"updated":%q%s}`, id, at(seconds).Format("2006-01-02T15:04:05.000Z"), rest)
	f.logs[calendar] = append(f.logs[calendar], change{id, text})
	return text
}

// cancel appends the little that Google must tell of a deleted event.
func (f *fake) cancel(calendar, id string) {
	f.logs[calendar] = append(f.logs[calendar], change{id, fmt.Sprintf(`{"id":%q,"status":"cancelled"}`, id)})
}

func at(seconds int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, seconds, 123e6, time.UTC)
}

func (f *fake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
	if f.before != nil {
		f.before(len(f.asked))
	}
	q := r.URL.Query()
	path, _ := strings.CutPrefix(r.URL.EscapedPath(), "/calendar/v3/")
	switch {
	case path == "calendars/primary":
		fmt.Fprintf(rw, `{"kind":"calendar#calendar","id":%q,"summary":"me"}`, mine)
	case path == "users/me/calendarList":
		f.list(rw, q)
	default:
		calendar, ok := strings.CutSuffix(strings.TrimPrefix(path, "calendars/"), "/events")
		id, err := url.PathUnescape(calendar)
		if f.logs[id] == nil || !ok || err != nil || strings.Contains(calendar, "/") {
			refuse(rw, 404, "notFound", "", "Not Found")
			return
		}
		f.events(rw, q, f.logs[id])
	}
}

func (f *fake) list(rw http.ResponseWriter, q url.Values) {
	from, _ := strconv.Atoi(q.Get("pageToken"))
	to, token := len(f.entries), `"nextSyncToken":"list"`
	if from+f.size < to {
		to = from + f.size
		token = fmt.Sprintf(`"nextPageToken":"%d"`, to)
	}
	fmt.Fprintf(rw, `{"kind":"calendar#calendarList",%s,"items":[%s]}`, token, strings.Join(f.entries[from:to], ","))
}

// events answers events.list. A page token is the place in the log at which the
// walk began and the place that was come to.
func (f *fake) events(rw http.ResponseWriter, q url.Values, log []change) {
	for name := range q {
		if !slices.Contains([]string{"maxResults", "showDeleted", "singleEvents", "syncToken", "pageToken"}, name) {
			refuse(rw, 400, "invalid", name, "Invalid parameter combination.")
			return
		}
	}
	began, after, since := len(log), 0, 0
	if token := q.Get("syncToken"); token != "" {
		var single string
		if _, err := fmt.Sscanf(token, "sync-%d-%s", &since, &single); err != nil {
			refuse(rw, 400, "invalid", "syncToken", "Invalid sync token value.")
			return
		}
		if since < f.dead || single != q.Get("singleEvents") || q.Get("showDeleted") != "true" {
			refuse(rw, 410, "fullSyncRequired", "syncToken", "Sync token is no longer valid, a full sync is required.")
			return
		}
		after = since
	}
	if token := q.Get("pageToken"); token != "" {
		var from int
		_, err := fmt.Sscanf(token, "page-%d-%d-%d", &from, &began, &after)
		if err != nil || from != since || f.broken {
			refuse(rw, 400, "invalid", "pageToken", "Invalid page token value.")
			return
		}
	}
	var items []string
	token := fmt.Sprintf(`"nextSyncToken":"sync-%d-%s"`, began, q.Get("singleEvents"))
	for i := after; i < began; i++ {
		later := slices.ContainsFunc(log[i+1:began], func(c change) bool { return c.id == log[i].id })
		if later {
			continue // only the last state is listed
		}
		if len(items) == f.size {
			token = fmt.Sprintf(`"nextPageToken":"page-%d-%d-%d"`, since, began, i)
			break
		}
		items = append(items, log[i].json)
	}
	fmt.Fprintf(rw, `{"kind":"calendar#events","accessRole":"owner",%s,"items":[%s]}`, token, strings.Join(items, ","))
}

// A reader reads a part by the rules of the engine, run by run.
type reader struct {
	state   cursor.State
	table   map[string]syncd.Record // what is not deleted, by id
	resyncs int
	proved  bool // the last walk has proved what it did not list to be gone
}

// run is one walk from the cursor to the end.
func (r *reader) run(t *testing.T, s syncd.Stream, part string) {
	t.Helper()
	if r.table == nil {
		r.table = map[string]syncd.Record{}
	}
	r.state = cursor.Begin(r.state, s, cursor.Options{Now: at(0)})
	guard, dropped, listed := cursor.NewGuard(), false, map[string]bool{}
	for {
		req := cursor.Next(r.state, part)
		if err := guard.Request(req); err != nil {
			t.Fatal(err)
		}
		page, err := s.Fetch(context.Background(), req)
		refused, isHTTP := errors.AsType[*syncd.HTTPError](err)
		switch {
		case errors.Is(err, syncd.ErrResync) && r.resyncs < 3:
			r.resyncs++
			r.state, listed = cursor.Resync(r.state), map[string]bool{}
			guard.Reset()
			continue
		case isHTTP && refused.Status == 400 && req.Page != "" && !dropped:
			dropped = true
			r.state = cursor.Restart(r.state)
			guard.Reset()
			continue
		case err != nil:
			t.Fatal(err)
		}
		for _, rec := range page.Records {
			listed[rec.ID] = true
			if old, ok := r.table[rec.ID]; ok && rec.Mark != 0 && rec.Mark < old.Mark {
				t.Errorf("%s came with the mark %v after %v", rec.ID, rec.Mark.Time(), old.Mark.Time())
			}
			r.table[rec.ID] = rec
			if rec.Deleted {
				delete(r.table, rec.ID)
			}
		}
		step := cursor.Advance(r.state, s, page, syncd.At(at(100000)), false)
		if r.state = step.State; !step.Done {
			continue
		}
		if r.proved = step.Proved; r.proved {
			for id := range r.table {
				if !listed[id] {
					delete(r.table, id)
				}
			}
		}
		return
	}
}

// want holds the table against the last state of each element in the log.
func (r *reader) want(t *testing.T, log []change) {
	t.Helper()
	last := map[string]string{}
	for _, c := range log {
		last[c.id] = c.json
	}
	for id, text := range last {
		gone := strings.Contains(text, `"status":"cancelled"`)
		if rec, ok := r.table[id]; ok == gone || ok && string(rec.Data) != text {
			t.Errorf("event %s: got %s (there: %v), want %s", id, rec.Data, ok, text)
		}
		delete(r.table, id)
	}
	for id := range r.table {
		t.Errorf("the table has %s, which is not in the calendar", id)
	}
}
