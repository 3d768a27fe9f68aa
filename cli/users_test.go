package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/store"
)

// leave takes everybody but alice out of the configuration.
func (w *world) leave() {
	w.Helper()
	w.configure(providers + "sources: [{ user: alice, provider: shop }]\n")
	w.apply()
}

func TestUsersList(t *testing.T) {
	w := filledWorld(t)
	w.run(exitDone, "sources", "pause", "bob", "desk")
	contains(t, w.run(exitDone, "users", "list"), "USER", "SOURCES", "PAUSED", "alice", "1", "0", "bob", "1", "1", "carol")
	var rows []userRow
	w.json(&rows, "users", "list")
	if want := []userRow{{"alice", 1, 0}, {"bob", 1, 1}, {"carol", 1, 0}}; !slices.Equal(rows, want) {
		t.Errorf("got %v, want %v", rows, want)
	}
	w.json(&rows, "users", "list", "--limit", "1")
	if len(rows) != 1 {
		t.Errorf("got %v, want one", rows)
	}
	out, _, _ := w.try("__complete", "users", "erase", "b")
	if !strings.HasPrefix(out, "bob\n") {
		t.Errorf("completions: got %s, want bob", out)
	}
}

func TestErase(t *testing.T) {
	w := filledWorld(t)
	w.insert(bob, "customers/1")
	w.ran(past{key: bob, counts: store.Counters{Inserted: 1}, outcome: done(), rejects: []store.Reject{{Stream: "s", Reason: "r", Raw: []byte("x"), Digest: store.Hash{1}}}})
	w.must(w.store.Tell(t.Context(), store.Event{Key: bob, Kind: store.EventConnected}))
	receipts := filepath.Join(filepath.Dir(w.file), "bob.json")

	contains(t, w.run(exitFailed, "users", "erase", "bob", "--yes"), "bob has 1 source in the configuration", w.file+":8:5: bob desk")
	w.source(bob)
	w.leave()
	contains(t, w.run(exitUsage, "users", "erase", "bob"), "this would delete all of bob (1 source, 1 record, ", "--yes")
	w.must(os.WriteFile(receipts, nil, 0o600))
	contains(t, w.run(exitUsage, "users", "erase", "bob", "--yes", "--receipt", receipts), "name another file")
	w.must(os.Remove(receipts))
	if got := w.source(bob).Paused; slices.Contains(got, store.PausedOperator) {
		t.Errorf("paused for %q before anything began", got)
	}

	var printed receipt
	w.json(&printed, "users", "erase", "bob", "--yes", "--receipt", receipts)
	text, err := os.ReadFile(receipts)
	w.must(err)
	info, err := os.Stat(receipts)
	w.must(err)
	var written receipt
	w.must(json.Unmarshal(text, &written))
	if info.Mode().Perm() != 0o600 || !written.Complete || written.User != "bob" || !written.Began.Equal(printed.Began) || len(written.Removed) != len(printed.Removed) {
		t.Errorf("got %v, %s", info.Mode(), text)
	}
	if rowsOf(printed.Removed, "records") != 1 || rowsOf(printed.Removed, "sources") != 1 || rowsOf(printed.Removed, "rejects") != 1 || rowsOf(printed.Removed, "events") != 1 {
		t.Errorf("got %+v", printed.Removed)
	}
	contains(t, strings.Join(printed.Left, "\n"), "the providers' own copies: desk", "blocks of the disk", "backups", "log lines", "recordings")
	if strings.Contains(strings.Join(printed.Left, "\n"), "free room") {
		t.Errorf("the file was not written anew: %q", printed.Left)
	}
	for range 2 {
		contains(t, w.run(exitFailed, "users", "erase", "bob", "--yes"), "nothing is left of bob")
	}
	contains(t, w.run(exitDone, "users", "erase", "bob", "--rewrite"), "nothing is left of bob") // of one that was cut at its end
	contains(t, w.run(exitFailed, "users", "erase", "nobody", "--yes"), "nothing is left of nobody", "never had one")
	contains(t, w.run(exitUsage, "users", "erase", strings.Repeat("x", 300), "--yes"), "nobody can have the id")
	w.source(alice)
	w.source(carol)

	contains(t, w.run(exitDone, "users", "erase", "carol", "--yes", "--rewrite=false"), "nothing is left of carol in sqlite:", "PROVIDER", "shop", "sources", "1",
		"Not removed", "the free room in", "VACUUM")
}

// A cut is a store whose erasure is cut.
type cut struct{ store.Store }

func (c cut) Erase(context.Context, string) ([]store.Trace, error) {
	return []store.Trace{{Provider: "desk", Table: "records", Rows: 3}}, errors.New("cut")
}

// late is a store in which a row comes while a user is erased.
type late struct{ store.Store }

func (l late) Erase(ctx context.Context, user string) ([]store.Trace, error) {
	removed, err := l.Store.Erase(ctx, user)
	return removed, errors.Join(err, l.Tell(ctx, store.Event{Key: store.Key{User: user, Provider: "desk"}, Kind: store.EventNeedsReauth}))
}

// What was removed before an erasure was cut is in its receipt, and nobody is
// said to be gone of whom there is a row.
func TestEraseCut(t *testing.T) {
	w := filledWorld(t)
	fleetOf := func(s store.Store) *fleet {
		f := newFleet(s, newLog(io.Discard, w.cfg.Log))
		t.Cleanup(f.close)
		w.must(f.use(w.cfg))
		return f
	}
	for want, s := range map[string]store.Store{"cut": cut{w.store}, "1 row about bob came in the meantime": late{w.store}} {
		r, err := fleetOf(s).erase(t.Context(), "bob", false)
		if err == nil || err.Error() != want || len(r.Removed) == 0 || r.Complete {
			t.Errorf("got %v, %+v, want %s", err, r, want)
		}
		var out strings.Builder
		r.print(&out)
		contains(t, out.String(), "bob is not erased whole: "+want, "desk", "backups")
	}
	_, err := fleetOf(w.store).erase(t.Context(), "bob", false)
	w.must(err)
}

// What is being run is left to its end, and begins no other run.
func TestEraseWhileRun(t *testing.T) {
	w := filledWorld(t)
	w.leave()
	w.insert(bob, "customers/1")
	w.ran(past{key: bob})
	contains(t, w.run(exitFailed, "users", "erase", "bob", "--yes"), "is being run by daemon/1", "try again when this one has ended")
	if got := w.source(bob); !slices.Contains(got.Paused, store.PausedOperator) {
		t.Errorf("paused for %q", got.Paused)
	}
	if counts, err := w.store.Count(t.Context(), bob); err != nil || len(counts) != 1 {
		t.Errorf("got %v, %v, want the record to stay", counts, err)
	}
}

// Tokens are given back, and a key that is not there keeps nothing.
func TestEraseGivesBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(dir string)
		revoked int
		says    string
	}{
		{"told", func(string) {}, 1, "the provider was told"},
		{"the key is gone", func(dir string) { os.Remove(filepath.Join(dir, "syncd.keys")) }, 0, "it could not be opened (the keys are gone"},
		{"another application", func(dir string) { replace(t, filepath.Join(dir, "syncd.yaml"), "client_id: app", "client_id: other") }, 0, "another server or application"},
		{"a provider that is no more", func(dir string) {
			replace(t, filepath.Join(dir, "syncd.yaml"), "  desk:\n", "  other:\n")
		}, 0, "the configuration has no provider desk any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			dir := d.configure(t)
			file := filepath.Join(dir, "syncd.yaml")
			if said, _, code := d.connect(t, dir); code != exitDone {
				t.Fatal(said)
			}
			syncdIn(t, exitDone, "sync", "alice", "desk", "--config", file)
			contains(t, syncdIn(t, exitFailed, "users", "erase", "alice", "--yes", "--config", file), "take them out there first")
			replace(t, file, "sources:\n  - { user: alice, provider: desk }\n", "sources: []\n")
			c.before(dir)
			var r receipt
			out := syncdIn(t, exitDone, "users", "erase", "alice", "--yes", "-o", "json", "--config", file)
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err, out)
			}
			if len(r.Tokens) != 1 || r.Tokens[0].Revoked != (c.revoked == 1) || !strings.Contains(r.Tokens[0].Said, c.says) || len(d.revoked) != c.revoked {
				t.Errorf("got %+v, %q", r.Tokens, d.revoked)
			}
			if rowsOf(r.Removed, "credentials") != 1 || rowsOf(r.Removed, "records") != 1 {
				t.Errorf("got %+v", r.Removed)
			}
			if told := strings.Contains(strings.Join(r.Left, "\n"), "access that was granted at desk"); told == (c.revoked == 1) {
				t.Errorf("got %q", r.Left)
			}
			if strings.Contains(out, "canary") {
				t.Errorf("the receipt holds a secret: %s", out)
			}
		})
	}
}

// replace changes a text in a file, which must be there.
func replace(t *testing.T, file, old, text string) {
	t.Helper()
	was, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(was), old) {
		t.Fatalf("no %q in %s: %v", old, was, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(was), old, text, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestExport(t *testing.T) {
	w := filledWorld(t)
	claim, err := w.store.Acquire(t.Context(), bob, "test", 1e12)
	w.must(err)
	const odd = "{\"b\" : 1.10,\r\n \"a\":\"<é\u009b>\"}"
	w.must(w.store.Update(t.Context(), claim.Lease, func(_ context.Context, tx store.Tx) error {
		rows := []store.Row{
			{ID: "s/1", Stream: "s", Data: []byte(odd), Version: 1, Mark: 7, RunID: "r"},
			{ID: "s/2", Stream: "s", Version: 1, Deleted: true, RunID: "r"},
		}
		w.must(tx.Insert(t.Context(), rows))
		w.must(tx.Change(t.Context(), []store.Change{{ID: "s/1", Stream: "s", Kind: "inserted", Version: 1}}))
		return tx.Reject(t.Context(), []store.Reject{
			{Stream: "s", Reason: "r", Raw: []byte("text\n"), Digest: store.Hash{1}}, {Stream: "s", Reason: "r", Raw: []byte("\xff\x00"), Digest: store.Hash{2}},
		})
	}))
	w.must(w.store.Release(t.Context(), claim.Lease))
	w.ran(past{key: bob, outcome: done(), cursors: []store.Cursor{{Stream: "s", State: `{"x":1}`}}})
	w.must(w.store.Tell(t.Context(), store.Event{Key: bob, Kind: store.EventConnected}))
	_, err = w.store.PutCredential(t.Context(), store.Credential{Key: bob, Kind: "oauth2", Sealed: []byte("canary-sealed"), KeyID: "canary-key", Identity: "b@example.com"})
	w.must(err)

	file := filepath.Join(filepath.Dir(w.file), "bob.ndjson")
	contains(t, w.run(exitDone, "users", "export", "bob", "--file", file), "exported 10 rows about bob to")
	text, err := os.ReadFile(file)
	w.must(err)
	info, err := os.Stat(file)
	w.must(err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	contains(t, w.run(exitUsage, "users", "export", "bob", "--file", file), "exist")
	out, errs, code := w.try("users", "export", "bob")
	if _, rest, _ := strings.Cut(out, "\n"); code != exitDone || errs != "" || !strings.HasSuffix(string(text), rest) {
		t.Errorf("to standard output: %d, %s%s", code, out, errs)
	}
	if strings.Contains(out, "canary") {
		t.Errorf("what is sealed came out: %s", out)
	}
	tables := map[string]int64{}
	lines := bufio.NewScanner(strings.NewReader(out))
	var last struct {
		Version int    `json:"syncd_export"`
		User    string `json:"user"`
		End     bool   `json:"end"`
		Rows    map[string]int64
	}
	for n := 0; lines.Scan(); n++ {
		var row struct {
			Table string `json:"table"`
		}
		last.End = false
		w.must(json.Unmarshal(lines.Bytes(), &last))
		w.must(json.Unmarshal(lines.Bytes(), &row))
		if n == 0 && (last.Version != 1 || last.User != "bob") {
			t.Errorf("the first line is %s", lines.Text())
		}
		if row.Table != "" {
			tables[row.Table]++
		}
	}
	want := map[string]int64{"sources": 1, "credentials": 1, "cursors": 1, "records": 2, "rejects": 2, "runs": 1, "changes": 1, "events": 1}
	for table, n := range want {
		if tables[table] != n || last.Rows[table] != n {
			t.Errorf("%s: %d lines, counted %d, want %d", table, tables[table], last.Rows[table], n)
		}
	}
	if !last.End || len(last.Rows) != len(want) {
		t.Errorf("the last line is %+v", last)
	}
	contains(t, out, `"kind":"oauth2","identity":"b@example.com"`, `"external_id":"s/1"`, `"data":`+strings.NewReplacer("\n", " ", "\r", " ").Replace(odd)+"}\n", `"external_id":"s/2"`)
	contains(t, out, `"raw_base64":"/wA="`, `"raw":"text\n"`)
	contains(t, w.run(exitFailed, "users", "export", "nobody"), "nothing is left of nobody")
}

// What can't be read leaves no file.
func TestExportOfNothing(t *testing.T) {
	w := filledWorld(t)
	dir := filepath.Dir(w.file)
	contains(t, w.run(exitFailed, "users", "export", "bob", "--file", filepath.Join(dir, "none", "x")), "no such file")
	w.must(w.store.Close())
	before, err := os.ReadDir(dir)
	w.must(err)
	replace(t, w.file, "syncd.db", "missing.db")
	contains(t, w.run(exitFailed, "users", "export", "bob", "--file", filepath.Join(dir, "x")), "no store yet")
	after, err := os.ReadDir(dir)
	w.must(err)
	if len(after) != len(before) {
		t.Errorf("got %v, want what was there before: %v", after, before)
	}
}
