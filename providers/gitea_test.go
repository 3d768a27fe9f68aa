package providers_test

import (
	"fmt"
	"net/http"
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

const giteaShift = "Gitea pages by numbers alone: one that is deleted takes another out of sight"

func TestSuiteOfGitea(t *testing.T) {
	c := connector(t, "gitea")
	shifts := map[string]string{"deletions while it is read": giteaShift + ", until a full walk"}
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   only(c, "issues", "pull_requests", "comments"),
		Fake:      func(w *connectortest.World) http.Handler { return fakeGitea(w, "7001", "7002") },
		Streams:   map[string]connectortest.Facts{"issues": {Except: shifts}, "pull_requests": {Except: shifts}, "comments": {Except: shifts}},
	})
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Options:   only(c, "repositories"),
		Fake:      func(w *connectortest.World) http.Handler { return fakeGitea(w) },
		Streams: map[string]connectortest.Facts{"repositories": {Mark: connectortest.Unmarked, Except: map[string]string{
			"deletions while it is read": giteaShift + ", until the next run",
		}}},
	})
}

// giteaLinks is the header Link of a page. Where there is but one, there is none.
func giteaLinks(r *http.Request, number int, more bool) string {
	var links []string
	link := func(page int, rel string) {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(page))
		links = append(links, fmt.Sprintf(`<https://root.test%s?%s>; rel=%q`, r.URL.Path, q.Encode(), rel))
	}
	if more {
		link(number+1, "next")
		link(99, "last")
	}
	if number > 1 {
		link(1, "first")
		link(number-1, "prev")
	}
	return strings.Join(links, ",")
}

// fakeGitea lists as Gitea does: in pages by number, repositories by their
// names, issues by their creation, newest first, pull requests by their last
// change, newest first, and comments by their creation, oldest first. It
// shows the repositories, or the world's.
func fakeGitea(w *connectortest.World, repositories ...string) http.Handler {
	mux := http.NewServeMux()
	list := func(rw http.ResponseWriter, r *http.Request, items []connectortest.Item) {
		q := r.URL.Query()
		number, _ := strconv.Atoi(q.Get("page"))
		number = max(number, 1)
		size := w.Limit(q.Get("limit"))
		page, next := connectortest.Cut(items, (number-1)*size, size)
		rw.Header().Set("X-Total-Count", strconv.Itoa(len(items)))
		if links := giteaLinks(r, number, next > 0); links != "" && !strings.HasSuffix(r.URL.Path, "/comments") {
			rw.Header().Set("Link", links)
		}
		fmt.Fprint(rw, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%s,"number":%d,"title":"%d","updated_at":%q}`, it.ID, it.N, it.Rev, it.Changed.In(time.FixedZone("", 3600)).Format(time.RFC3339))
		}))
	}
	mux.HandleFunc("GET /api/v1/user/repos", func(rw http.ResponseWriter, r *http.Request) {
		if repositories == nil {
			list(rw, r, w.Items("repositories", ""))
			return
		}
		var texts []string
		for _, id := range repositories {
			texts = append(texts, fmt.Sprintf(`{"id":%s,"full_name":"owner/repo-%s"}`, id, id))
		}
		fmt.Fprintf(rw, "[%s]", strings.Join(texts, ","))
	})
	for path, stream := range map[string]string{"issues": "issues", "pulls": "pull_requests", "issues/comments": "comments"} {
		mux.HandleFunc("GET /api/v1/repos/owner/{repo}/"+path, func(rw http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			items := w.Items(stream, strings.TrimPrefix(r.PathValue("repo"), "repo-"))
			switch {
			case stream == "issues" && q.Get("state") == "all" && q.Get("type") == "issues":
				slices.SortStableFunc(items, func(a, b connectortest.Item) int { return b.Created.Compare(a.Created) })
			case stream == "pull_requests" && q.Get("state") == "all" && q.Get("sort") == "recentupdate":
				items = connectortest.Newest(items)
			case stream == "comments":
				slices.SortStableFunc(items, func(a, b connectortest.Item) int { return a.Created.Compare(b.Created) })
			default:
				http.Error(rw, "{}", 400)
				return
			}
			if stream != "pull_requests" {
				items = connectortest.Since(items, q.Get("since"))
			}
			list(rw, r, items)
		})
	}
	return mux
}

func TestRequestsOfGitea(t *testing.T) {
	element := func(id int, at string) string { return fmt.Sprintf(`{"id":%d,"updated_at":%q}`, id, at) }
	w := &wire{header: func(req *http.Request, h http.Header) {
		if req.URL.Path == "/api/v1/user/repos" && req.URL.Query().Get("page") == "" {
			h.Set("Link", `<https://root.test/api/v1/user/repos?limit=50&page=2>; rel="next",<https://root.test/api/v1/user/repos?limit=50&page=2>; rel="last"`)
		}
	}, answer: func(req *http.Request) (string, int) {
		switch {
		case req.URL.Path == "/api/v1/user/repos" && req.URL.Query().Get("page") == "":
			return `[{"id":7,"full_name":"owner/name"}]`, 200
		case req.URL.Path == "/api/v1/user/repos":
			return `[{"id":8,"full_name":"other/thing"}]`, 200
		case req.URL.Query().Get("page") != "1":
			return "[]", 200
		}
		return "[" + element(2, "2026-05-01T12:00:00+02:00") + "," + element(1, "2026-04-01T12:00:00+02:00") + "]", 200
	}}
	streams := w.streams(t, connector(t, "gitea").Options())
	got, _ := w.walk(t, streams["repositories"], "", cursor.State{})
	if diff := gocmp.Diff([]string{"GET /api/v1/user/repos?limit=50", "GET /api/v1/user/repos?limit=50&page=2"}, got); diff != "" {
		t.Error(diff)
	}
	for stream, want := range map[string][]string{
		"issues": {
			"issues?limit=50&page=1&state=all&type=issues", "issues?limit=50&page=2&state=all&type=issues",
			"issues?limit=50&page=1&since=2026-05-01T09:55:00Z&state=all&type=issues", "issues?limit=50&page=2&since=2026-05-01T09:55:00Z&state=all&type=issues",
		},
		"pull_requests": {
			"pulls?limit=50&page=1&sort=recentupdate&state=all", "pulls?limit=50&page=2&sort=recentupdate&state=all",
			"pulls?limit=50&page=1&sort=recentupdate&state=all", // down to what was read before
		},
		"comments": {
			"issues/comments?limit=50&page=1", "issues/comments?limit=50&page=2",
			"issues/comments?limit=50&page=1&since=2026-05-01T09:55:00Z", "issues/comments?limit=50&page=2&since=2026-05-01T09:55:00Z",
		},
	} {
		s := streams[stream]
		parts, err := s.Parts(t.Context())
		if err != nil || !slices.Equal(parts, []string{"7", "8"}) {
			t.Fatal(parts, err)
		}
		first, state := w.walk(t, s, "8", cursor.State{})
		later, _ := w.walk(t, s, "8", state)
		for i, path := range want {
			want[i] = "GET /api/v1/repos/other/thing/" + path
		}
		if diff := gocmp.Diff(want, append(first, later...)); diff != "" {
			t.Errorf("%s: %s", stream, diff)
		}
	}
}

// A repository without issues is no failure; one that the token may not read is.
func TestRefusalsOfGitea(t *testing.T) {
	for status, unchanged := range map[int]bool{404: true, 403: false, 401: false} {
		w := &wire{answer: func(req *http.Request) (string, int) {
			if req.URL.Path == "/api/v1/user/repos" {
				return `[{"id":7,"full_name":"owner/name"}]`, 200
			}
			return `{"message":"no"}`, status
		}}
		w.refused(t, connector(t, "gitea"), []string{"issues", "pull_requests", "comments"}, status, unchanged)
	}
}

// What is not listed counts as gone: a list is not complete because a proxy
// leaves out where it goes on.
func TestGiteaWithoutLinks(t *testing.T) {
	w := &wire{header: func(_ *http.Request, h http.Header) { h.Set("X-Total-Count", "2") },
		answer: func(*http.Request) (string, int) { return `[{"id":7}]`, 200 }}
	_, err := w.streams(t, connector(t, "gitea").Options())["repositories"].Fetch(t.Context(), syncd.Request{})
	if err == nil || !strings.Contains(err.Error(), "does a proxy take it out?") {
		t.Errorf("got %v", err)
	}
}
