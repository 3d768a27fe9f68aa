package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/sqlite"
	"github.com/syncdhq/syncd/internal/web"
)

// apiToken is that of the tests' application.
const apiToken = "canary-application-token"

// A host is a daemon's API in front of a desk, as an application and as a
// browser see it.
type host struct {
	*testing.T
	desk  *desk
	dir   string
	fleet *fleet
	store store.Store
	url   string
	log   *terminal
}

// newHost serves the API of a fleet with the providers desk (OAuth) and vault
// (an API key), and no sources.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, desk: newDesk(t), log: newTerminal()}
	h.dir = h.desk.configure(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.configure("")
	cfg := h.load()
	s, err := sqlite.Open(t.Context(), filepath.Join(h.dir, "syncd.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.store = s
	h.fleet = newFleet(s, slog.New(slog.NewTextHandler(h.log, nil)))
	t.Cleanup(h.fleet.close)
	a := &app{env: func(string) (string, bool) { return "", false }}
	if err := h.fleet.openAccounts(t.Context(), a, cfg); err != nil {
		t.Fatal(err)
	}
	if err := h.fleet.use(cfg); err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", web.Handler(func(context.Context) error { return nil }, h.fleet.api()))
	return h
}

// configure writes the configuration, with sources of its own.
func (h *host) configure(sources string) {
	h.Helper()
	text := `store: sqlite:syncd.db
listen: 127.0.0.1:0
api: { url: "` + h.url + `", tokens: [` + apiToken + `], return_to: ["http://127.0.0.1:9"] }
providers:
  desk:
    connector: ./desk.yaml
    schedule: "@daily"
    oauth: { client_id: app, client_secret: canary-client }
  safe:
    connector: ./safe.yaml
    schedule: "@daily"
  door:
    connector: ./door.yaml
    schedule: "@daily"
  sample: { connector: sample, schedule: "@daily", options: { size: 20, faults: false } }
  news: { connector: hacker_news, schedule: "@daily" }
  feed: { connector: csv, schedule: "@daily", options: { path: a.csv, key: [id] } }
sources: [` + sources + "]\n"
	for name, text := range map[string]string{
		"syncd.yaml": text,
		"door.yaml": `base_url: ` + h.desk.URL + `
auth: { scheme: basic }
account: { path: /forbidden, id: body.id }
streams:
  doors: { path: /door, mark: updated_at }
`,
		"safe.yaml": `base_url: ` + h.desk.URL + `
auth: { scheme: header, name: X-Key }
streams:
  secrets: { path: /secrets, mark: updated_at }
`,
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *host) load() *config.Config {
	h.Helper()
	all, err := config.Expand(connectors.All)
	if err != nil {
		h.Fatal(err)
	}
	cfg, err := config.Load(filepath.Join(h.dir, "syncd.yaml"), all, nil)
	if err != nil {
		h.Fatal(err)
	}
	return cfg
}

// A reply is what the API said.
type reply struct {
	status int
	header http.Header
	body   string
	field  map[string]any
}

// ask sends a call of the application. Pairs after the body are headers.
func (h *host) ask(method, path, body string, headers ...string) reply {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(text)}
	_ = json.Unmarshal(text, &r.field) // where it is an object
	h.described(method, req.URL.EscapedPath(), r)
	if strings.Contains(r.body, "canary") {
		h.Errorf("%s %s: the answer shows a secret: %s", method, path, r.body)
	}
	return r
}

// described fails the test if an answer is not as the API's description says.
func (h *host) described(method, path string, r reply) {
	h.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(h.description()))
	if err != nil {
		h.Fatal(err)
	}
	at := ""
	for template := range doc.(map[string]any)["paths"].(map[string]any) {
		pattern := strings.NewReplacer(`\{user\}`, "[^/]+", `\{provider\}`, "[^/]+", `\{id\}`, "[^/]+").Replace(regexp.QuoteMeta(template))
		if regexp.MustCompile("^" + pattern + "$").MatchString(path) {
			at = template
		}
	}
	if at == "" || len(r.body) == 0 || r.header.Get("Content-Type") == "application/x-ndjson" {
		return
	}
	at = "openapi.json#/paths/" + strings.ReplaceAll(at, "/", "~1") + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(r.status) + "/content/application~1json/schema"
	if r.status >= 400 {
		at = "openapi.json#/components/schemas/Problem"
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		h.Fatal(err)
	}
	schema, err := c.Compile(at)
	if err != nil {
		h.Fatalf("%s %s: an answer of %d is not described: %v", method, path, r.status, err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		h.Errorf("%s %s: %d %s: %v", method, path, r.status, r.body, err)
	}
}

// description is what the API says of itself.
func (h *host) description() []byte {
	h.Helper()
	resp, err := http.Get(h.url + "/v1/openapi.json")
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return text
}

// want fails the test if a reply has another status, or lacks a text.
func (h *host) want(r reply, status int, texts ...string) reply {
	h.Helper()
	if r.status != status {
		h.Fatalf("got %d %s, want %d", r.status, r.body, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			h.Errorf("got %s, want %s in it", r.body, text)
		}
	}
	return r
}

func (h *host) source(user, provider string) store.Source {
	h.Helper()
	row, err := oneSource(h.Context(), h.store, store.Key{User: user, Provider: provider})
	if err != nil {
		h.Fatal(err)
	}
	return row
}

func TestAPIAsksWho(t *testing.T) {
	h := newHost(t)
	for name, header := range map[string]string{
		"another token": "Bearer canary-application-tokem", "no token": "", "no scheme": apiToken, "basic": "Basic " + apiToken, "a part": "Bearer canary",
	} {
		r := h.want(h.ask("GET", "/v1/sources", "", "Authorization", header), 401, "unauthorized")
		if r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	h.want(h.ask("GET", "/v1/sources", "", "Authorization", "bearer "+apiToken), 200, `"items":[]`)
	h.want(h.ask("GET", "/v1/nothing", ""), 404, "no_such_call")
	if r := h.want(h.ask("PATCH", "/v1/sources", ""), 405, "no_such_call"); r.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", r.header.Get("Allow"))
	}
	h.want(h.ask("POST", "/v1/sources", "{}", "Content-Type", "text/plain"), 415, "not_json")
	h.want(h.ask("GET", "/v1/openapi.json", "", "Authorization", ""), 200, `"openapi"`)
}

func TestAPISources(t *testing.T) {
	h := newHost(t)
	r := h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"sample","options":{"size":30},"schedule":"@every 5m"}`), 201, `"added":true`, `"paused":[]`, "@every 5m")
	if h.source("alice", "sample").Declared == "" || r.field["due_at"] == nil {
		t.Errorf("stored %+v", h.source("alice", "sample"))
	}
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"sample"}`), 200, `"schedule":"@daily`)
	odd := "a/b ü\"?%"
	body, err := json.Marshal(map[string]string{"user": odd, "provider": "sample@work"})
	if err != nil {
		t.Fatal(err)
	}
	h.want(h.ask("POST", "/v1/sources", string(body)), 201)
	path := "/v1/sources/" + url.PathEscape(odd) + "/sample@work"
	h.want(h.ask("GET", path, ""), 200, `"provider":"sample@work"`)
	h.want(h.ask("POST", path+"/pause", `{"reason":"migration"}`), 200, `"paused":["migration"]`)
	h.want(h.ask("POST", path+"/pause", ""), 200, `"paused":["migration","operator"]`)
	h.want(h.ask("POST", path+"/resume", ""), 200, `"paused":["migration"]`)
	h.want(h.ask("POST", path+"/resume", `{"reason":"migration"}`), 200, `"paused":[]`)
	h.want(h.ask("POST", path+"/sync", ""), 202)
	h.want(h.ask("DELETE", path, ""), 200, "its records and its run log stay")
	h.want(h.ask("GET", path, ""), 404, "no_such_source")
	h.want(h.ask("DELETE", path, ""), 404, "no_such_source")

	for i := range 5 {
		h.want(h.ask("POST", "/v1/sources", fmt.Sprintf(`{"user":"u%d","provider":"sample"}`, i)), 201)
	}
	var users []string
	for next := ""; ; {
		r := h.want(h.ask("GET", "/v1/sources?limit=2&after="+next, ""), 200)
		for _, item := range r.field["items"].([]any) {
			users = append(users, item.(map[string]any)["user"].(string))
		}
		if next, _ = r.field["next"].(string); next == "" {
			break
		}
	}
	if got := strings.Join(users, " "); got != "alice u0 u1 u2 u3 u4" {
		t.Errorf("paged: %s", got)
	}
}

// What is wrong with a request is said, with its place and without a trace.
func TestAPIRefuses(t *testing.T) {
	h := newHost(t)
	h.configure(`{ user: bob, provider: sample }`)
	if err := h.fleet.use(h.load()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"no JSON":               {"POST", "/v1/sources", `{`, 400, "not JSON"},
		"nothing":               {"POST", "/v1/sources", ``, 400, "there is no body"},
		"a list":                {"POST", "/v1/sources", `[]`, 422, "the body"},
		"no user":               {"POST", "/v1/sources", `{"provider":"sample"}`, 422, "missing property 'user'"},
		"an unknown key":        {"POST", "/v1/sources", `{"user":"a","provider":"sample","shedule":"x"}`, 422, "additional properties 'shedule' not allowed"},
		"another type":          {"POST", "/v1/sources", `{"user":1,"provider":"sample"}`, 422, "the body/user"},
		"an unknown provider":   {"POST", "/v1/sources", `{"user":"a","provider":"sampel"}`, 422, "did you mean sample"},
		"an unknown option":     {"POST", "/v1/sources", `{"user":"a","provider":"sample","options":{"sise":1}}`, 422, "did you mean size"},
		"a file":                {"POST", "/v1/sources", `{"user":"a","provider":"feed","options":{"path":"/etc/passwd"}}`, 422, "reads files of this machine"},
		"a wrong schedule":      {"POST", "/v1/sources", `{"user":"a","provider":"sample","schedule":"0 0 30 2 *"}`, 422, "never"},
		"in the configuration":  {"POST", "/v1/sources", `{"user":"bob","provider":"sample"}`, 409, "source_configured"},
		"removed there":         {"DELETE", "/v1/sources/bob/sample", ``, 409, "source_configured"},
		"keys nobody takes":     {"POST", "/v1/sources", `{"user":"a","provider":"feed","credentials":{"token":"canary"}}`, 422, "do not give a token"},
		"other keys":            {"POST", "/v1/sources", `{"user":"a","provider":"safe","credentials":{"username":"canary","password":"canary"}}`, 422, "do not give a"},
		"a key with a break":    {"POST", "/v1/sources", `{"user":"a","provider":"safe","credentials":{"token":"canary\n"}}`, 422, "white space"},
		"an unknown parameter":  {"GET", "/v1/sources?usr=a", ``, 400, "usr"},
		"a parameter twice":     {"GET", "/v1/sources?user=a&user=b", ``, 400, "twice"},
		"bytes in the path":     {"GET", "/v1/sources/%FF/sample", ``, 400, "no text"},
		"a NUL in the path":     {"POST", "/v1/sources/a%00/sample/sync", ``, 400, "no text"},
		"a NUL in a parameter":  {"GET", "/v1/sources?user=%00", ``, 400, "no text"},
		"a user of NUL":         {"POST", "/v1/sources", `{"user":"a\u0000","provider":"sample"}`, 422, "control character"},
		"half a pair":           {"POST", "/v1/sources", `{"user":"a\ud800","provider":"sample"}`, 422, "not UTF-8"},
		"bytes to erase":        {"DELETE", "/v1/users/%FF", ``, 400, "no text"},
		"bytes to export":       {"GET", "/v1/users/%FF/export", ``, 400, "no text"},
		"a limit":               {"GET", "/v1/sources?limit=0", ``, 400, "limit"},
		"no number":             {"GET", "/v1/sources?limit=x", ``, 400, "whole number"},
		"a place of none":       {"GET", "/v1/sources?after=xyz", ``, 400, "after"},
		"a body that is not":    {"POST", "/v1/sources/bob/sample/sync", `{}`, 400, "takes none"},
		"a wrong reason":        {"POST", "/v1/sources/bob/sample/pause", `{"reason":"A B"}`, 422, "reason"},
		"the file's reason":     {"POST", "/v1/sources/bob/sample/pause", `{"reason":"removed"}`, 422, "configuration"},
		"nothing to confirm":    {"POST", "/v1/sources/alice/sample/confirm", `{"records":"keep"}`, 404, "no_such_source"},
		"what to do with them":  {"POST", "/v1/sources/alice/sample/confirm", `{"records":"drop"}`, 422, "records"},
		"nothing to connect":    {"POST", "/v1/connect-sessions", `{"user":"a","provider":"news"}`, 409, "nothing_to_connect"},
		"back to anywhere":      {"POST", "/v1/connect-sessions", `{"user":"a","provider":"desk","return_to":"https://evil.test/"}`, 422, "return_to"},
		"back to a script":      {"POST", "/v1/connect-sessions", `{"user":"a","provider":"desk","return_to":"javascript:alert(1)"}`, 422, "return_to"},
		"back to a name in one": {"POST", "/v1/connect-sessions", `{"user":"a","provider":"desk","return_to":"http://127.0.0.1:9@evil.test/"}`, 422, "return_to"},
		"an unknown session":    {"GET", "/v1/connect-sessions/x", ``, 404, "no_such_session"},
		"before nothing":        {"GET", "/v1/events?before=x", ``, 400, "before"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *h
			sub.T = t
			sub.want(sub.ask(c.method, c.path, c.body), c.status, c.want)
		})
	}
	h.want(h.ask("POST", "/v1/sources", `{"user":"`+strings.Repeat("x", 2<<20)+`"}`), 413, "too_large")
	rows, err := h.store.Sources(t.Context(), store.SourceFilter{})
	if err != nil || len(rows) > 0 {
		t.Errorf("left behind: %+v, %v", rows, err)
	}
}

// A request that is sent again is done once, and answered as before.
func TestAPIOnce(t *testing.T) {
	h := newHost(t)
	const body = `{"user":"alice","provider":"sample"}`
	first := h.want(h.ask("POST", "/v1/sources", body, "Idempotency-Key", "k1"), 201)
	h.want(h.ask("DELETE", "/v1/sources/alice/sample", ""), 200)
	again := h.want(h.ask("POST", "/v1/sources", body, "Idempotency-Key", "k1"), 201)
	if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("again: %v %s, first %s", again.header, again.body, first.body)
	}
	h.want(h.ask("GET", "/v1/sources/alice/sample", ""), 404)
	h.want(h.ask("POST", "/v1/sources", `{"user":"bob","provider":"sample"}`, "Idempotency-Key", "k1"), 422, "idempotency_key_reused")
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"x"}`, "Idempotency-Key", "k2"), 422, "invalid")
	if r := h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"x"}`, "Idempotency-Key", "k2"), 422, "invalid"); r.header.Get("Idempotent-Replayed") != "" {
		t.Log("a refusal is replayed")
	}
	one := h.want(h.ask("POST", "/v1/connect-sessions", `{"user":"alice","provider":"desk"}`, "Idempotency-Key", "k3"), 201, "/connect/")
	two := h.want(h.ask("POST", "/v1/connect-sessions", `{"user":"alice","provider":"desk"}`, "Idempotency-Key", "k3"), 201)
	if one.field["link"] != two.field["link"] || one.field["id"] != two.field["id"] {
		t.Errorf("two sessions: %s and %s", one.body, two.body)
	}
	created := make(chan int, 10)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			created <- h.ask("POST", "/v1/sources", `{"user":"carol","provider":"sample"}`, "Idempotency-Key", "k4").status
		})
	}
	all.Wait()
	close(created)
	for status := range created {
		if status != 201 && status != 409 {
			t.Errorf("at once: %d", status)
		}
	}
}

// An API key is tried before it is kept, and shows nowhere.
func TestAPIGivesKeys(t *testing.T) {
	h := newHost(t)
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"safe"}`), 201, `"paused":["auth"]`)
	h.want(h.ask("PUT", "/v1/sources/alice/safe/credentials", `{"token":"canary-wrong-key"}`), 422, "refused")
	if _, err := h.store.Credential(t.Context(), store.Key{User: "alice", Provider: "safe"}); err == nil {
		t.Error("a key that was refused is kept")
	}
	h.want(h.ask("PUT", "/v1/sources/alice/safe/credentials", `{"token":"canary-key"}`), 200, `"paused":[]`)
	h.want(h.ask("GET", "/v1/events?user=alice", ""), 200, `"kind":"connected"`)
	h.want(h.ask("POST", "/v1/sources/alice/safe/disconnect", ""), 200, "its key is deleted")
	h.want(h.ask("GET", "/v1/sources/alice/safe", ""), 200, `"paused":["auth"]`)
	h.want(h.ask("POST", "/v1/sources", `{"user":"bob","provider":"safe","credentials":{"token":"canary-key"}}`), 201, `"paused":[]`)
	h.want(h.ask("DELETE", "/v1/sources/bob/safe?records=purge", ""), 200, "its key is deleted", "its records are deleted")
}

// A name and a password are tried and kept as an API key is.
func TestAPIGivesAPassword(t *testing.T) {
	h := newHost(t)
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"door","credentials":{"username":"alice"}}`), 422, "the password is missing")
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"door","credentials":{"username":"alice","password":"canary-wrong"}}`), 422, "refused")
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"door","credentials":{"username":"alice","password":"canary-password"}}`), 201, `"paused":[]`)
	if r := h.sync()[store.Key{User: "alice", Provider: "door"}]; r.State != store.Done {
		t.Errorf("run %+v", r)
	}
	// The provider tells this user not whose account it is. Where that is known, it
	// may be another.
	key := store.Key{User: "alice", Provider: "door"}
	if err := h.store.SetAccount(t.Context(), key, "7"); err != nil {
		t.Fatal(err)
	}
	h.want(h.ask("PUT", "/v1/sources/alice/door/credentials", `{"username":"alice","password":"canary-password"}`), 409, "account_changed")
	h.want(h.ask("GET", "/v1/sources/alice/door", ""), 200, `"paused":["account_changed"]`)
	h.want(h.ask("POST", "/v1/sources/alice/door/confirm", `{"records":"keep"}`), 200, `"paused":[]`)
	_, link := h.begin(`{"user":"bob","provider":"door"}`)
	b := browser(t)
	if _, _, page := h.visit(b, "GET", link, ""); !strings.Contains(page, `name="username"`) || !strings.Contains(page, `name="password"`) {
		t.Errorf("page %s", page)
	}
	if status, _, page := h.visit(b, "POST", link, "username=alice&password=canary-password"); status != 200 || !strings.Contains(page, "Your account at door is connected") {
		t.Errorf("%d %s", status, page)
	}
}

// Master keys that are missing are the operator's trouble, and not the caller's.
func TestAPIWithoutKeys(t *testing.T) {
	h := newHost(t)
	h.fleet.book = nil
	h.fleet.openBook = func(context.Context) (*account.Book, error) {
		return nil, usageError{errors.New("canary-path has no keys")}
	}
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"safe","credentials":{"token":"canary-key"}}`), 500, "internal")
	h.want(h.ask("POST", "/v1/connect-sessions", `{"user":"alice","provider":"safe"}`), 500, "internal")
	if rows, err := h.store.Sources(t.Context(), store.SourceFilter{}); err != nil || len(rows) > 0 {
		t.Errorf("left behind: %v, %v", rows, err)
	}
	if !strings.Contains(h.log.String(), "has no keys") {
		t.Errorf("log %s", h.log.String())
	}
}

// browser is a user's, which follows no redirect by itself.
func browser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit makes a request as a browser, and returns where it leads and what it shows.
func (h *host) visit(b *http.Client, method, address, form string) (status int, to, page string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, address, strings.NewReader(form))
	if err != nil {
		h.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := b.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	if strings.HasPrefix(address, h.url) && resp.Header.Get("Referrer-Policy") != "no-referrer" {
		h.Errorf("%s: Referrer-Policy %q", address, resp.Header.Get("Referrer-Policy"))
	}
	if strings.Contains(string(text), "canary") {
		h.Errorf("%s shows a secret: %s", address, text)
	}
	to = resp.Header.Get("Location")
	if m := regexp.MustCompile(`http-equiv="refresh" content="0;url=([^"]+)"`).FindSubmatch(text); m != nil {
		to = html.UnescapeString(string(m[1]))
	}
	return resp.StatusCode, to, string(text)
}

// begin makes a session and returns it and its link.
func (h *host) begin(body string) (id, link string) {
	h.Helper()
	r := h.want(h.ask("POST", "/v1/connect-sessions", body), 201, `"status":"open"`)
	return r.field["id"].(string), r.field["link"].(string)
}

func TestConnectSession(t *testing.T) {
	h := newHost(t)
	id, link := h.begin(`{"user":"alice","provider":"desk","schedule":"@every 7m","return_to":"http://127.0.0.1:9/settings?tab=1"}`)
	b := browser(t)
	status, _, page := h.visit(b, "GET", link, "")
	if status != 200 || !strings.Contains(page, "Continue to desk") || !strings.Contains(page, `method="post"`) {
		t.Fatalf("%d %s", status, page)
	}
	h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200, `"status":"open"`)
	status, consent, _ := h.visit(b, "POST", link, "")
	if status != 200 || !strings.HasPrefix(consent, h.desk.URL+"/authorize?") || strings.Contains(consent, "canary") {
		t.Fatalf("%d to %s", status, consent)
	}
	h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200, `"status":"asked"`)
	_, back, _ := h.visit(b, "GET", consent, "")
	if !strings.HasPrefix(back, h.url+"/connect/callback?") {
		t.Fatalf("back to %s", back)
	}
	// Somebody else who has the address of the way back has nothing.
	if status, _, page := h.visit(browser(t), "GET", back, ""); status != 404 || !strings.Contains(page, "not the answer that is waited for") {
		t.Errorf("another browser: %d %s", status, page)
	}
	status, to, _ := h.visit(b, "GET", back, "")
	if want := "http://127.0.0.1:9/settings?syncd_session=" + id + "&syncd_status=connected&tab=1"; status != 200 || to != want {
		t.Errorf("%d to %s, want %s", status, to, want)
	}
	h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200, `"status":"connected"`)
	src := h.source("alice", "desk")
	if !strings.HasPrefix(src.Schedule, "@every 7m") || len(src.Paused) > 0 || src.Declared == "" {
		t.Errorf("source %+v", src)
	}
	now, err := h.store.Now(t.Context())
	if err != nil || src.DueAt.After(now) {
		t.Errorf("due %s, now %s, %v", src.DueAt, now, err)
	}
	if status, _, _ := h.visit(b, "GET", back, ""); status != 404 {
		t.Errorf("the way back is good twice: %d", status)
	}
	if _, _, page := h.visit(b, "GET", link, ""); !strings.Contains(page, "Connected") || !strings.Contains(page, "Back to the application") {
		t.Errorf("the link after the end: %s", page)
	}
	if log := h.log.String(); strings.Contains(log, "canary") || strings.Contains(log, link) {
		t.Errorf("the log shows a secret: %s", log)
	}
}

func TestConnectSessionRefused(t *testing.T) {
	h := newHost(t)
	id, link := h.begin(`{"user":"alice","provider":"desk"}`)
	b := browser(t)
	// A page of another site can't press the button.
	req, err := http.NewRequestWithContext(t.Context(), "POST", link, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if resp, err := b.Do(req); err != nil || resp.StatusCode != 403 {
		t.Errorf("from another site: %v, %v", resp, err)
	}
	for origin, want := range map[string]int{"http://evil.test": 403, h.url: 200} { // of an old browser, behind a proxy
		req, err := http.NewRequestWithContext(t.Context(), "POST", link, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "127.0.0.1:1"
		req.Header.Set("Origin", origin)
		if resp, err := b.Do(req); err != nil || resp.StatusCode != want {
			t.Errorf("from %s: %v, %v", origin, resp, err)
		}
	}
	if status, _, _ := h.visit(b, "GET", link+"x", ""); status != 404 {
		t.Errorf("a changed link: %d", status)
	}
	_, consent, _ := h.visit(b, "POST", link, "")
	u, err := url.Parse(consent)
	if err != nil {
		t.Fatal(err)
	}
	back := u.Query().Get("redirect_uri") + "?" + url.Values{"state": {u.Query().Get("state")}, "error": {"access_denied"}, "error_description": {"<script>"}}.Encode()
	status, _, page := h.visit(b, "GET", back, "")
	if status != 200 || !strings.Contains(page, "Access was not allowed") || strings.Contains(page, "<script>") {
		t.Errorf("%d %s", status, page)
	}
	h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200, `"status":"refused"`, "access_denied")
	if _, err := oneSource(t.Context(), h.store, store.Key{User: "alice", Provider: "desk"}); err == nil {
		t.Error("a source was added")
	}
}

// A user gives an API key on the page, and may mistype it.
func TestConnectSessionByKey(t *testing.T) {
	h := newHost(t)
	id, link := h.begin(`{"user":"alice","provider":"safe","return_to":"http://127.0.0.1:9/"}`)
	b := browser(t)
	if _, _, page := h.visit(b, "GET", link, ""); !strings.Contains(page, `name="token"`) || !strings.Contains(page, `type="password"`) {
		t.Fatalf("page %s", page)
	}
	if status, _, page := h.visit(b, "POST", link, "token=+"); status != 422 || !strings.Contains(page, "is missing") {
		t.Errorf("nothing: %d %s", status, page)
	}
	if status, _, page := h.visit(b, "POST", link, "token=canary-wrong"); status != 422 || !strings.Contains(page, "does not accept it") {
		t.Errorf("a wrong key: %d %s", status, page)
	}
	if rows, err := h.store.Sources(t.Context(), store.SourceFilter{}); err != nil || len(rows) > 0 {
		t.Errorf("a source was added: %v, %v", rows, err)
	}
	status, to, _ := h.visit(b, "POST", link, "token=canary-key")
	if status != 200 || !strings.Contains(to, "syncd_status=connected") {
		t.Errorf("%d to %s", status, to)
	}
	h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200, `"status":"connected"`)
	if src := h.source("alice", "safe"); len(src.Paused) > 0 {
		t.Errorf("paused: %v", src.Paused)
	}
	for _, name := range []string{"syncd.db", "syncd.db-wal"} {
		if data, err := os.ReadFile(filepath.Join(h.dir, name)); err == nil && bytes.Contains(data, []byte("canary")) {
			t.Errorf("%s holds a secret", name)
		}
	}
}

// A user leaves: all that there is is handed over, and then nothing is left.
func TestAPIUserLeaves(t *testing.T) {
	h := newHost(t)
	h.desk.who = 1
	h.connect()
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"sample"}`, "Idempotency-Key", "k"), 201)
	h.want(h.ask("POST", "/v1/sources", `{"user":"bob","provider":"sample"}`), 201)
	for _, r := range h.sync() {
		if r.Error != "" {
			t.Fatal(r)
		}
	}
	export := h.want(h.ask("GET", "/v1/users/alice/export", ""), 200, `"syncd_export":1`, `"table":"records"`, `"end":true`)
	if strings.Contains(export.body, `"bob"`) || strings.Count(export.body, "\n") < 10 {
		t.Errorf("export %s", export.body)
	}
	h.want(h.ask("GET", "/v1/users/alice/export", "", "Authorization", ""), 401)
	h.want(h.ask("GET", "/v1/users/nobody/export", ""), 404, "no_such_user")
	h.want(h.ask("DELETE", "/v1/users/alice?rewrite=true", ""), 200, `"complete":true`, `"revoked":true`, "backups")
	if len(h.desk.revoked) != 1 {
		t.Errorf("revoked %v", h.desk.revoked)
	}
	h.want(h.ask("DELETE", "/v1/users/alice", ""), 404, "no_such_user")
	for _, name := range []string{"syncd.db", "syncd.db-wal"} {
		if data, err := os.ReadFile(filepath.Join(h.dir, name)); err == nil && bytes.Contains(data, []byte("alice")) {
			t.Errorf("%s holds alice's name", name)
		}
	}
	h.want(h.ask("GET", "/v1/sources", ""), 200, `"bob"`)
	h.configure(`{ user: bob, provider: desk, credentials: { token: canary-t } }`)
	if err := h.fleet.use(h.load()); err != nil {
		t.Fatal(err)
	}
	h.want(h.ask("DELETE", "/v1/users/bob", ""), 409, "source_configured")
}
