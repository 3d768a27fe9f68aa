package github

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

const issuesPath = "/repositories/7/issues"

// mixed returns n elements, one a second unless ties is set; those for which
// pull is true are pull requests.
func mixed(n int, ties bool, pull func(i int) bool) []element {
	var out []element
	for i := range n {
		e := element{id: 1000 + i, updated: at(i), pull: pull(i)}
		if ties {
			e.updated = at(i / 250)
		}
		out = append(out, e)
	}
	return out
}

func TestIssuesArriveWhole(t *testing.T) {
	for name, c := range map[string]struct {
		pull func(i int) bool
		ties bool
	}{
		"no pull requests":         {pull: func(int) bool { return false }},
		"every second":             {pull: func(i int) bool { return i%2 == 1 }},
		"pages of pull requests":   {pull: func(i int) bool { return i > 50 && i < 480 }},
		"nothing but":              {pull: func(int) bool { return true }},
		"more ties than on a page": {ties: true, pull: func(i int) bool { return i%3 == 0 }},
		"ties of pull requests":    {ties: true, pull: func(i int) bool { return i%250 > 3 }},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{path: issuesPath, elements: mixed(1000, c.ties, c.pull)}
			s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["issues"]
			got := ids(walk(t, s, "7", 0))
			want := map[string]string{}
			for _, e := range f.elements {
				if !e.pull {
					want[strconv.Itoa(e.id)] = e.json()
				}
			}
			if len(got) != len(want) {
				t.Errorf("got %d issues, want %d", len(got), len(want))
			}
			for id, text := range want {
				if string(got[id]) != text {
					t.Fatalf("issue %s: got %s, want the bytes %s", id, got[id], text)
				}
			}
		})
	}
}

// Every request after the first finds the list changed: elements already read
// have moved to its end, and all behind them forward. Nothing may slip through, in
// particular not behind pull requests, whose marks the engine does not see.
func TestIssuesChangeWhileTheyAreRead(t *testing.T) {
	f := &fake{path: issuesPath, elements: mixed(700, false, func(i int) bool { return i < 100 || i >= 300 && i < 550 })}
	f.before = func(n int) {
		for i := range 20 { // of the first page, all pull requests
			if k := (n-2)*20 + i; n > 1 && k < 100 {
				f.elements[k].updated = at(10_000 + k)
			}
		}
	}
	s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["issues"]
	got := ids(walk(t, s, "7", 0))
	for _, e := range f.elements {
		if _, ok := got[strconv.Itoa(e.id)]; !e.pull && !ok {
			t.Errorf("issue %d was lost", e.id)
		}
	}
}

// GitHub refuses high page numbers in large lists, whose links hold a cursor.
func TestLinksAreFollowedAsGiven(t *testing.T) {
	f := &fake{path: issuesPath, maxPage: 2, elements: mixed(500, true, func(int) bool { return false })}
	for i := range f.elements {
		f.elements[i].updated = epoch
	}
	s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["issues"]
	if got := len(ids(walk(t, s, "7", 0))); got != 500 {
		t.Errorf("got %d issues, want 500", got)
	}
}

func TestFirstRequest(t *testing.T) {
	for _, c := range []struct {
		stream, path string
		since        syncd.Mark
		want         string
	}{
		{"issues", "/issues", 0, "direction=asc&per_page=100&sort=updated&state=all"},
		{"issues", "/issues", syncd.At(at(61)) + 999_999_999, "direction=asc&per_page=100&since=2026-03-01T12%3A01%3A01Z&sort=updated&state=all"},
		{"comments", "/issues/comments", syncd.At(at(0)), "direction=asc&per_page=100&since=2026-03-01T12%3A00%3A00Z&sort=updated"},
		{"review_comments", "/pulls/comments", syncd.At(at(0)), "direction=asc&per_page=100&since=2026-03-01T12%3A00%3A00Z&sort=updated"},
		{"pull_requests", "/pulls", syncd.At(at(0)), "direction=desc&per_page=100&sort=updated&state=all"},
	} {
		f := &fake{path: "/api/v3/repositories/7" + c.path}
		s := streams(t, newClient(t, "http://git.example/api/v3", f), Options{Repo: "o/n"})[c.stream]
		page := fetch(t, s, syncd.Request{Part: "7", Since: c.since})
		if len(page.Records) != 0 || page.Next != "" {
			t.Errorf("%s: an empty list gave %+v", c.stream, page)
		}
		r := f.asked[0]
		if r.URL.RawQuery != c.want {
			t.Errorf("%s: got the query %s, want %s", c.stream, r.URL.RawQuery, c.want)
		}
		if got := r.Header.Get("Accept") + " " + r.Header.Get("X-GitHub-Api-Version"); got != "application/vnd.github+json 2022-11-28" {
			t.Errorf("%s: got the headers %s", c.stream, got)
		}
	}
}

func TestSinceIsInclusive(t *testing.T) {
	f := &fake{path: "/repositories/7/issues/comments", elements: mixed(10, false, func(int) bool { return false })}
	s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["comments"]
	got := ids(walk(t, s, "7", syncd.At(at(8))))
	if len(got) != 2 || got["1008"] == nil || got["1009"] == nil {
		t.Errorf("got %v, want those of the second itself and after it", got)
	}
}

func TestPullRequestsStopAtTheWatermark(t *testing.T) {
	f := &fake{path: "/repositories/7/pulls", elements: mixed(1000, false, func(int) bool { return false })}
	s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["pull_requests"]
	if got := len(ids(walk(t, s, "7", 0))); got != 1000 {
		t.Errorf("first walk: got %d, want 1000", got)
	}
	f.elements[3].updated = at(5000)
	f.asked = nil
	got := ids(walk(t, s, "7", syncd.At(at(950))))
	if len(f.asked) != 1 || got["1003"] == nil {
		t.Errorf("second walk: got %d requests and %d records, want 1 request with the changed one", len(f.asked), len(got))
	}
}

func TestFetchIsRepeatable(t *testing.T) {
	f := &fake{path: issuesPath, elements: mixed(300, false, func(i int) bool { return i%2 == 0 })}
	s := streams(t, newClient(t, "http://api.test", f), Options{Repo: "o/n"})["issues"]
	req := syncd.Request{Part: "7"}
	for range 3 {
		one, two := fetch(t, s, req), fetch(t, s, req)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%+v: the second answer differs: %s", req, diff)
		}
		if strings.Contains(one.Next, "api.test") {
			t.Errorf("the token %q holds the host", one.Next)
		}
		req.Page = one.Next
	}
}

func TestOneBadElementCostsOneRecord(t *testing.T) {
	body := `[{"id":1,"updated_at":"2026-03-01T12:00:00Z"}, {"updated_at":"2026-03-01T12:00:00Z"},
		{"id":3,"updated_at":"yesterday"}, "four", {"id":5,"updated_at":null}, {"id":6,"id":7},
		{"id":9007199254740993,"updated_at":"2026-03-01T14:00:00+02:00","pull_request":null}]`
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(body)) })
	s := streams(t, newClient(t, "http://api.test", h), Options{Repo: "o/n"})["issues"]
	type row struct {
		ID   string
		Mark syncd.Mark
		Bad  bool
	}
	var got []row
	for _, r := range fetch(t, s, syncd.Request{Part: "7"}).Records {
		got = append(got, row{r.ID, r.Mark, r.Err != nil})
	}
	noon := syncd.At(epoch)
	want := []row{{"1", noon, false}, {"", noon, false}, {"", 0, true}, {"", 0, true}, {"5", 0, false}, {"", 0, true}, {"9007199254740993", noon, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBadAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ body, link, want string }{
		"empty body":     {"", "", "empty"},
		"an object":      {`{"message":"hello"}`, "", "not as expected"},
		"cut":            {`[{"id":1},`, "", "not as expected"},
		"another origin": {`[]`, `<http://evil.test/repositories/7/issues?page=2>; rel="next"`, "another origin"},
		"no query":       {`[]`, `<http://api.test/repositories/7/issues>; rel="next"`, "no query"},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", c.link)
				w.Write([]byte(c.body))
			})
			s := streams(t, newClient(t, "http://api.test", h), Options{Repo: "o/n"})["issues"]
			_, err := s.Fetch(t.Context(), syncd.Request{Part: "7"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "repository with id 7") {
				t.Errorf("got %v, want an error on the repository that says %q", err, c.want)
			}
		})
	}
}

func TestAPageTokenThatIsNone(t *testing.T) {
	s := streams(t, newClient(t, "http://api.test", &fake{}), Options{Repo: "o/n"})["issues"]
	if _, err := s.Fetch(t.Context(), syncd.Request{Part: "7", Page: "%zz"}); err == nil {
		t.Error("got no error")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string
	}{{403, "may not read"}, {404, "does not see it"}, {410, "turned off"}, {451, "legal"}, {500, "500 Internal"}} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/repos/octo/hello" {
				w.Write([]byte(`{"id":7,"full_name":"octo/hello"}`))
				return
			}
			w.WriteHeader(c.status)
		})
		s := streams(t, newClient(t, "http://api.test", h), Options{Repo: "octo/hello"})["issues"]
		parts, err := s.Parts(t.Context())
		if err != nil || len(parts) != 1 {
			t.Fatal(parts, err)
		}
		_, err = s.Fetch(t.Context(), syncd.Request{Part: parts[0]})
		refused, ok := errors.AsType[*syncd.HTTPError](err)
		if !ok || refused.Status != c.status || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "octo/hello") {
			t.Errorf("%d: got %v, want it to name octo/hello and say %q", c.status, err, c.want)
		}
	}
}
