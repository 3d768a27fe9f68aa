package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

func TestSuite(t *testing.T) {
	facts := map[string]connectortest.Facts{}
	for _, stream := range lists {
		facts[stream] = connectortest.Facts{Parts: []string{"7001", "7002"}}
	}
	// Nobody can delete a pull request: the REST API has no call for it.
	// https://docs.github.com/en/rest/pulls/pulls
	facts["pull_requests"] = connectortest.Facts{Parts: []string{"7001", "7002"}, Deletions: connectortest.Never}
	for name, options := range map[string]*Options{
		"named repositories": {Repos: []string{"o/r7001", "o/r7002"}},
		"all that are seen":  {},
	} {
		t.Run(name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Subject{
				Connector: Connector(),
				Options:   func() syncd.Options { o := *options; return &o },
				Fake:      func(w *connectortest.World) http.Handler { return world(w) },
				Streams:   facts,
			})
		})
	}
}

// lists has the streams by the path of their list.
var lists = map[string]string{
	"issues": "issues", "pulls": "pull_requests", "issues/comments": "comments", "pulls/comments": "review_comments",
}

// world serves the suite's items as GitHub does.
func world(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	repo := func(id string) map[string]any { return map[string]any{"id": json.Number(id), "full_name": "o/r" + id} }
	mux.HandleFunc("GET /user/repos", func(rw http.ResponseWriter, r *http.Request) {
		var all []any
		for _, id := range w.Parts("issues") {
			all = append(all, repo(id))
		}
		json.NewEncoder(rw).Encode(all)
	})
	mux.HandleFunc("GET /repos/o/{name}", func(rw http.ResponseWriter, r *http.Request) {
		json.NewEncoder(rw).Encode(repo(strings.TrimPrefix(r.PathValue("name"), "r")))
	})
	mux.HandleFunc("GET /repositories/{id}/{list...}", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items := w.Items(lists[r.PathValue("list")], r.PathValue("id"))
		if r.PathValue("list") != "pulls" { // whose list knows no since
			items = connectortest.Since(items, q.Get("since"))
		}
		if connectortest.Oldest(items); q.Get("direction") == "desc" {
			connectortest.Newest(items)
		}
		size, number := w.Limit(q.Get("per_page")), 1
		if q.Has("page") {
			number, _ = strconv.Atoi(q.Get("page"))
		}
		page, next := connectortest.Cut(items, (number-1)*size, size)
		if next > 0 {
			q.Set("page", strconv.Itoa(number+1))
			rw.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, q.Encode()))
		}
		fmt.Fprint(rw, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %s, "number": %d, "title": "<b> & %d", "updated_at": %q}`, it.ID, it.N, it.Rev, it.Changed.Format(time.RFC3339))
		}))
	})
	return mux
}
