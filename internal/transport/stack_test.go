package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

// ids returns the ids in an answer of the scripts: under items, or data.items.
func ids(t *testing.T, body []byte) []int {
	t.Helper()
	var page struct {
		Items []struct{ ID int }
		Data  struct{ Items []struct{ ID int } }
	}
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var all []int
	for _, item := range append(page.Items, page.Data.Items...) {
		all = append(all, item.ID)
	}
	return all
}

// Each script goes wrong a few times, and then well.
func TestScriptsThatEndWell(t *testing.T) {
	tests := []struct {
		script         string
		rows           []int
		requests       int64
		least, longest time.Duration
	}{
		{"HTP-01", []int{1, 2}, 2, time.Second, 2 * time.Second},
		{"HTP-02", []int{1, 2}, 2, time.Second, 2 * time.Second},
		{"HTP-04", []int{1}, 2, time.Second, 2 * time.Second},
		{"HTP-05", []int{1, 2}, 2, time.Second, 2 * time.Second},
		{"RAT-05", []int{1}, 4, 4 * time.Second, 11 * time.Second},
		{"RAT-06-secondary", []int{1}, 2, time.Minute, time.Minute},
		{"RAT-16", []int{1}, 2, time.Second, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			all := script(t, tt.script)
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, Config{Base: pipeBase(t, play(t, all))})
				c := newClient(t, s, "http://api.test")
				start := time.Now()
				resp, err := c.Get(t.Context(), "items", nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.rows, ids(t, resp.Body)); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
				if got := s.Requests(); got != tt.requests {
					t.Errorf("got %d requests, want %d", got, tt.requests)
				}
				if got := time.Since(start); got < tt.least || got > tt.longest {
					t.Errorf("took %s, want %s to %s", got, tt.least, tt.longest)
				}
			})
		})
	}
}

func TestScriptsThatEndBadly(t *testing.T) {
	tests := []struct {
		script   string
		cfg      Config
		requests int64
		longest  time.Duration
		check    func(t *testing.T, start time.Time, err error)
	}{
		{"RAT-04", Config{}, 1, 0, func(t *testing.T, start time.Time, err error) {
			wait, ok := errors.AsType[*WaitError](err)
			if !ok || wait.Until.Sub(start) != 24*time.Hour {
				t.Errorf("got %v, want a wait of 24h", err)
			}
		}},
		{"RAT-06-permission", Config{}, 1, 0, func(t *testing.T, _ time.Time, err error) {
			he, ok := errors.AsType[*syncd.HTTPError](err)
			if !ok || he.Status != 403 || !strings.Contains(string(he.Body), "Resource not accessible") {
				t.Errorf("got %v, want a 403 with its body", err)
			}
		}},
		{"HTP-12-304", Config{}, 1, 0, func(t *testing.T, _ time.Time, err error) {
			if !errors.Is(err, syncd.ErrNotModified) {
				t.Errorf("got %v, want ErrNotModified", err)
			}
		}},
		{"HTP-14", Config{}, 1, 0, func(t *testing.T, _ time.Time, err error) {
			if want := "unexpected content type text/html"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}},
		{"HTP-16", Config{IdleTimeout: 2 * time.Second, Attempts: 2}, 2, 10 * time.Second, func(t *testing.T, _ time.Time, err error) {
			if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
				t.Errorf("got %v, want a timeout", err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			all := script(t, tt.script)
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Base = pipeBase(t, play(t, all))
				s := newStack(t, tt.cfg)
				c := newClient(t, s, "http://api.test")
				start := time.Now()
				_, err := c.Get(t.Context(), "items", nil)
				tt.check(t, start, err)
				if got := s.Requests(); got != tt.requests {
					t.Errorf("got %d requests, want %d", got, tt.requests)
				}
				if got := time.Since(start); got > tt.longest {
					t.Errorf("took %s, want at most %s", got, tt.longest)
				}
			})
		})
	}
}

// An answer without content arrives as one, empty: what it means is for the connector.
func TestNoContent(t *testing.T) {
	all := script(t, "HTP-12-204")
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, Config{Base: pipeBase(t, play(t, all))})
		resp, err := newClient(t, s, "http://api.test").Get(t.Context(), "items", nil)
		if err != nil || resp.Status != 204 || len(resp.Body) != 0 {
			t.Errorf("got %+v, %v", resp, err)
		}
	})
}

func TestAttemptsDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(reply(503, "{}"))
		s := newStack(t, Config{Base: base, Budget: 6})
		c := newClient(t, s, "http://api.test")
		for _, want := range []int{5, 8, 9, 10} { // 4 retries, then the 2 that are left, then none
			_, err := c.Get(t.Context(), "items", nil)
			if e, ok := errors.AsType[*syncd.HTTPError](err); !ok || e.Status != 503 {
				t.Errorf("got %v, want a 503", err)
			}
			if *n != want || s.Requests() != int64(want) {
				t.Errorf("got %d requests, counted %d, want %d", *n, s.Requests(), want)
			}
		}
		s.Reset()
		if _, err := c.Get(t.Context(), "items", nil); err == nil || *n != 15 || s.Requests() != 5 {
			t.Errorf("after Reset: got %v, %d requests, counted %d", err, *n, s.Requests())
		}
	})
}

func TestNoBudget(t *testing.T) {
	base, n := answers(reply(503, "{}"))
	s := newStack(t, Config{Base: base, Budget: -1})
	if _, err := newClient(t, s, "http://api.test").Get(t.Context(), "", nil); err == nil || *n != 1 {
		t.Errorf("got %v after %d requests", err, *n)
	}
}

// A rate limit that outlasts the attempts is no failure.
func TestLimitedAtLastParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(reply(429, "{}"))
		s := newStack(t, Config{Base: base, Attempts: 3})
		_, err := newClient(t, s, "http://api.test").Get(t.Context(), "items", nil)
		wait, ok := errors.AsType[*WaitError](err)
		if !ok || *n != 3 || time.Until(wait.Until) != time.Minute {
			t.Errorf("got %v after %d requests", err, *n)
		}
	})
}

func TestDeadlineParks(t *testing.T) {
	tests := []struct {
		name   string
		answer *http.Response
		parks  bool
	}{
		{"limited", reply(429, "{}", "Retry-After", "30"), true},
		{"told", reply(503, "{}", "Retry-After", "30"), true},
		{"failed", reply(503, "{}"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, n := answers(tt.answer)
				s := newStack(t, Config{Base: base})
				ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := newClient(t, s, "http://api.test").Get(ctx, "items", nil)
				_, parked := errors.AsType[*WaitError](err)
				_, refused := errors.AsType[*syncd.HTTPError](err)
				if parked != tt.parks || refused == tt.parks || *n != 1 || time.Since(start) != 0 {
					t.Errorf("got %v after %d requests and %s", err, *n, time.Since(start))
				}
			})
		})
	}
}

// The quota is used up by a good answer: the next request waits for it, and
// where that is too long the run is parked without asking.
func TestNoneLeftDelaysTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(
			reply(200, "[]", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "40"),
			reply(200, "[]", "RateLimit", `"hour";r=0;t=1800`),
			reply(200, "[]"))
		s := newStack(t, Config{Base: base})
		c := newClient(t, s, "http://api.test")
		start := time.Now()
		for _, want := range []time.Duration{0, 40 * time.Second} {
			if _, err := c.Get(t.Context(), "items", nil); err != nil || time.Since(start) != want {
				t.Fatalf("got %v after %s, want %s", err, time.Since(start), want)
			}
		}
		_, err := c.Get(t.Context(), "items", nil)
		if wait, ok := errors.AsType[*WaitError](err); !ok || time.Until(wait.Until) != 30*time.Minute || *n != 2 {
			t.Errorf("got %v after %d requests", err, *n)
		}
	})
}

// A 429 for one user holds back all users of an app that has a limit, and only
// that user where it has none.
func TestLimitedQuietsWhoSharesTheQuota(t *testing.T) {
	for _, limit := range []syncd.Limit{{}, {Requests: 100, Per: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			app, alice, bob := NewPacer(limit), NewPacer(syncd.Limit{}), NewPacer(syncd.Limit{})
			refusing, n := answers(reply(429, "{}", "Retry-After", "300"))
			good, _ := answers(reply(200, "[]"))
			get := func(base http.RoundTripper, user *Pacer) error {
				s := newStack(t, Config{Base: base, App: app, User: user})
				_, err := newClient(t, s, "http://api.test").Get(t.Context(), "items", nil)
				return err
			}
			for range 2 { // the second is another run of the user: it asks nobody
				if err, ok := errors.AsType[*WaitError](get(refusing, alice)); !ok || time.Until(err.Until) != 5*time.Minute {
					t.Errorf("alice: got %v", err)
				}
			}
			if *n != 1 {
				t.Errorf("alice asked %d times, want once", *n)
			}
			_, held := errors.AsType[*WaitError](get(good, bob))
			if want := limit != (syncd.Limit{}); held != want {
				t.Errorf("limit %+v: bob held back: %v, want %v", limit, held, want)
			}
		})
	}
}

// App and user are both paced, on every attempt and hop.
func TestEveryAttemptIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(
			reply(302, "", "Location", "/b"), reply(503, "{}"), reply(302, "", "Location", "/c"), reply(200, "[]"))
		s := newStack(t, Config{Base: base, App: NewPacer(syncd.Limit{Requests: 1, Per: 10 * time.Second}), User: NewPacer(syncd.Limit{Requests: 1, Per: 8 * time.Second})})
		start := time.Now()
		if _, err := newClient(t, s, "http://api.test").Get(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start).Round(time.Millisecond); got != 30*time.Second || *n != 4 {
			t.Errorf("%d requests took %s, want 30s", *n, got)
		}
	})
}

func TestWhatIsRepeated(t *testing.T) {
	body := func() io.Reader { return io.MultiReader(strings.NewReader("x")) } // cannot be read twice
	tests := []struct {
		name   string
		method string
		body   io.Reader
		want   int
	}{
		{"GET", "GET", nil, 2},
		{"HEAD", "HEAD", nil, 2},
		{"POST", "POST", strings.NewReader("{}"), 2},
		{"POST that cannot be sent again", "POST", body(), 1},
		{"PUT", "PUT", strings.NewReader("{}"), 1},
		{"DELETE", "DELETE", nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bodies []string
				s := newStack(t, Config{Base: handler(func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					bodies = append(bodies, string(b))
					w.WriteHeader(502)
				}), Attempts: 2})
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://api.test/x", tt.body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := s.Whole().RoundTrip(req)
				if err != nil || resp.StatusCode != 502 {
					t.Fatalf("got %v, %v", resp, err)
				}
				if len(bodies) != tt.want || bodies[0] != bodies[len(bodies)-1] {
					t.Errorf("got the requests %q, want %d", bodies, tt.want)
				}
			})
		})
	}
}

func TestThrottledByTheProvidersOwnWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(reply(200, `{"status":"slow down"}`), reply(200, `{"status":"fine"}`))
		s := newStack(t, Config{Base: base, Throttled: func(status int, _ http.Header, body []byte) bool {
			return status == 200 && strings.Contains(string(body), "slow down")
		}})
		resp, err := newClient(t, s, "http://api.test").Get(t.Context(), "x", nil)
		if err != nil || string(resp.Body) != `{"status":"fine"}` || *n != 2 {
			t.Errorf("got %v, %v after %d requests", resp, err, *n)
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, n := answers(reply(429, "{}", "Retry-After", "50"))
		s := newStack(t, Config{Base: base})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(errors.New("the lease was lost: " + canary)) })
		start := time.Now()
		_, err := newClient(t, s, "http://api.test").Get(ctx, "x", nil)
		if !errors.Is(err, context.Canceled) || time.Since(start) != 10*time.Second || *n != 1 {
			t.Errorf("got %v after %s and %d requests", err, time.Since(start), *n)
		}
	})
}

func TestDate(t *testing.T) {
	base, _ := answers(
		reply(200, "[]", "Date", "nonsense"),
		reply(200, "[]", "Date", "Mon, 01 Jun 2026 12:00:00 GMT"),
		reply(200, "[]", "Date", "Mon, 01 Jun 2026 12:00:09 GMT"))
	s := newStack(t, Config{Base: base})
	c := newClient(t, s, "http://api.test")
	for i, want := range []time.Time{{}, noon, noon} {
		if _, err := c.Get(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		if got := s.Date(); !got.Equal(want) {
			t.Errorf("after %d answers: got %s, want %s", i+1, got, want)
		}
	}
	if s.Reset(); !s.Date().IsZero() {
		t.Errorf("after Reset: got %s", s.Date())
	}
}

// The limit of a source is wrong: that is said once and not tried again.
func TestBadLimit(t *testing.T) {
	base, n := answers(reply(200, "[]"))
	s := newStack(t, Config{Base: base, User: NewPacer(syncd.Limit{Requests: 5})})
	_, err := newClient(t, s, "http://api.test").Get(t.Context(), "x", nil)
	if err == nil || !strings.Contains(err.Error(), "rate: per is 0s") || *n != 0 {
		t.Errorf("got %v after %d requests", err, *n)
	}
}
