package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// canary is in every row about alice, and in nobody else's.
const canary = "canary-4711"

// plant fills a file with two users whose rows lie between each other's, many of
// them written more than once: so there are former versions in the free room of
// pages, too.
func plant(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		for _, user := range []string{canary, "bob"} {
			key := store.Key{User: user, Provider: "p"}
			must(s.Add(ctx, store.Spec{Key: key, Connector: "x", Schedule: "@daily", Declared: `{"of":"` + user + `"}`}))
			must(s.SetAccount(ctx, key, user))
			c, err := s.Acquire(ctx, key, "d", time.Minute)
			must(err)
			run := store.Run{ID: fmt.Sprintf("run-%s-%d", user, round), Trigger: store.TriggerOperator, Notes: user}
			must(s.Begin(ctx, c.Lease, run, time.Time{}, time.Time{}))
			for n := range 40 {
				must(s.Update(ctx, c.Lease, func(ctx context.Context, tx store.Tx) error {
					var rows []store.Row
					var changes []store.Change
					for i := range 20 {
						id := fmt.Sprintf("s/%s/%02d/%04d", user, (i*7+n)%10, n*20+i)
						text := user + strings.Repeat("-"+user, (i*13+n*7+round*31)%(40+i*i))
						rows = append(rows, store.Row{ID: id, Stream: "s", Data: fmt.Appendf(nil, "%q", text), Version: int64(round + 1), Mark: int64(round), RunID: run.ID})
						changes = append(changes, store.Change{ID: id, Stream: "s", Kind: "updated"})
					}
					slices.SortFunc(rows, func(a, b store.Row) int { return strings.Compare(a.ID, b.ID) })
					if err := tx.Put(ctx, rows); err != nil {
						return err
					}
					if err := tx.Change(ctx, changes); err != nil {
						return err
					}
					if err := tx.SaveCursor(ctx, store.Cursor{Stream: "s", State: user + strings.Repeat(user, n)}); err != nil {
						return err
					}
					return tx.Reject(ctx, []store.Reject{{Stream: "s", Reason: "r", Detail: user, Raw: []byte(strings.Repeat(user, n*20)), Digest: store.Hash{byte(n), byte(round)}}})
				}))
			}
			must(s.Finish(ctx, c.Lease, run.ID, store.Outcome{State: store.Failed, Error: user}))
			cred, _ := s.Credential(ctx, key)
			_, err = s.PutCredential(ctx, store.Credential{Key: key, Kind: "k", KeyID: "k", Sealed: []byte(strings.Repeat(user, 9+round)), Identity: user, Version: cred.Version},
				store.Event{Key: key, Kind: "connected", Detail: user})
			must(err)
			_, err = s.PutMemo(ctx, store.Memo{Kind: "connect", ID: fmt.Sprint(user, round), User: user, Body: user}, time.Hour)
			must(err)
		}
	}
}

// canaries counts how often the canary stands in the file and in its log.
func canaries(t *testing.T, path string) int {
	t.Helper()
	n := 0
	for _, name := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, []byte(canary))
	}
	return n
}

// Nothing of a user is left in the bytes of the file, though another process has
// it open.
func TestEraseLeavesNoBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	s := migrated(t, path, Options{})
	daemon := migrated(t, path, Options{})
	plant(t, s)
	planted := canaries(t, path)
	bobs := recordsOf(t, s, store.Key{User: "bob", Provider: "p"})
	if _, err := s.Erase(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Scrub(t.Context(), false); err != nil || !strings.Contains(strings.Join(left, "\n"), "free room") {
		t.Errorf("got %q, %v, want that it says what stays without a rewrite", left, err)
	}
	overwritten := canaries(t, path)
	left, err := s.Scrub(t.Context(), true)
	if err != nil || strings.Contains(strings.Join(left, "\n"), path) {
		t.Errorf("got %q, %v, want nothing left in the file", left, err)
	}
	t.Logf("planted %d, after overwriting %d", planted, overwritten)
	if n := canaries(t, path); n > 0 || planted < 1000 || overwritten > planted/100 {
		t.Errorf("of %d there are %d left, and %d before the file was written anew", planted, n, overwritten)
	}
	if got := recordsOf(t, daemon, store.Key{User: "bob", Provider: "p"}); len(got) != len(bobs) || len(bobs) != 800 {
		t.Errorf("bob has %d records of %d", len(got), len(bobs))
	}
	if got := pragmaOf(t, s, "secure_delete"); got != 0 {
		t.Errorf("secure_delete is %d afterwards", got)
	}
	if got := pragmaOf(t, s, "temp_store"); got != 2 {
		t.Errorf("temp_store is %d afterwards", got)
	}
}

// While another process reads, the log can't be emptied, and that is said.
func TestLogThatIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	s := migrated(t, path, Options{})
	daemon := migrated(t, path, Options{})
	tx, err := daemon.readers.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM sources").Scan(&n); err != nil {
		t.Fatal(err)
	}
	plant(t, s)
	w, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.writer <- w }()
	if err := w.pragma(t.Context(), "busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	if emptied, err := w.emptyLog(t.Context(), time.Millisecond); emptied || err != nil {
		t.Errorf("got %v, %v, want that it is not emptied", emptied, err)
	}
	tx.Rollback()
	if emptied, err := w.emptyLog(t.Context(), time.Millisecond); !emptied || err != nil {
		t.Errorf("got %v, %v, want that it is emptied", emptied, err)
	}
}

// An erasure that is cut goes on when it is called again.
func TestEraseCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	s := migrated(t, path, Options{})
	plant(t, s)
	for n := 1; ; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond)
		_, err := s.Erase(ctx, canary)
		cancel()
		if err == nil {
			break
		}
		if n > 3000 {
			t.Fatal(err)
		}
	}
	if left, err := s.Traces(t.Context(), canary); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
