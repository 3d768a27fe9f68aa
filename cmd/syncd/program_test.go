package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A shell runs commands against one configuration, as a person would.
type shell struct {
	t      *testing.T
	config string
}

// run runs a command and checks its exit code.
func (s *shell) run(code int, args ...string) string {
	s.t.Helper()
	out, got := runCommand(s.t, append(args, "--config", s.config)...)
	if got != code {
		s.t.Errorf("syncd %s: exit %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// json runs a command with -o json and decodes what it prints.
func (s *shell) json(v any, args ...string) {
	s.t.Helper()
	out := s.run(0, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		s.t.Errorf("syncd %s: %v in %s", strings.Join(args, " "), err, out)
	}
}

func (s *shell) has(out string, parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			s.t.Errorf("%q is not in:\n%s", p, out)
		}
	}
}

// example is the configuration that comes with the repository, in a folder of its own.
func example(t *testing.T) *shell {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config.example.yaml", "examples/feeds/orders.csv"} {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, name, string(b))
	}
	return &shell{t, filepath.Join(dir, "config.example.yaml")}
}

// The way of the readme: what a newcomer types, in that order.
func TestTheReadme(t *testing.T) {
	s := example(t)
	s.has(s.run(0, "check"), "2 sources of 2 providers")
	s.has(s.run(1, "status"), "start the daemon")
	p := start(t, "run", "--config", s.config)
	p.says("acme orders: 39 inserted, 1 rejected", 60e9)
	p.says("look around with: syncd status", 60e9)
	p.signal(os.Interrupt)
	p.ended(30e9)

	s.has(s.run(0, "status"), "2 sources, 2 open rejects", "acme", "alice")
	s.has(s.run(0, "runs", "list"), "done", "39 inserted, 1 rejected")
	s.has(s.run(0, "sync", "acme", "orders"), "nothing new")
	s.has(s.run(3, "sync", "acme", "orders", "--full"), "39 unchanged, 1 rejected")

	var rejects []struct {
		ID     int64
		Reason string
		Raw    []byte
	}
	s.json(&rejects, "rejects", "list", "acme", "orders")
	if len(rejects) != 1 || rejects[0].Reason != "wrong_field_count" {
		t.Fatalf("rejects %+v, want the bad row", rejects)
	}
	s.has(s.run(0, "rejects", "show", "1"), "line 23", `"Sjöberg & Söner",013`)
	s.has(s.run(3, "rejects", "replay", "1"), "still can't be ingested")
	s.has(s.run(0, "rejects", "replay", "1", "--data", `"Sjöberg & Söner",013,2026-11-29T12:03:30Z,open,115.25,SEK,`), "1 inserted")
	s.has(s.run(0, "rejects", "replay", "1"), "replayed already")
	s.has(s.run(0, "rejects", "list", "acme"), "no reject of acme")

	var poison []struct{ ID int64 }
	s.json(&poison, "rejects", "list", "alice", "sample")
	if len(poison) != 1 {
		t.Fatalf("rejects of sample %+v, want one", poison)
	}
	id := strconv.FormatInt(poison[0].ID, 10)
	s.has(s.run(0, "rejects", "replay", id, "--data", `{"id":"ticket-mended","updated_at":"2026-11-29T12:00:00Z"}`), "1 inserted")

	s.has(s.run(0, "cursor", "show", "alice", "sample"), "customers", "orders", "tickets")
	s.has(s.run(0, "cursor", "reset", "alice", "sample"), "3 cursors of alice sample dropped")
	out := s.run(3, "sync", "alice", "sample")
	s.has(out, "unchanged")
	if strings.Contains(out, "inserted") && !regexp.MustCompile(`\b[12] inserted`).MatchString(out) {
		t.Errorf("after the reset records were inserted once more: %s", out)
	}
}

func TestAProviderIsAdded(t *testing.T) {
	s := example(t)
	dir := filepath.Dir(s.config)
	writeFile(t, dir, "people.csv", "id,name\n1,Ann\n2,Bo\x1b[31m\n")
	b, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), "sources:\n", "sources:\n  - { user: zoe, provider: people }\n", 1)
	text = strings.Replace(text, "providers:\n", "providers:\n  people: { connector: csv, schedule: \"@daily\", options: { path: people.csv, key: [id] } }\n", 1)
	writeFile(t, dir, "config.example.yaml", text)
	s.has(s.run(0, "check"), "3 sources of 3 providers")
	s.has(s.run(0, "sync", "zoe", "people", "--dry-run"), "2 inserted", "nothing was written")
	s.has(s.run(0, "sync", "zoe", "people"), "2 inserted")

	var counts []map[string]any
	s.json(&counts, "sources", "list", "zoe")
	if len(counts) != 1 || counts[0]["last_state"] != "done" {
		t.Errorf("sources %v", counts)
	}
	s.has(s.run(0, "sources", "pause", "zoe", "people"), "paused: operator")
	s.has(s.run(0, "sources", "pause", "zoe", "people", "--reason", "audit"), "paused: audit, operator")
	s.has(s.run(0, "sources", "resume", "zoe", "people"), "paused: audit")
	s.has(s.run(0, "sources", "resume", "zoe", "people", "--reason", "audit"), "not paused")
	s.has(s.run(1, "sources", "remove", "zoe", "people"), "take it out there first")
	writeFile(t, dir, "config.example.yaml", string(b))
	s.has(s.run(2, "sources", "remove", "zoe", "people", "--purge"), "--yes")
	s.has(s.run(0, "sources", "remove", "zoe", "people", "--purge", "--yes"), "its records are deleted")
	s.has(s.run(1, "cursor", "show", "zoe", "people"), "no source zoe people")
}

func TestCommandLineErrors(t *testing.T) {
	s := example(t)
	for _, tt := range []struct {
		code int
		args string
		said string
	}{
		{2, "frobnicate", "unknown command"},
		{2, "rejects lst", "unknown command"},
		{2, "sync alice", "expected USER PROVIDER"},
		{1, "sync alice nothing", "no source alice nothing"},
		{2, "sync alice sample --stream nothing", "no stream"},
		{2, "status --bad", "unknown flag"},
		{2, "status -o xml", "table or json"},
		{2, "next --schedule nonsense", "it has 1 field"},
		{2, "next --timezone Nope/Nope --schedule @daily", "Nope/Nope"},
		{2, "next -n 0", "-n 0"},
		{2, "next --from yesterday", "--from"},
		{2, "connectors show gitlub", "github, gitlab, "},
	} {
		s.has(s.run(tt.code, strings.Fields(tt.args)...), tt.said)
	}
	bad := writeFile(t, t.TempDir(), "bad.yaml", "store: sqlite:x.db\nproviders:\n  a: { connector: csv, schedul: \"@daily\" }\nsources: []\n")
	out, code := runCommand(t, "check", "--config", bad)
	if code != 2 || !strings.Contains(out, bad+":3:24: ") || !strings.Contains(out, "schedule") {
		t.Errorf("exit %d, want 2 and the place: %s", code, out)
	}
	out, code = runCommand(t, "run", "--config", bad)
	if code != 2 || !strings.Contains(out, bad+":3:24: ") {
		t.Errorf("the daemon started, or did not say why not: exit %d: %s", code, out)
	}
}

func TestNext(t *testing.T) {
	out, code := runCommand(t, "next", "--schedule", "30 2 * * *", "--timezone", "America/New_York", "--from", "2026-03-07T00:00:00Z", "-n", "3", "-o", "json")
	var fires []struct{ At time.Time }
	if err := json.Unmarshal([]byte(out), &fires); err != nil || code != 0 || len(fires) != 3 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	for i, want := range []string{"2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"} {
		if at, err := time.Parse(time.RFC3339, want); err != nil || !fires[i].At.Equal(at) {
			t.Errorf("fire %d at %s, want %s", i, fires[i].At, want)
		}
	}
}

func TestOtherCommands(t *testing.T) {
	s := example(t)
	s.has(s.run(0, "migrate"), "0001", "up to date")
	s.has(s.run(0, "migrate", "--status"), "0001")
	s.has(s.run(0, "connectors", "list"), "csv", "github", "sample")
	s.has(s.run(0, "connectors", "show", "github"), "repo", "token", "to start from")
	s.has(s.run(0, "version"), "SQLite", "PostgreSQL")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		s.has(s.run(0, "completion", shell), "syncd")
	}
	out, _ := runCommand(t, "__complete", "--config", s.config, "sync", "al")
	s.has(out, "alice")
	for _, command := range []string{"run", "sync", "check", "next", "status", "sources list", "sources pause", "sources resume", "sources remove", "cursor show",
		"cursor reset", "runs list", "runs show", "rejects list", "rejects show", "rejects replay", "rejects discard", "connectors list", "connectors show", "migrate", "version"} {
		s.has(s.run(0, append(strings.Fields(command), "--help")...), "Examples:", "syncd "+strings.Fields(command)[0])
	}
}
