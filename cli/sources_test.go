package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/web"
)

func (w *world) source(key store.Key) store.Source {
	w.Helper()
	row, err := oneSource(w.Context(), w.store, key)
	w.must(err)
	return row
}

func TestPauseAndResume(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "sources", "pause", "alice", "shop"), "alice shop: paused: operator")
	contains(t, w.run(exitDone, "sources", "pause", "alice", "shop", "--reason", "migration"), "paused: migration, operator")
	if got := w.source(alice).Paused; len(got) != 2 {
		t.Errorf("paused for %q, want two reasons", got)
	}
	contains(t, w.run(exitDone, "sources", "list", "alice"), "migration, operator")
	contains(t, w.run(exitDone, "sources", "resume", "alice", "shop"), "paused: migration")
	contains(t, w.run(exitDone, "sources", "resume", "alice", "shop", "--reason", "migration"), "not paused, due now")
	if got := w.source(alice).Paused; len(got) != 0 {
		t.Errorf("paused for %q, want nothing", got)
	}
	if got := w.source(carol).Paused; len(got) != 0 {
		t.Errorf("carol is paused for %q as well", got)
	}
	w.ran(past{key: alice})
	contains(t, w.run(exitDone, "sources", "pause", "alice", "shop"), "under way ends by itself")
	contains(t, w.run(exitFailed, "sources", "pause", "dave", "shop"), "there is no source dave shop")
}

// What the configuration took away, an operator does not give back.
func TestResumeOfWhatIsRemoved(t *testing.T) {
	w := filledWorld(t)
	w.configure(providers + "sources: [{ user: alice, provider: shop }]\n")
	w.apply()
	w.run(exitDone, "sources", "pause", "bob", "desk")
	contains(t, w.run(exitDone, "sources", "resume", "bob", "desk"), "paused: not in the configuration")
	contains(t, w.run(exitDone, "status", "bob"), "paused: not in the configuration")
}

func TestRemove(t *testing.T) {
	w := filledWorld(t)
	w.ran(past{key: bob, counts: store.Counters{Inserted: 1}, outcome: done()})
	contains(t, w.run(exitFailed, "sources", "remove", "bob", "desk"), "take it out there first")
	w.configure(providers + "sources: [{ user: alice, provider: shop }]\n")
	w.apply()
	out, _, _ := w.try("__complete", "sources", "remove", "")
	if !strings.Contains(out, "bob") || !strings.Contains(out, "carol") || strings.Contains(out, "alice") {
		t.Errorf("completions: got %s, want bob and carol", out)
	}
	contains(t, w.run(exitDone, "sources", "remove", "bob", "desk"), "bob desk is removed; its records and its run log stay")
	if _, err := oneSource(t.Context(), w.store, bob); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want %v", err, store.ErrNotFound)
	}
	if runs, _ := w.store.Runs(t.Context(), store.RunFilter{User: "bob"}); len(runs) != 1 {
		t.Errorf("got %d runs, want the log to stay", len(runs))
	}
	// What it left can be deleted afterwards.
	contains(t, w.run(exitDone, "sources", "remove", "bob", "desk", "--purge"), "records are deleted")
	if runs, _ := w.store.Runs(t.Context(), store.RunFilter{User: "bob"}); len(runs) != 0 {
		t.Errorf("got %d runs, want none", len(runs))
	}
	contains(t, w.run(exitFailed, "sources", "remove", "bob", "desk", "--purge"), "no source bob desk")
	w.ran(past{key: carol})
	contains(t, w.run(exitFailed, "sources", "remove", "carol", "shop"), "is being run by daemon/1")
}

func TestPurgeAsks(t *testing.T) {
	w := filledWorld(t)
	w.insert(bob, "customers/1")
	w.configure(providers + "sources: [{ user: alice, provider: shop }]\n")
	w.apply()
	contains(t, w.run(exitUsage, "sources", "remove", "bob", "desk", "--purge"), "1 record of bob desk", "--yes")
	w.source(bob)
	w.run(exitDone, "sources", "remove", "bob", "desk", "--purge", "--yes")
	if counts, err := w.store.Count(t.Context(), bob); err != nil || len(counts) != 0 {
		t.Errorf("got %v, %v, want no records", counts, err)
	}
}

func TestSourcesList(t *testing.T) {
	w := filledWorld(t)
	w.ran(past{key: alice, outcome: done()})
	var rows []web.Source
	w.json(&rows, "sources", "list", "--provider", "shop")
	if len(rows) != 2 || rows[0].User != "alice" || rows[0].Connector != "sample" || rows[0].LastState != store.Done || rows[1].Resume != store.ResumeNew {
		t.Errorf("got %+v", rows)
	}
	if rows[0].DueAt == nil || time.Until(*rows[0].DueAt) < 50*time.Minute || rows[0].Schedule != "30 2 * * * (America/New_York)" {
		t.Errorf("got %+v", rows[0])
	}
	contains(t, w.run(exitDone, "sources", "list", "bob", "desk"), "@every 10m")
	w.json(&rows, "sources", "list", "dave")
	if rows == nil || len(rows) != 0 {
		t.Errorf("got %v, want an empty list", rows)
	}
}
