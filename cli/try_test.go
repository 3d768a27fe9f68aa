package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

const triedFile = `auth: { scheme: bearer }
params: { team: "" }
streams:
  tickets:
    path: /teams/{{ params.team }}/tickets
    records: body.tickets
    mark: updated_at
    order: ascending
    since: updated_since
    paging: { by: cursor, param: cursor, next: body.next }
  gone: { path: /gone }
`

// tickets answers for an API, in which one of three records can't be stored.
func tickets(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer canary-secret":
			w.WriteHeader(401)
			io.WriteString(w, `{"message": "who are you?"}`)
		case r.URL.Path == "/teams/blue/tickets":
			fmt.Fprintf(w, `{"tickets": [{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}, {"id": 2, "updated_at": "2026-06-01T09:00:00Z", "say": "\u001b[31m"}, {"updated_at": "soon"}], "next": "p2"}`)
		default:
			w.WriteHeader(404)
			io.WriteString(w, `{"message": "no such list"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTryAProviderFile(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TICKETS_TOKEN", "canary-secret")
	url := tickets(t)
	if err := os.WriteFile("desk.yaml", []byte(triedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	try := func(code int, more ...string) string {
		t.Helper()
		return syncdIn(t, code, append([]string{"connectors", "try", "desk.yaml", "--base-url", url}, more...)...)
	}
	good := []string{"--param", "team=blue", "--credential", "token=${TICKETS_TOKEN}"}

	out := try(exitRejected, append(good, "--stream", "tickets", "--since", "2026-06-01T09:30:00Z")...)
	contains(t, out, "tickets", "asked", "GET "+url+"/teams/blue/tickets?updated_since=2026-06-01T09%3A30%3A00Z",
		"200 OK, application/json", "found    3 records", "tickets/1, tickets/2", "2026-06-01T09:00:00Z to 2026-06-01T10:00:00Z, descending",
		"there is a next page: p2", "reject   bad_time", "promises ascending order", "1 record changed before --since", `{"id": 1`)
	if strings.Contains(out, "\x1b") {
		t.Error("a terminal would obey what the provider sent")
	}
	contains(t, try(exitFailed, append(good, "--stream", "gone")...), "404 Not Found", "no such list")

	var results []trialResult
	if err := json.Unmarshal([]byte(try(exitFailed, append(good, "-o", "json")...)), &results); err != nil || len(results) != 2 {
		t.Fatalf("got %d results, %v", len(results), err)
	}
	if i := slices.IndexFunc(results, func(r trialResult) bool { return r.Stream == "tickets" }); results[i].Records != 3 || results[i].Next != "p2" || len(results[i].Rejects) != 1 {
		t.Errorf("got %+v", results[i])
	}
	entries, _ := os.ReadDir(".")
	if len(entries) != 1 {
		t.Errorf("something was written: %v", entries)
	}

	for _, c := range []struct {
		args []string
		said string
	}{
		{nil, "add --credential token='${TOKEN}'"},
		{[]string{"--credential", "token=abc"}, "everybody on the machine can read a command line"},
		{[]string{"--credential", "token=${NOT_SET}"}, "the environment variable NOT_SET is not set"},
		{[]string{"--credential", "password=${TICKETS_TOKEN}"}, "which takes token"},
		{good[2:], "params.team: it is not set"},
		{[]string{"--param", "colour=blue"}, `declares no param "colour"`},
		{[]string{"--param", "team"}, "write it as NAME=VALUE"},
		{append(good, "--stream", "tikets"), "there is gone, tickets"},
		{append(good, "--since", "yesterday"), "--since"},
		{append(good, "--sample", "-1"), "--sample -1"},
	} {
		contains(t, try(exitUsage, c.args...), c.said)
	}
	contains(t, syncdIn(t, exitUsage, append([]string{"connectors", "try", "desk.yaml"}, good...)...), "has no base_url")
	contains(t, syncdIn(t, exitUsage, "connectors", "try", "none.yaml"), "none.yaml")
	if err := os.WriteFile("bad.yaml", []byte("streams: { a: { pth: /x } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, syncdIn(t, exitUsage, "connectors", "try", "bad.yaml"), "bad.yaml:1:17:", "did you mean path?")
}

func TestTryASource(t *testing.T) {
	w := newWorld(t, providers+sources)
	contains(t, w.run(exitDone, "connectors", "try", "alice", "shop", "--stream", "customers"), "customers", "found", "ascending", "next page")
	contains(t, w.run(exitFailed, "connectors", "try", "alice", "nothing"), "no source alice nothing")
	contains(t, w.run(exitUsage, "connectors", "try", "alice", "shop", "--param", "a=b"), "go with a provider file")
	if _, err := os.Stat(strings.TrimSuffix(w.file, "config.yaml") + "syncd.db"); err == nil {
		t.Error("a store was made")
	}
}

func TestTryWrongArguments(t *testing.T) {
	contains(t, syncdIn(t, exitUsage, "connectors", "try"), "expected FILE or USER PROVIDER, got 0 arguments")
	contains(t, syncdIn(t, exitUsage, "connectors", "try", "a", "b", "c"), "expected FILE or USER PROVIDER, got 3 arguments")
	contains(t, syncdIn(t, exitUsage, "connectors", "try", "a", ""), "PROVIDER is empty")
}

// What a stream asks for and reads as it comes is told as well.
func TestTryTellsOfStreamedBodies(t *testing.T) {
	rt := roundTrips(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ContentLength: 7, Body: io.NopCloser(strings.NewReader("a,b\n1,2")), Request: req}, nil
	})
	var w witness
	w.now = time.Now
	c, err := syncd.NewClient("http://x.test", w.around(rt), w.around(rt))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "/list", nil); err != nil {
		t.Fatal(err)
	}
	resp, err := c.Open(t.Context(), "/file.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if asked := w.take(); len(asked) != 2 || asked[1].URL != "http://x.test/file.csv" || !strings.Contains(asked[1].Came, "7 bytes") {
		t.Errorf("got %+v, want both requests", asked)
	}
	if asked := w.take(); len(asked) != 0 {
		t.Errorf("got %+v once more", asked)
	}
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestParseSince(t *testing.T) {
	for _, tt := range []struct {
		text     string
		sequence bool
		want     syncd.Mark
		wrong    bool
	}{
		{"", false, 0, false}, {"", true, 0, false}, {"42", true, 42, false},
		{"42abc", true, 0, true}, {"4 2", true, 0, true}, {"-1", true, 0, true}, {"99999999999999999999", true, 0, true},
		{"1970-01-01T00:00:01Z", false, 1e9, false}, {"yesterday", false, 0, true},
	} {
		if got, err := parseSince(tt.text, tt.sequence); got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%q, %v: got %d, %v, want %d", tt.text, tt.sequence, got, err, tt.want)
		}
	}
}
