package cli

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/vault"
)

// A desk is a provider with an authorization server whose refresh tokens can
// be used once.
type desk struct {
	*httptest.Server
	mu      sync.Mutex
	n       int    // tokens granted
	code    string // challenge of the code that was given out
	denies  bool   // no refresh token is good any more
	expires int    // what a token's expires_in is
	revoked []string
	pending int  // device polls before consent
	who     int  // who consents: the account's id
	echoes  bool // all that is asked for, but consent, is answered with what was sent
	echoed  int
	visited func() // when a browser comes for consent; nil is allowed
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{expires: 3600}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if d.echoes && r.URL.Path != "/authorize" {
		d.echo(w, r)
		return
	}
	switch r.URL.Path {
	case "/authorize":
		q := r.URL.Query()
		if q.Get("client_id") != "app" || q.Get("scope") != "read" || q.Get("code_challenge_method") != "S256" || q.Get("access_type") != "offline" {
			http.Error(w, "a bad request for consent: "+r.URL.RawQuery, 400)
			return
		}
		d.code = q.Get("code_challenge")
		if d.visited != nil {
			d.visited()
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"state": {q.Get("state")}, "code": {"C1"}}.Encode(), http.StatusFound)
	case "/token":
		d.token(w, r)
	case "/device":
		fmt.Fprintf(w, `{"device_code":"D1","user_code":"ABCD-EFGH","verification_uri":%q,"expires_in":600,"interval":1}`, d.URL+"/enter")
	case "/revoke":
		d.revoked = append(d.revoked, r.FormValue("token"))
	case "/me": // the number of the one who has connected
		fmt.Fprintf(w, `{"id": %d}`, d.who)
	case "/forbidden":
		w.WriteHeader(403)
	case "/door":
		if user, password, _ := r.BasicAuth(); user != "alice" || password != "canary-password" {
			w.WriteHeader(401)
			return
		}
		fmt.Fprint(w, `[{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}]`)
	case "/secrets":
		if r.Header.Get("X-Key") != "canary-key" {
			w.WriteHeader(401)
			return
		}
		fmt.Fprint(w, `[{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}]`)
	case "/tickets":
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer canary-access-%d", d.n) {
			w.WriteHeader(401)
			fmt.Fprint(w, `{"message":"token expired"}`)
			return
		}
		fmt.Fprint(w, `[{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}]`)
	default:
		http.NotFound(w, r)
	}
}

func (d *desk) token(w http.ResponseWriter, r *http.Request) {
	good := false
	switch r.FormValue("grant_type") {
	case "authorization_code":
		good = r.FormValue("code") == "C1" && r.FormValue("code_verifier") != "" && d.code != ""
		d.code = ""
	case "refresh_token":
		good = !d.denies && r.FormValue("refresh_token") == fmt.Sprintf("canary-refresh-%d", d.n)
	case "client_credentials":
		good = true
	case "urn:ietf:params:oauth:grant-type:device_code":
		if d.pending--; d.pending >= 0 {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":"authorization_pending"}`)
			return
		}
		good = r.FormValue("device_code") == "D1"
	}
	if r.FormValue("client_secret") != "canary-client" {
		w.WriteHeader(401)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	}
	if !good {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	d.n++
	fmt.Fprintf(w, `{"access_token":"canary-access-%[1]d","refresh_token":"canary-refresh-%[1]d","expires_in":%[2]d,"token_type":"Bearer"}`, d.n, d.expires)
}

// configure writes a configuration for the desk and returns the folder.
func (d *desk) configure(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"desk.yaml": `base_url: ` + d.URL + `
auth:
  scheme: oauth2
  auth_url: ` + d.URL + `/authorize
  token_url: ` + d.URL + `/token
  device_url: ` + d.URL + `/device
  revoke_url: ` + d.URL + `/revoke
  scopes: [read]
  params: { access_type: offline }
streams:
  tickets: { path: /tickets, mark: updated_at }
account: { path: /me, id: body.id }
`,
		"syncd.yaml": `store: sqlite:syncd.db
providers:
  desk:
    connector: ./desk.yaml
    schedule: "@daily"
    oauth: { client_id: app, client_secret: canary-client }
sources:
  - { user: alice, provider: desk }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A terminal collects what a command says, and lets a test wait for a part of it.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func newTerminal() *terminal { return &terminal{news: make(chan struct{}, 1)} }

func (o *terminal) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *terminal) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits for what a pattern matches.
func (o *terminal) await(t *testing.T, pattern string) string {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if m := regexp.MustCompile(pattern).FindString(o.String()); m != "" {
			return m
		}
		select {
		case <-o.news:
		case <-deadline:
			t.Fatalf("no %s in\n%s", pattern, o)
		}
	}
}

// connect connects alice through a browser that follows redirects, and returns
// what the terminal and the browser show.
func (d *desk) connect(t *testing.T, dir string) (said, shown string, code int) {
	t.Helper()
	out := newTerminal()
	done := make(chan int)
	go func() {
		done <- Run(t.Context(), connectors.All, []string{"connect", "alice", "desk", "--no-browser", "--listen", "127.0.0.1:0", "--config", filepath.Join(dir, "syncd.yaml")},
			Streams{strings.NewReader(""), out, out})
	}()
	address := out.await(t, `http://\S+/authorize\S+`)
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the page lets the code out in a Referer")
	}
	code = <-done
	return out.String(), string(page), code
}

// The whole life of a connected account.
func TestConnect(t *testing.T) {
	d := newDesk(t)
	dir := d.configure(t)
	file := filepath.Join(dir, "syncd.yaml")
	var everything strings.Builder
	run := func(code int, args ...string) string {
		t.Helper()
		out := syncdIn(t, code, append(args, "--config", file)...)
		everything.WriteString(out)
		return out
	}
	// Before: the source can't run, and says what to do.
	contains(t, run(exitFailed, "sync", "alice", "desk"), "alice desk must be connected again (it is not connected): syncd connect alice desk")
	contains(t, run(exitDone, "sources", "list"), "auth")

	said, page, code := d.connect(t, dir)
	everything.WriteString(said + page)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	contains(t, said, "connected alice desk")
	contains(t, page, "Connected", "The account at desk is connected")
	contains(t, run(exitDone, "sync", "alice", "desk"), "1 inserted")
	contains(t, run(exitDone, "keys", "list"), "seals", "1 credential")
	contains(t, run(exitDone, "connectors", "try", "alice", "desk"), "1 record")

	// The provider takes the access token back: it is refreshed, once.
	d.mu.Lock()
	granted := d.n
	d.n++ // canary-access-1 is no longer good
	d.mu.Unlock()
	contains(t, run(exitFailed, "sync", "alice", "desk"), "must be connected again (invalid_grant)") // for canary-refresh-1 is not, either
	d.mu.Lock()
	d.n = granted
	d.mu.Unlock()
	contains(t, run(exitFailed, "sync", "alice", "desk"), "must be connected again")
	contains(t, run(exitDone, "sources", "list"), "auth")

	// Connected again, it goes on, and is refreshed when its time has come.
	d.expires = 0
	if said, _, code := d.connect(t, dir); code != exitDone {
		t.Fatal(said)
	}
	contains(t, run(exitDone, "sources", "list"), "alice")
	contains(t, run(exitDone, "sync", "alice", "desk"), "1 unchanged")

	// Keys: a new one, everything sealed anew, the old one needed no more.
	t.Setenv("SYNCD_KEYS", "") // is not set, for all that
	run(exitDone, "keys", "add")
	contains(t, run(exitDone, "keys", "rotate"), "sealed 1 credential anew")
	contains(t, run(exitDone, "keys", "list"), "seals", "1 credential", "is no longer needed")
	keys := filepath.Join(dir, "syncd.keys")
	if err := os.Rename(keys, keys+".away"); err != nil {
		t.Fatal(err)
	}
	contains(t, run(exitFailed, "sync", "alice", "desk"), "the keys are gone", "syncd.keys is not there")
	if exists(keys) {
		t.Error("a new file of keys was made, though the database has sealed credentials")
	}
	t.Setenv("SYNCD_KEYS", "other:"+strings.Repeat("A", 43)+"=")
	contains(t, run(exitFailed, "sync", "alice", "desk"), "the key is not there")
	t.Setenv("SYNCD_KEYS", "")
	if err := os.Rename(keys+".away", keys); err != nil {
		t.Fatal(err)
	}

	contains(t, run(exitDone, "disconnect", "alice", "desk"), "the provider was told")
	if want := fmt.Sprintf("canary-refresh-%d", d.n); len(d.revoked) != 1 || d.revoked[0] != want {
		t.Errorf("revoked %q, want %s", d.revoked, want)
	}
	contains(t, run(exitDone, "disconnect", "alice", "desk"), "it was not connected")
	contains(t, run(exitFailed, "sync", "alice", "desk"), "must be connected again (it is not connected)")

	// No secret is in what was said, or anywhere in the folder but the configuration.
	searchFor(t, "canary", everything.String(), dir)
}

// searchFor fails where a text is in what was said or in a file of a folder.
func searchFor(t *testing.T, canary, said, dir string) {
	t.Helper()
	if i := strings.Index(said, canary); i >= 0 {
		t.Errorf("said: ...%s", said[max(0, i-100):min(len(said), i+40)])
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "syncd.yaml") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds a secret", file)
		}
	}
}

func TestConnectByDevice(t *testing.T) {
	d := newDesk(t)
	d.pending = 1
	dir := d.configure(t)
	file := filepath.Join(dir, "syncd.yaml")
	contains(t, syncdIn(t, exitDone, "connect", "alice", "desk", "--device", "--config", file), "/enter on any device, and enter the code ABCD-EFGH", "connected alice desk")
	contains(t, syncdIn(t, exitDone, "sync", "alice", "desk", "--config", file), "1 inserted")
}

// A browser that comes back with another attempt's state, or with a refusal.
func TestConnectCallback(t *testing.T) {
	c := newCallback("desk")
	ask := func(query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/callback?"+query, nil))
		return w
	}
	for _, query := range []string{"", "code=C1", "state=wrong&code=C1", "state=&code=C1"} {
		if w := ask(query); w.Code != 400 || !strings.Contains(w.Body.String(), "not the answer that is waited for") {
			t.Errorf("%s: got %d %s", query, w.Code, w.Body)
		}
	}
	go func() {
		a := <-c.answers
		_, err := a.token(t.Context(), nil, c, secretOf("v"))
		a.told <- err
	}()
	if w := ask("state=" + c.state + "&error=<b>access_denied"); w.Code != 502 || !strings.Contains(w.Body.String(), "&lt;b&gt;access_denied") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestConnectRefused(t *testing.T) {
	d := newDesk(t)
	dir := d.configure(t)
	file := filepath.Join(dir, "syncd.yaml")
	contains(t, syncdIn(t, exitFailed, "connect", "bob", "desk", "--config", file), "there is no source bob desk")
	for _, listen := range []string{":8401", "0.0.0.0:0", "192.0.2.1:8401", "example.com:8401"} {
		contains(t, syncdIn(t, exitUsage, "connect", "alice", "desk", "--listen", listen, "--config", file), "--listen "+listen+": write it as 127.0.0.1:PORT")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.Replace(text, old, "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("-client", string(text))
	said, page, code := d.connect(t, dir)
	if code != exitFailed || !strings.Contains(said, "the app's registration is refused (401 invalid_client)") || !strings.Contains(page, "not connected") {
		t.Errorf("exit code %d: %s %s", code, said, page)
	}
	// Without a registration, the source needs one or a token.
	change("    oauth: { client_id: app, client_secret: canary-client }\n", string(text))
	contains(t, syncdIn(t, exitUsage, "check", "--config", file), "write oauth: { client_id: ..., client_secret: ... } under the provider desk and run syncd connect")
}

func secretOf(text string) vault.Secret { return vault.NewSecret(text) }

// The browser is told that the account is connected when its tokens are stored.
func TestConnectThatCannotBeStored(t *testing.T) {
	d := newDesk(t)
	dir := d.configure(t)
	d.visited = func() {
		db, err := sql.Open("sqlite", filepath.Join(dir, "syncd.db"))
		if err != nil {
			t.Error(err)
			return
		}
		defer db.Close()
		if _, err := db.Exec("DROP TABLE credentials"); err != nil {
			t.Error(err)
		}
	}
	said, page, code := d.connect(t, dir)
	if code != exitFailed || !strings.Contains(said, "credentials") || !strings.Contains(page, "not connected") {
		t.Errorf("exit code %d: %s %s", code, said, page)
	}
}

// Tokens that were granted to another application are not sent to be revoked.
func TestDisconnectElsewhere(t *testing.T) {
	d := newDesk(t)
	dir := d.configure(t)
	file := filepath.Join(dir, "syncd.yaml")
	if said, _, code := d.connect(t, dir); code != exitDone {
		t.Fatal(said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "client_id: app", "client_id: other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, syncdIn(t, exitDone, "disconnect", "alice", "desk", "--config", file), "its tokens are deleted", "were granted for another server or application")
	if len(d.revoked) > 0 {
		t.Errorf("revoked %q", d.revoked)
	}
}

// A source that has a token in the configuration does not stop with the account
// that was connected before.
func TestDisconnectBesideAToken(t *testing.T) {
	d := newDesk(t)
	dir := d.configure(t)
	file := filepath.Join(dir, "syncd.yaml")
	if said, _, code := d.connect(t, dir); code != exitDone {
		t.Fatal(said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "provider: desk }", "provider: desk, credentials: { token: canary-access-1 } }", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, syncdIn(t, exitDone, "disconnect", "alice", "desk", "--config", file), "the provider was told")
	if list := syncdIn(t, exitDone, "sources", "list", "--config", file); strings.Contains(list, "auth") {
		t.Errorf("it is paused:\n%s", list)
	}
}

// A run that ends after its account was connected again does not pause it.
func TestConnectedAgainBeforeTheRunEnds(t *testing.T) {
	s := memory.New(nil)
	f := newFleet(s, slog.New(slog.DiscardHandler))
	keys, err := vault.ParseKeys("k:" + strings.Repeat("A", 43) + "=")
	if err != nil {
		t.Fatal(err)
	}
	f.book = &account.Book{Store: s, Keys: keys, Owner: "test"}
	alice := store.Key{User: "alice", Provider: "desk"}
	now := time.Now()
	if _, err := s.Apply(t.Context(), []store.Spec{{Key: alice, Connector: "desk", Schedule: "@daily", NextAt: now, SpreadAt: now}}); err != nil {
		t.Fatal(err)
	}
	_, ended := f.book.Session(alice, nil, account.Terms{Bound: "here"}).Token(t.Context())
	for _, c := range []struct {
		bound string // where alice is connected then
		want  int    // reasons of the pause
	}{{"", 1}, {"elsewhere", 1}, {"here", 0}} {
		if c.bound != "" {
			if err := f.book.Save(t.Context(), alice, account.Connection{Token: oauth.Token{Access: secretOf("canary-access-1")}}, account.Terms{Bound: c.bound}); err != nil {
				t.Fatal(err)
			}
		}
		f.needsUser(t.Context(), ended)
		all, err := s.Sources(t.Context(), store.SourceFilter{})
		if err != nil || len(all) != 1 || len(all[0].Paused) != c.want {
			t.Errorf("connected %q: got %+v, %v", c.bound, all, err)
		}
	}
}
