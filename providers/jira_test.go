package providers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

func TestSuiteOfJira(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: connector(t, "jira"),
		Fake:      fakeJira,
		Streams: map[string]connectortest.Facts{
			"issues": {Grain: time.Millisecond},
			"projects": {Mark: connectortest.Unmarked, Except: map[string]string{
				"deletions while it is read": "Jira lists projects by offsets alone: one that is deleted takes another out of sight, until the next run",
			}},
		},
	})
}

const jiraTime = "2006-01-02T15:04:05.000-0700"

var jql = regexp.MustCompile(`^\(project is not EMPTY\)(?: AND updated >= (\d+))? ORDER BY updated ASC$`)

// fakeJira searches issues, oldest change first; its users live in Chatham.
func fakeJira(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	zone := time.FixedZone("", 12*3600+45*60)
	mux.HandleFunc("GET /rest/api/3/search/jql", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		bound := jql.FindStringSubmatch(q.Get("jql"))
		if bound == nil || q.Get("fields") != "*navigable,updated" {
			http.Error(rw, `{"errorMessages":["The JQL query is not as expected."]}`, 400)
			return
		}
		since, _ := strconv.ParseInt(bound[1], 10, 64)
		items := slices.DeleteFunc(connectortest.Oldest(w.Items("issues", "")), func(it connectortest.Item) bool {
			return it.Changed.Truncate(time.Second).UnixMilli() < since
		})
		from, _ := strconv.Atoi(q.Get("nextPageToken"))
		page, next := connectortest.Cut(items, from, w.Limit(q.Get("maxResults")))
		end := `"isLast":true`
		if next > 0 {
			end = fmt.Sprintf(`"isLast":false,"nextPageToken":"%d"`, next)
		}
		fmt.Fprintf(rw, `{"issues":%s,%s}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%q,"key":"A-%d","fields":{"summary":"%d","updated":%q}}`, it.ID, it.N, it.Rev, it.Changed.In(zone).Format(jiraTime))
		}), end)
	})
	mux.HandleFunc("GET /rest/api/3/project/search", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("startAt"))
		size := w.Limit(q.Get("maxResults"))
		page, next := connectortest.Cut(w.Items("projects", ""), from, size)
		fmt.Fprintf(rw, `{"startAt":%d,"maxResults":%d,"isLast":%v,"values":%s}`, from, size, next == 0, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%q,"key":"P%d","name":"%d"}`, it.ID, it.N, it.Rev)
		}))
	})
	return mux
}

// A dead token is no empty list.
func TestJiraWithADeadToken(t *testing.T) {
	w := &wire{header: func(_ *http.Request, h http.Header) { h.Set("X-Seraph-LoginReason", "AUTHENTICATED_FAILED") },
		answer: func(*http.Request) (string, int) { return `{"isLast":true,"issues":[],"values":[]}`, 200 }}
	for name, s := range w.streams(t, connector(t, "jira").Options()) {
		if _, err := s.Fetch(t.Context(), syncd.Request{}); err == nil || !strings.Contains(err.Error(), "the credentials are not valid") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequestsOfJira(t *testing.T) {
	issue := func(id, at string) string {
		return fmt.Sprintf(`{"id":%q,"fields":{"updated":%q}}`, id, at)
	}
	w := &wire{answer: func(req *http.Request) (string, int) {
		q := req.URL.Query()
		switch {
		case req.URL.Path == "/rest/api/3/project/search" && q.Get("startAt") == "":
			return `{"startAt":0,"maxResults":2,"isLast":false,"values":[{"id":"1"},{"id":"2"}]}`, 200
		case req.URL.Path == "/rest/api/3/project/search":
			return `{"startAt":2,"maxResults":2,"isLast":true,"values":[{"id":"3"}]}`, 200
		case q.Get("jql") == "(project = A) ORDER BY updated ASC":
			return `{"isLast":false,"nextPageToken":"t1","issues":[` + issue("1", "2026-05-01T12:00:01.500+0200") + `]}`, 200
		case q.Get("nextPageToken") == "":
			return `{"isLast":false,"nextPageToken":"t2","issues":[` + issue("1", "2026-05-01T12:00:01.500+0200") + `]}`, 200
		}
		return `{"isLast":true,"issues":[` + issue("2", "2026-05-01T12:00:01.900+0200") + `]}`, 200
	}}
	streams := w.streams(t, with(connector(t, "jira"), map[string]string{"jql": "project = A", "fields": "summary"})())
	second := time.Date(2026, 5, 1, 10, 0, 1, 0, time.UTC)
	ask := func(since time.Time, token string) string {
		return fmt.Sprintf("GET /rest/api/3/search/jql?fields=summary,updated&jql=(project = A) AND updated >= %d ORDER BY updated ASC&maxResults=100%s", since.UnixMilli(), token)
	}
	got, state := w.walk(t, streams["issues"], "", cursor.State{})
	want := []string{
		"GET /rest/api/3/search/jql?fields=summary,updated&jql=(project = A) ORDER BY updated ASC&maxResults=100",
		ask(second, ""), ask(second, "&nextPageToken=t2"), // a second that does not fit on a page
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, _ = w.walk(t, streams["issues"], "", state)
	if want := ask(second.Add(-10*time.Minute), ""); got[0] != want {
		t.Errorf("later: got %s, want %s", got[0], want)
	}
	got, _ = w.walk(t, streams["projects"], "", cursor.State{})
	want = []string{
		"GET /rest/api/3/project/search?maxResults=100&orderBy=key",
		"GET /rest/api/3/project/search?maxResults=100&orderBy=key&startAt=2",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
