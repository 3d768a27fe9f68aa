package github

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

// names serves repositories by name, as GitHub does with one that was renamed.
func names(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/repos/octo/hello", "/repositories/7":
		fmt.Fprint(w, `{"id":7,"full_name":"octo/hello"}`)
	case "/repos/octo/old":
		w.Header().Set("Location", "http://api.test/repositories/7")
		w.WriteHeader(http.StatusMovedPermanently)
		fmt.Fprint(w, `{"message":"Moved Permanently"}`)
	case "/repos/octo/elsewhere":
		w.Header().Set("Location", "http://other.test/repositories/7")
		w.WriteHeader(http.StatusMovedPermanently)
	case "/repositories/7/issues":
		fmt.Fprint(w, `[]`)
	case "/repos/octo/down":
		w.WriteHeader(http.StatusBadGateway)
	default:
		http.NotFound(w, r)
	}
}

func TestPartsByName(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string // parts, or
		err   string
	}{
		{names: []string{"octo/hello"}, want: []string{"7"}},
		{names: []string{"octo/old"}, want: []string{"7"}},
		{names: []string{"octo/hello", "octo/gone"}, want: []string{"7", "octo:gone"}},
		{names: []string{"octo/gone"}, err: "octo/gone"},
		{names: []string{"octo/elsewhere"}, err: "octo/elsewhere: GET http://api.test/repos/octo/elsewhere: 301"},
		{names: []string{"octo/hello", "octo/down"}, err: "502"},
	} {
		s := streams(t, newClient(t, "http://api.test", http.HandlerFunc(names)), Options{Repos: c.names})["issues"]
		got, err := s.Parts(t.Context())
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: got %v, %v, want an error with %q", c.names, got, err, c.err)
			}
		case err != nil || !slices.Equal(got, c.want):
			t.Errorf("%v: got %v, %v, want %v", c.names, got, err, c.want)
		}
	}
}

// One name without a repository fails alone, and by name.
func TestALostRepositoryFailsAlone(t *testing.T) {
	s := streams(t, newClient(t, "http://api.test", http.HandlerFunc(names)), Options{Repos: []string{"octo/gone", "octo/hello"}})["issues"]
	parts, err := s.Parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		_, err := s.Fetch(t.Context(), syncd.Request{Part: part})
		if part == "7" && err != nil {
			t.Errorf("octo/hello: %v", err)
		}
		if part != "7" && (err == nil || !strings.Contains(err.Error(), "octo/gone") || !strings.Contains(err.Error(), "404")) {
			t.Errorf("octo/gone: got %v, want its name and 404", err)
		}
	}
}

func TestAllThatTheTokenSees(t *testing.T) {
	answers := map[string][2]string{ // body and next
		"":       {`[{"id":3,"full_name":"a/b"},{"id":1,"full_name":"c/d"}]`, "page=2"},
		"page=2": {`[]`, "page=3"},
		"page=3": {`[{"id":20,"full_name":"e/f"}]`, ""},
	}
	serve := func(answers map[string][2]string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.URL.RawQuery
			if strings.Contains(key, "per_page=100") {
				key = ""
			}
			a, ok := answers[key]
			if !ok || r.URL.Path != "/user/repos" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if a[1] != "" {
				w.Header().Set("Link", fmt.Sprintf(`<http://api.test/user/repos?%s>; rel="next"`, a[1]))
			}
			fmt.Fprint(w, a[0])
		})
	}
	parts := func(h http.Handler) ([]string, error) {
		return streams(t, newClient(t, "http://api.test", h), Options{})["comments"].Parts(t.Context())
	}
	if got, err := parts(serve(answers)); err != nil || !slices.Equal(got, []string{"3", "1", "20"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		answers map[string][2]string
		want    string
	}{
		"none":          {map[string][2]string{"": {`[]`, ""}}, "the token sees no repository"},
		"no token":      {nil, "401"},
		"round":         {map[string][2]string{"": {`[]`, "page=2"}, "page=2": {`[]`, "page=3"}, "page=3": {`[]`, "page=2"}}, "round again"},
		"without an id": {map[string][2]string{"": {`[{"full_name":"a/b"}]`, ""}}, "a/b"},
		"id with slash": {map[string][2]string{"": {`[{"id":"1/2","full_name":"a/b"}]`, ""}}, "not a number"},
	} {
		if got, err := parts(serve(c.answers)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", name, got, err, c.want)
		}
	}
}

// Where nobody chose the repository, issues that are turned off are nothing new.
func TestIssuesTurnedOff(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGone) })
	s := streams(t, newClient(t, "http://api.test", h), Options{})["issues"]
	if _, err := s.Fetch(t.Context(), syncd.Request{Part: "7"}); !errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("got %v, want ErrNotModified", err)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // the option that is wrong
	}{
		{o: Options{}},
		{o: Options{Repo: "robfig/cron"}},
		{o: Options{Repos: []string{"a/b", "c_d-e/.f.g"}}},
		{o: Options{Only: []string{"comments", "issues"}}},
		{o: Options{Repo: "cron"}, want: "repo"},
		{o: Options{Repo: "https://github.com/robfig/cron"}, want: "repo"},
		{o: Options{Repo: "a/b/c"}, want: "repo"},
		{o: Options{Repo: "a/.."}, want: "repo"},
		{o: Options{Repo: "../b"}, want: "repo"},
		{o: Options{Repo: "a/b?x"}, want: "repo"},
		{o: Options{Repos: []string{"a/b", ""}}, want: "repos"},
		{o: Options{Repo: "a/b", Repos: []string{"c/d"}}, want: "repo"},
		{o: Options{Only: []string{"issue"}}, want: "streams"},
	} {
		got := ""
		list, err := c.o.Streams(nil)
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			got = bad.Option
		}
		if got != c.want || err == nil && len(list) == 0 {
			t.Errorf("%+v: got %d streams, %v, want the option %q", c.o, len(list), err, c.want)
		}
	}
}
