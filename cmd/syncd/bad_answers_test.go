package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/outside"
)

// A mocked is the source alice desk: an API of one list, and an authorization
// server that answers as it is told to.
type mocked struct {
	*shell
	server *outside.OAuth2MockServer

	mu    sync.Mutex
	last  string          // the token that was used last
	ended map[string]bool // tokens that the API takes no more
}

// newMocked connects alice, and syncs once.
func newMocked(t *testing.T) *mocked {
	t.Helper()
	m := &mocked{server: outside.OAuth2Mock(t), ended: map[string]bool{}}
	api := httptest.NewServer(m)
	t.Cleanup(api.Close)
	dir := t.TempDir()
	writeFile(t, dir, "desk.yaml", fmt.Sprintf(`base_url: %s
auth: { scheme: oauth2, auth_url: %[2]s/authorize, token_url: %[2]s/token, scopes: [read] }
streams:
  tickets: { path: /tickets, mark: updated_at }
`, api.URL, m.server.URL))
	m.shell = &shell{t, writeFile(t, dir, "syncd.yaml", fmt.Sprintf(`store: sqlite:%s
log: { format: text }
limits: { inline_wait: 0s }
providers:
  desk: { connector: ./desk.yaml, schedule: "@daily", oauth: { client_id: app, client_secret: secret } }
sources:
  - { user: alice, provider: desk }
`, filepath.Join(dir, "syncd.db")))}
	m.connect()
	m.has(m.run(0, "sync", "alice", "desk"), "1 inserted")
	return m
}

// ServeHTTP is the API.
func (m *mocked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if m.last == "" || m.ended[m.last] {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"message":"token expired"}`)
		return
	}
	fmt.Fprint(w, `[{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}]`)
}

// end has the API take the token no more that it has seen last.
func (m *mocked) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended[m.last] = true
}

// paused returns why the source is paused.
func (m *mocked) paused() string {
	m.t.Helper()
	return paused(m.shell)
}

var mockedAddress = regexp.MustCompile(`http://\S+/authorize\S+`)

// connect connects alice by a browser that follows redirects: everybody consents here.
func (m *mocked) connect() {
	m.t.Helper()
	p := start(m.t, "connect", "alice", "desk", "--no-browser", "--listen", "127.0.0.1:0", "--config", m.config)
	var address string
	p.until(time.Minute, "it shows an address", func() bool {
		address = mockedAddress.FindString(p.output())
		return address != ""
	})
	resp, err := http.Get(address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	m.has(string(page), "Connected")
	if code := p.ended(time.Minute); code != 0 {
		m.t.Fatalf("syncd connect: exit %d:\n%s", code, p.output())
	}
}

// What a server answers at its worst costs a run at most. The next good answer heals it.
func TestBadAnswersCostNoAccount(t *testing.T) {
	t.Parallel()
	m := newMocked(t)
	const html = "<!doctype html><title>Down for maintenance</title>"
	answer := func(status int, kind, body string) outside.Order {
		return outside.Order{Status: status, Type: kind, Body: body}
	}
	change := func(name string, value any) outside.Order { return outside.Order{Change: map[string]any{name: value}} }
	for _, test := range []struct {
		name  string
		order outside.Order
		said  string // in the error; "" if the run goes well
	}{
		{"503 with a page", answer(503, "text/html", html), "not available (503)"},
		{"200 with a page", answer(200, "text/html", html), "a page for people"},
		{"200 with a page that is called JSON", answer(200, "application/json", html), "a page for people"},
		{"200 with a page that is called a form", answer(200, "application/x-www-form-urlencoded", html+"?a=b"), "a page for people"},
		{"JSON that breaks off", answer(200, "application/json", `{"access_token":"a`), "the answer breaks off"},
		{"an error with 200", answer(200, "application/json", `{"error":"temporarily_unavailable"}`), "(200 temporarily_unavailable)"},
		{"an error with 200 that says nothing", answer(200, "application/json", `{"ok":false}`), "(200 unknown)"},
		{"a limit", answer(429, "application/json", `{"error":"invalid_grant"}`), "not available (429)"},
		{"invalid_grant with 500", answer(500, "application/json", `{"error":"invalid_grant"}`), "not available (500)"},
		{"the wrong client", answer(401, "application/json", `{"error":"invalid_client"}`), "registration is refused (401 invalid_client)"},
		{"an error of no OAuth", answer(400, "application/problem+json", `{"title":"Bad Request","detail":"no"}`), "not available (400)"},
		{"no access_token", change("access_token", nil), "holds no access_token"},
		{"a connection that is cut", outside.Order{Cut: true}, "no answer"},

		{"a form", answer(200, "application/x-www-form-urlencoded", "access_token=of-a-form&refresh_token=r&token_type=bearer&expires_in=3600"), ""},
		{"a form that is called text", answer(200, "text/plain; charset=utf-8", "access_token=of-a-text&refresh_token=r&token_type=bearer"), ""},
		{"no refresh_token", change("refresh_token", nil), ""},
		{"no expires_in", change("expires_in", nil), ""},
		{"expires_in null", outside.Order{Type: "application/json", Body: `{"access_token":"of-null","token_type":"Bearer","expires_in":null}`}, ""},
		{"expires_in as a text", change("expires_in", "3600"), ""},
		{"expires_in as the text of a fraction", change("expires_in", "3600.0"), ""},
		{"expires_in as a fraction", change("expires_in", 3599.5), ""},
		{"expires_in 0", change("expires_in", 0), ""},
		{"expires_in below 0", change("expires_in", -1), ""},
		{"an answer that is slow", outside.Order{Delay: 2000}, ""},
	} {
		before := m.server.Requests(t)
		m.end()
		m.server.Next(t, test.order)
		if test.said == "" {
			m.run(0, "sync", "alice", "desk")
		} else {
			m.has(m.run(1, "sync", "alice", "desk"), "refresh the token of alice desk: ", test.said)
		}
		if got := m.server.Requests(t) - before; got != 1 {
			t.Errorf("%s: %d requests for tokens, want 1", test.name, got)
		}
		// What came was good, and is good still; or the next answer is.
		want := 1
		if test.said != "" {
			want = 2
		}
		m.run(0, "sync", "alice", "desk")
		if got := m.server.Requests(t) - before; got != want {
			t.Errorf("%s: %d requests for tokens after another run, want %d", test.name, got, want)
		}
		if t.Failed() {
			t.Fatalf("%s: see above", test.name)
		}
	}

	// The server's word that the grant is no more is another thing.
	m.end()
	m.server.Next(t, answer(400, "application/json", `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`))
	m.has(m.run(1, "sync", "alice", "desk"), "alice desk must be connected again (invalid_grant)")
	if got, want := m.paused(), "auth"; got != want {
		t.Errorf("paused: got %q, want %q", got, want)
	}
	asked := m.server.Requests(t)
	m.has(m.run(1, "sync", "alice", "desk"), "alice desk must be connected again (invalid_grant)")
	if got := m.server.Requests(t); got != asked {
		t.Errorf("%d requests for tokens after that, want none", got-asked)
	}
	m.connect()
	m.run(0, "sync", "alice", "desk")
}

// A server that takes too long is given up, and asked again by the next run.
func TestAnAnswerThatNeverComes(t *testing.T) {
	t.Parallel()
	m := newMocked(t)
	m.end()
	m.server.Next(t, outside.Order{Delay: 60_000})
	m.has(m.run(1, "sync", "alice", "desk"), "no answer within 30s")
	if got := m.paused(); got != "" {
		t.Errorf("paused: %s", got)
	}
	m.run(0, "sync", "alice", "desk")
	if got, want := m.server.Requests(t), 3; got != want { // one of them to connect
		t.Errorf("%d requests for tokens, want %d", got, want)
	}
}

// While the token is good, a server that does not refresh it costs not even the run.
func TestABadAnswerWhileTheTokenIsGood(t *testing.T) {
	t.Parallel()
	m := newMocked(t)
	m.end()
	m.server.Next(t, outside.Order{Change: map[string]any{"expires_in": 30}}, outside.Order{Status: 503, Type: "text/html", Body: "<html>"})
	m.run(0, "sync", "alice", "desk")
	select {
	case <-time.After(24500 * time.Millisecond): // in its last fifth it is refreshed
	case <-t.Context().Done():
	}
	m.run(0, "sync", "alice", "desk")
	if got, want := m.server.Requests(t), 3; got != want {
		t.Errorf("%d requests for tokens, want %d: the last came to nothing", got, want)
	}
	m.run(0, "sync", "alice", "desk")
	if got, want := m.server.Requests(t), 4; got != want {
		t.Errorf("%d requests for tokens, want %d", got, want)
	}
}
