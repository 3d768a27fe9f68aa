package googlecalendar

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

// The parts of the suite are calendars with all that is odd in an id.
var (
	suiteCalendars = []string{"alice@example.com", "de.german#holiday@group.v.calendar.google.com", "50%/all@example.com"}
	suiteParts     = []string{"alice@example.com", "de.german#holiday@group.v.calendar.google.com", "50%25%2Fall@example.com"}
)

func suiteID(n int64, _ time.Time) string { return fmt.Sprintf("ev%026d", n) }

func TestSuite(t *testing.T) {
	for name, single := range map[string]bool{"recurring events": false, "single events": true} {
		t.Run(name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Subject{
				Connector: Connector(),
				Options:   func() syncd.Options { return &Options{Calendars: suiteCalendars, Single: single} },
				Fake:      func(w *connectortest.World) http.Handler { return world{w, single} },
				Streams: map[string]connectortest.Facts{
					"calendars": {ID: suiteID, Mark: connectortest.Unmarked, Deletions: connectortest.Told, EmptyPages: true},
					"events":    {ID: suiteID, Grain: time.Millisecond, Parts: suiteParts, Deletions: connectortest.Told, EmptyPages: true},
				},
			})
		})
	}
}

// A world serves the suite's items as Google does.
type world struct {
	*connectortest.World
	single bool
}

// ServeHTTP answers calendarList.list and events.list.
func (w world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	path, _ := strings.CutPrefix(r.URL.EscapedPath(), "/calendar/v3/")
	calendar, isEvents := strings.CutSuffix(path, "/events")
	id, err := url.PathUnescape(strings.TrimPrefix(calendar, "calendars/"))
	switch {
	case path == "users/me/calendarList":
		w.list(rw, q, "calendar#calendarList", w.Items("calendars", ""))
	case !isEvents || err != nil || strings.Count(calendar, "/") != 1:
		refuse(rw, 404, "notFound", "", "Not Found")
	case q.Get("singleEvents") != strconv.FormatBool(w.single) || q.Get("showDeleted") != "true":
		refuse(rw, 400, "invalid", "", "Bad Request")
	case q.Get("syncToken") == "":
		w.list(rw, q, "calendar#events", w.Items("events", partOf(id)))
	default:
		items, ok := w.ChangedSince("events", partOf(id), q.Get("syncToken"))
		if !ok {
			refuse(rw, 410, "fullSyncRequired", "syncToken", "Sync token is no longer valid, a full sync is required.")
			return
		}
		w.list(rw, q, "calendar#events", items)
	}
}

// list gives out a page of items. Its token is the version of the list when the
// walk began and the last element: its number, or that of its change. What
// changes meanwhile and so leaves the list of changes is for the next walk.
func (w world) list(rw http.ResponseWriter, q url.Values, kind string, items []connectortest.Item) {
	began, after := w.SyncToken(), int64(0)
	if token := q.Get("pageToken"); token != "" {
		if _, err := fmt.Sscanf(token, "%d.%d", new(int64), &after); err != nil {
			refuse(rw, 400, "invalid", "pageToken", "Invalid page token value.")
			return
		}
		began, _, _ = strings.Cut(token, ".")
	}
	place := func(it connectortest.Item) int64 { return it.N }
	if q.Has("syncToken") {
		version, _ := strconv.ParseInt(began, 10, 64)
		items = slices.DeleteFunc(items, func(it connectortest.Item) bool { return it.Seq > version })
		place = func(it connectortest.Item) int64 { return it.Seq }
	}
	items = slices.DeleteFunc(items, func(it connectortest.Item) bool { return place(it) <= after })
	page, more := connectortest.Cut(items, 0, w.Limit(q.Get("maxResults")))
	token := fmt.Sprintf(`"nextSyncToken":%q`, began)
	if more > 0 {
		token = fmt.Sprintf(`"nextPageToken":"%s.%d"`, began, place(page[more-1]))
	}
	fmt.Fprintf(rw, `{"kind":%q,"etag":"\"p33\"",%s,"items":%s}`, kind, token, w.Elements(page, w.render))
}

func (w world) render(it connectortest.Item) string {
	switch {
	case it.Stream == "calendars":
		return fmt.Sprintf(`{"kind": "calendar#calendarListEntry","id":%q,"summary":"%d","deleted":%v}`, it.ID, it.Rev, it.Deleted)
	case it.Deleted:
		return fmt.Sprintf(`{"kind":"calendar#event","etag":"\"%d\"","id":%q,"status":"cancelled"}`, it.Rev, it.ID)
	}
	return fmt.Sprintf(`{"kind": "calendar#event","id":%q,"status":"confirmed","updated":%q,"summary":"%d"}`,
		it.ID, it.Changed.Format("2006-01-02T15:04:05.000Z"), it.Rev)
}

func refuse(rw http.ResponseWriter, status int, reason, location, message string) {
	rw.Header().Set("Content-Type", "application/json; charset=UTF-8")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"error":{"errors":[{"domain":"calendar","reason":%q,"message":%q,"locationType":"parameter","location":%q}],"code":%d,"message":%q}}`,
		reason, message, location, status, message)
}
