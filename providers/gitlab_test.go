package providers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

func TestSuiteOfGitLab(t *testing.T) {
	c := connector(t, "gitlab")
	facts := connectortest.Facts{Grain: time.Millisecond}
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   only(c, "issues", "merge_requests"),
		Fake:      func(w *connectortest.World) http.Handler { return fakeGitLab(w, "7001", "7002") },
		Streams:   map[string]connectortest.Facts{"issues": facts, "merge_requests": facts},
	})
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   only(c, "projects"),
		Fake:      func(w *connectortest.World) http.Handler { return fakeGitLab(w) },
		Streams:   map[string]connectortest.Facts{"projects": {Mark: connectortest.Unmarked}},
	})
}

// gitlabNext sets the header Link to the same request with another parameter.
func gitlabNext(h http.Header, r *http.Request, param, value string) {
	next := url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path}
	q := r.URL.Query()
	q.Set(param, value)
	next.RawQuery = q.Encode()
	h.Set("Link", fmt.Sprintf(`<%s>; rel="next", <https://%s/first>; rel="first"`, &next, r.Host))
}

// fakeGitLab lists projects by their ids, on from one of them, and issues and
// merge requests by their last change, in numbered pages. It shows the
// projects, or the world's.
func fakeGitLab(w *connectortest.World, projects ...string) http.Handler {
	mux := http.NewServeMux()
	render := func(it connectortest.Item) string {
		return fmt.Sprintf(`{"id":%s,"iid":%d,"title":"%d","updated_at":%q}`, it.ID, it.N, it.Rev, it.Changed.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	mux.HandleFunc("GET /api/v4/projects", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if projects != nil {
			fmt.Fprintf(rw, `[{"id":%s}]`, strings.Join(projects, `},{"id":`))
			return
		}
		if q.Get("pagination") != "keyset" || q.Get("order_by") != "id" || q.Get("sort") != "asc" || q.Get("membership") != "true" {
			http.Error(rw, "{}", 400)
			return
		}
		after, _ := strconv.ParseInt(q.Get("id_after"), 10, 64)
		items := slices.DeleteFunc(w.Items("projects", ""), func(it connectortest.Item) bool { return numeric(it) <= after })
		page, next := connectortest.Cut(items, 0, w.Limit(q.Get("per_page")))
		if next > 0 {
			gitlabNext(rw.Header(), r, "id_after", page[len(page)-1].ID)
		}
		fmt.Fprint(rw, w.Elements(page, render))
	})
	for _, stream := range []string{"issues", "merge_requests"} {
		mux.HandleFunc("GET /api/v4/projects/{id}/"+stream, func(rw http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if q.Get("order_by") != "updated_at" || q.Get("sort") != "asc" || q.Get("scope") != "all" || stream == "merge_requests" && q.Get("state") != "all" {
				http.Error(rw, "{}", 400)
				return
			}
			items := connectortest.Since(connectortest.Oldest(w.Items(stream, r.PathValue("id"))), q.Get("updated_after"))
			number, _ := strconv.Atoi(q.Get("page"))
			number = max(number, 1)
			size := w.Limit(q.Get("per_page"))
			page, next := connectortest.Cut(items, (number-1)*size, size)
			if next > 0 {
				gitlabNext(rw.Header(), r, "page", strconv.Itoa(number+1))
			}
			fmt.Fprint(rw, w.Elements(page, render))
		})
	}
	return mux
}

func TestRequestsOfGitLab(t *testing.T) {
	const at = "2026-05-01T10:00:00.123Z"
	w := &wire{header: func(req *http.Request, h http.Header) {
		q := req.URL.Query()
		switch {
		case req.URL.Path == "/api/v4/projects" && q.Get("id_after") == "":
			gitlabNext(h, req, "id_after", "7")
		case strings.HasSuffix(req.URL.Path, "s") && q.Get("updated_after") != "2026-05-01T09:55:00.123Z" && q.Get("page") == "" && req.URL.Path != "/api/v4/projects":
			gitlabNext(h, req, "page", "2")
		}
	}, answer: func(req *http.Request) (string, int) {
		q := req.URL.Query()
		switch {
		case req.URL.Path == "/api/v4/projects" && q.Get("id_after") == "":
			return `[{"id":7}]`, 200
		case req.URL.Path == "/api/v4/projects":
			return `[{"id":8}]`, 200
		case q.Get("page") == "2":
			return `[{"id":2,"updated_at":"` + at + `"}]`, 200
		}
		return `[{"id":1,"updated_at":"` + at + `"}]`, 200
	}}
	streams := w.streams(t, connector(t, "gitlab").Options())
	got, _ := w.walk(t, streams["projects"], "", cursor.State{})
	want := []string{
		"GET /api/v4/projects?membership=true&order_by=id&pagination=keyset&per_page=100&simple=true&sort=asc",
		"GET /api/v4/projects?id_after=7&membership=true&order_by=id&pagination=keyset&per_page=100&simple=true&sort=asc",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for stream, state := range map[string]string{"issues": "", "merge_requests": "&state=all"} {
		s := streams[stream]
		if parts, err := s.Parts(t.Context()); err != nil || !slices.Equal(parts, []string{"7", "8"}) {
			t.Fatal(parts, err)
		}
		path := "GET /api/v4/projects/8/" + stream + "?order_by=updated_at"
		want := []string{
			path + "&per_page=100&scope=all&sort=asc" + state,
			path + "&per_page=100&scope=all&sort=asc" + state + "&updated_after=" + at,
			path + "&page=2&per_page=100&scope=all&sort=asc" + state + "&updated_after=" + at, // a page of ties
			path + "&per_page=100&scope=all&sort=asc" + state + "&updated_after=2026-05-01T09:55:00.123Z",
		}
		first, after := w.walk(t, s, "8", cursor.State{})
		later, _ := w.walk(t, s, "8", after)
		if diff := gocmp.Diff(want, append(first, later...)); diff != "" {
			t.Errorf("%s: %s", stream, diff)
		}
	}
}

// A project without merge requests is no failure; a token without the scope is.
func TestRefusalsOfGitLab(t *testing.T) {
	for _, c := range []struct {
		status    int
		body      string
		unchanged bool
	}{
		{403, `{"message":"403 Forbidden"}`, true},
		{404, `{"message":"404 Project Not Found"}`, true},
		{403, `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token."}`, false},
		{403, `<html>`, false},
		{401, `{"message":"401 Unauthorized"}`, false},
	} {
		w := &wire{answer: func(*http.Request) (string, int) { return c.body, c.status }}
		w.refused(t, connector(t, "gitlab"), []string{"issues", "merge_requests"}, c.status, c.unchanged)
	}
}
