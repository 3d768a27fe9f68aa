package cli

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/internal/recording"
	"github.com/syncdhq/syncd/internal/store"
)

// A recorded run of the sample provider is replayed without it, into the same records.
func TestRecordAndReplay(t *testing.T) {
	const text = `store: sqlite:syncd.db
providers:
  shop: { connector: sample, schedule: "@daily", options: { size: 30, faults: false }%s }
sources:
  - { user: alice, provider: shop }
`
	w := newWorld(t, fmt.Sprintf(text, ""))
	file := filepath.Join(t.TempDir(), "shop.json")
	// One of its orders is set aside, as ever.
	contains(t, w.run(exitRejected, "sync", "alice", "shop", "--record", file), "recorded ", " exchanges in "+file+": read it before you share it")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Fatalf("got %v, %v, want a file that only its owner reads", info, err)
	}
	want := w.table()
	if len(want) < 30 {
		t.Fatalf("%d records, want more", len(want))
	}

	rep, err := recording.Open(file)
	w.must(err)
	again := newWorld(t, fmt.Sprintf(text, ", base_url: "+rep.Base()))
	a := &app{Streams: Streams{strings.NewReader(""), io.Discard, io.Discard}, connectors: []syncd.Connector{sample.Connector()}, env: os.LookupEnv, configPath: again.file}
	s, err := a.open(t.Context(), again.cfg)
	w.must(err)
	defer s.Close()
	f := newFleet(s, slog.New(slog.DiscardHandler))
	defer f.close()
	w.must(f.use(again.cfg))
	f.tap = func(http.RoundTripper) http.RoundTripper { return rep }
	res, _, err := a.syncNow(t.Context(), again.cfg, f, again.cfg.Sources[0], syncRequest{key: alice})
	w.must(err)
	if res.State != store.Done || res.Err != nil {
		t.Fatalf("the replay ended %s: %v", res.State, res.Err)
	}
	if got := again.table(); !slices.Equal(got, want) {
		t.Errorf("the replay gave %d records, want the same %d:\n%.300q\n%.300q", len(got), len(want), got, want)
	}
	if left := rep.Unused(); len(left) > 0 {
		t.Errorf("the replay did not ask for %v", left)
	}
}

// table returns the records in the store, byte for byte.
func (w *world) table() []string {
	w.Helper()
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(w.file), "syncd.db"))
	w.must(err)
	defer db.Close()
	rows, err := db.QueryContext(w.Context(), "SELECT external_id, mark, data FROM records ORDER BY external_id")
	w.must(err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var id, data string
		var mark int64
		w.must(rows.Scan(&id, &mark, &data))
		all = append(all, fmt.Sprint(id, " ", mark, " ", data))
	}
	w.must(rows.Err())
	return all
}

// echoOptions are those of a connector whose provider repeats what it hears.
type echoOptions struct {
	Key string `yaml:"key" doc:"a key in the connector's own query"`
}

type echoItem struct {
	ID syncd.ID `json:"id"`
}

func (o *echoOptions) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	return []syncd.Stream{{Name: "items", Fetch: func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		ref := req.Page
		if ref == "" {
			ref = "/items?api_key=" + url.QueryEscape(o.Key)
		}
		resp, err := c.Get(ctx, ref, nil)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "items", func(x echoItem) syncd.Record { return syncd.Record{ID: string(x.ID)} })
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := resp.NextLink()
		return syncd.Page{Records: records, Next: next}, err
	}}}, nil
}

// An echo is a world whose provider repeats the token wherever it can.
type echo struct {
	*world
	asked atomic.Int64
	tail  func(w http.ResponseWriter, token string) // the answer after two pages
	cmd   func(args ...string) (string, int)
}

const echoToken = "c4nary/of+the=operator&co"

func newEcho(t *testing.T) *echo {
	e := &echo{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		e.asked.Add(1)
		token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		if token != echoToken {
			t.Errorf("the provider was told %q, want the token", token)
		}
		page := req.URL.Query().Get("page")
		if page == "3" && e.tail != nil {
			e.tail(w, token)
			return
		}
		if page != "3" {
			next := map[string]string{"": "2", "2": "3"}[page]
			w.Header().Set("Link", fmt.Sprintf(`</items?page=%s&api_key=own-k3y&access_token=%s>; rel="next"`, next, url.QueryEscape(token)))
		}
		w.Header().Set("Set-Cookie", "sid="+token)
		w.Header().Set("Etag", `"`+token+`"`)
		fmt.Fprintf(w, `{"items":[{"id":"i%s","header":%q,"query":%q,"basic":%q,"deep":[{"client_secret":"f0reign"}]}]}`,
			page, token, req.URL.RawQuery, base64.StdEncoding.EncodeToString([]byte("x:"+token)))
	}))
	t.Cleanup(server.Close)
	e.world = newWorld(t, "")
	e.must(os.WriteFile(e.file, fmt.Appendf(nil, `store: sqlite:syncd.db
providers:
  desk: { connector: echo, schedule: "@daily", base_url: %s, options: { key: own-k3y } }
sources:
  - { user: bob, provider: desk, credentials: { token: %q } }
`, server.URL, echoToken), 0o600))
	connector := syncd.Connector{Name: "echo", Summary: "repeats", Auth: syncd.Auth{Scheme: syncd.Bearer}, Options: func() syncd.Options { return &echoOptions{} }}
	e.cmd = func(args ...string) (string, int) {
		var out bytes.Buffer
		code := Run(t.Context(), []syncd.Connector{connector}, append([]string{"--config", e.file}, args...), Streams{strings.NewReader(""), &out, &out})
		return out.String(), code
	}
	return e
}

// hides checks that a file shows no secret in any spelling.
func (e *echo) hides(file string) string {
	e.Helper()
	text, err := os.ReadFile(file)
	e.must(err)
	for _, secret := range []string{
		echoToken, url.QueryEscape(echoToken), url.PathEscape(echoToken), strings.ReplaceAll(echoToken, "&", `\u0026`), "c4nary",
		base64.StdEncoding.EncodeToString([]byte(echoToken)), base64.StdEncoding.EncodeToString([]byte("x:" + echoToken)),
		"own-k3y", "f0reign", "Set-Cookie", "Authorization", "sid=",
	} {
		if bytes.Contains(text, []byte(secret)) {
			e.Errorf("the recording shows %q: %s", secret, text)
		}
	}
	return string(text)
}

func TestRecordHoldsNoSecret(t *testing.T) {
	e := newEcho(t)
	file := filepath.Join(t.TempDir(), "desk.json")
	out, code := e.cmd("sync", "bob", "desk", "--record", file, "-o", "json")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	contains(t, out, `"notes": [`, "recorded 3 exchanges in")
	contains(t, e.hides(file), `"url": "/items?api_key=scrubbed"`, `"items\":[{\"id\":\"i\"`, `"url": "/items?page=2&api_key=scrubbed`, `i2`, `i3`)

	// It is overwritten on demand only, and nothing is asked before that is clear.
	before, asked := e.hides(file), e.asked.Load()
	out, code = e.cmd("sync", "bob", "desk", "--record", file)
	if code != exitUsage || e.asked.Load() != asked {
		t.Errorf("exit code %d after %d requests: %s", code, e.asked.Load()-asked, out)
	}
	contains(t, out, file+": file already exists (--force overwrites it)")
	if e.hides(file) != before {
		t.Error("the file was changed")
	}
	e.must(os.WriteFile(file, []byte("old"), 0o600))
	if out, code := e.cmd("sync", "bob", "desk", "--full", "--dry-run", "--record", file, "--force"); code != exitDone {
		t.Errorf("exit code %d: %s", code, out)
	}
	contains(t, e.hides(file), `"recording": 1`, "i3")
}

// A run that fails leaves what happened until then.
func TestRecordOfAFailedRun(t *testing.T) {
	e := newEcho(t)
	e.tail = func(w http.ResponseWriter, token string) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "no: Bearer %s, own-k3y", token)
	}
	file := filepath.Join(t.TempDir(), "desk.json")
	out, code := e.cmd("sync", "bob", "desk", "--record", file)
	if code != exitFailed {
		t.Errorf("exit code %d: %s", code, out)
	}
	contains(t, out, "recorded 3 exchanges in "+file+", up to where the run failed", "403 Forbidden")
	text, err := os.ReadFile(file)
	e.must(err)
	contains(t, string(text), `"status": 403`, "no: ")
	if bytes.Contains(text, []byte(echoToken)) {
		t.Errorf("the recording shows the token: %s", text)
	}
}

// What cannot be scrubbed is not written; the run itself is none the worse.
func TestRecordInDoubt(t *testing.T) {
	e := newEcho(t)
	e.tail = func(w http.ResponseWriter, token string) {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(token)) {
			wide = append(wide, byte(unit>>8), byte(unit))
		}
		w.Write(append(append([]byte(`{"items":[{"id":"i3"}],"x":"`), wide...), `"}`...))
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "desk.json")
	out, code := e.cmd("sync", "bob", "desk", "--record", file)
	if code != exitFailed || strings.Contains(out, "c4nary") {
		t.Errorf("exit code %d: %s", code, out)
	}
	contains(t, out, "record "+file+": nothing was written: GET /items?page=3", "the answer's body: it holds a secret in a form that cannot be scrubbed")
	if left, err := os.ReadDir(folder); len(left) > 0 || err != nil {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestRecordWhereNothingCanBeWritten(t *testing.T) {
	e := newEcho(t)
	for _, args := range [][]string{
		{"--record", filepath.Join(t.TempDir(), "none", "desk.json")},
		{"--record", t.TempDir(), "--force"},
		{"--force"},
	} {
		out, code := e.cmd(append([]string{"sync", "bob", "desk"}, args...)...)
		if code == exitDone || e.asked.Load() > 0 {
			t.Errorf("%v: exit code %d after %d requests: %s", args, code, e.asked.Load(), out)
		}
	}
}

func TestWorse(t *testing.T) {
	ran, recorded := errors.New("ran"), errors.New("recorded")
	for _, test := range []struct {
		ran, recorded error
		want          string
	}{
		{nil, nil, "<nil>"}, {ran, nil, "ran"}, {errRejected, nil, errRejected.Error()},
		{nil, recorded, "recorded"}, {errRejected, recorded, "recorded"}, {ran, recorded, "ran\nrecorded"},
	} {
		if got := fmt.Sprint(worse(test.ran, test.recorded)); got != test.want {
			t.Errorf("worse(%v, %v) = %q, want %q", test.ran, test.recorded, got, test.want)
		}
	}
}
