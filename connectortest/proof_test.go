package connectortest_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// exclusive is a connector that loses what shares the watermark's moment.
func exclusive(except map[string]string) connectortest.Subject {
	p := good["unordered with since"]
	p.stream.Overlap = 0
	p.fetch = mistakes["an exclusive since"].fetch
	p.facts.Except = except
	return p.subject()
}

func TestExceptions(t *testing.T) {
	reason := map[string]string{"ties at the watermark": "the provider has no inclusive bound", "more ties than a page": "nor here"}
	found := connectortest.Findings(t, exclusive(reason))
	if got := slices.Collect(maps.Keys(found)); len(found["things/ties at the watermark"]) > 0 || len(found["things/more ties than a page"]) > 0 {
		t.Errorf("an exception was found all the same: %q", got)
	}

	found = connectortest.Findings(t, exclusive(map[string]string{"deletions": "out of laziness", "ties at the watermark": ""}))
	if got := strings.Join(found["things/deletions"], ""); !strings.Contains(got, "take it out of Facts.Except") {
		t.Errorf("of an exception that is none: %q", got)
	}
	if got := strings.Join(found["things/ties at the watermark"], ""); !strings.Contains(got, "has no reason") {
		t.Errorf("of an exception without a reason: %q", got)
	}
}

func TestRandomFindingsTellTheirSeed(t *testing.T) {
	m := mistakes["numbered pages over a list that moves"]
	p := good[m.of]
	m.alter(&p)
	texts := strings.Join(connectortest.Findings(t, p.subject(), "at random")["things/at random"], "\n")
	seed := regexp.MustCompile(`CONNECTORTEST_SEED=(\d+) go test`).FindStringSubmatch(texts)
	if seed == nil {
		t.Fatalf("no seed in %q", texts)
	}
	t.Setenv("CONNECTORTEST_SEED", seed[1])
	if again := strings.Join(connectortest.Findings(t, p.subject(), "at random")["things/at random"], "\n"); again != texts {
		t.Errorf("the seed finds %q, and found %q", again, texts)
	}
}

func TestSubjectsThatAreNone(t *testing.T) {
	whole := func() connectortest.Subject { return good["unordered"].subject() }
	for want, change := range map[string]func(*connectortest.Subject){
		"Subject.Fake is not set":               func(s *connectortest.Subject) { s.Fake = nil },
		"the connector has no Options":          func(s *connectortest.Subject) { s.Connector.Options = nil },
		`names "others", which is no stream`:    func(s *connectortest.Subject) { s.Streams["others"] = facts{} },
		`names "thunder", which is no scenario`: func(s *connectortest.Subject) { s.Streams["things"] = facts{Except: map[string]string{"thunder": "x"}} },
		"rate: per is 0s":                       func(s *connectortest.Subject) { s.Connector.Rate.User.Requests = 5 },
		"a name is lower case letters":          func(s *connectortest.Subject) { rename(s, "Things") },
		"makes requests (GET /v1/customers)":    asksEarly,
		"stream \"things\" is there twice":      func(s *connectortest.Subject) { twice(s) },
		"Options.Streams returns no streams":    func(s *connectortest.Subject) { give(s, nil) },
		"stream \"things\" has no Fetch":        func(s *connectortest.Subject) { give(s, []syncd.Stream{{Name: "things"}}) },
	} {
		s := whole()
		change(&s)
		if err := connectortest.Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func give(s *connectortest.Subject, streams []syncd.Stream) {
	s.Options = func() syncd.Options { return &options{func(*syncd.Client) []syncd.Stream { return streams }} }
}

func rename(s *connectortest.Subject, name string) {
	give(s, []syncd.Stream{{Name: name, Fetch: api{}.fetch(nil)}})
}

func twice(s *connectortest.Subject) {
	x := syncd.Stream{Name: "things", Fetch: api{}.fetch(nil)}
	give(s, []syncd.Stream{x, x})
}

func asksEarly(s *connectortest.Subject) {
	s.Options = func() syncd.Options {
		return &options{func(c *syncd.Client) []syncd.Stream {
			c.Get(context.Background(), "/customers", nil)
			return nil
		}}
	}
}

func TestAFakeThatPanics(t *testing.T) {
	s := good["unordered"].subject()
	s.Fake = func(*connectortest.World) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("out of tea") })
	}
	if found := strings.Join(connectortest.Findings(t, s)["things/whole list"], "\n"); !strings.Contains(found, "the fake panicked: out of tea") {
		t.Errorf("found %q", found)
	}
}

// A provider that says that its limit is used up has runs wait, and is no
// reason to play less.
func TestAFakeThatLimits(t *testing.T) {
	s := exclusive(nil)
	fake := s.Fake
	s.Fake = func(w *connectortest.World) http.Handler {
		h, n := fake(w), 0
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if n++; n == 2 {
				rw.Header().Set("Retry-After", "3600")
				rw.WriteHeader(http.StatusTooManyRequests)
				return
			}
			h.ServeHTTP(rw, r)
		})
	}
	if found := connectortest.Findings(t, s, "ties at the watermark"); len(found["things/ties at the watermark"]) == 0 {
		t.Errorf("ties that are lost were not found; others found %v", found)
	}
}

// The documentation names each scenario.
func TestScenariosAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range connectortest.Scenarios() {
		if !strings.Contains(string(doc), name) {
			t.Errorf("doc.go does not name %q", name)
		}
	}
}
