package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/store"
)

// insert puts a record into a source, whatever else.
func (w *world) insert(key store.Key, id string) {
	w.Helper()
	w.must(underLease(w.Context(), w.store, key, func(ctx context.Context, tx store.Tx) error {
		stream, _, _ := strings.Cut(id, "/")
		return tx.Insert(ctx, []store.Row{{ID: id, Stream: stream, Data: []byte(`{}`), Version: 1}})
	}))
}

// threeCursors are one of times, one of sequence numbers, and one of a walk
// under way.
func threeCursors() []store.Cursor {
	at := func(text string) syncd.Mark {
		t, _ := time.Parse(time.RFC3339, text)
		return syncd.At(t)
	}
	return []store.Cursor{
		read("customers", cursor.State{Watermark: at("2026-06-01T12:00:00Z"), Sync: strings.Repeat("secret", 20)}),
		read("orders", cursor.State{Watermark: 1 << 60}),
		read("tickets", cursor.State{Walk: &cursor.Walk{Began: time.Now().Add(-3 * time.Minute), Full: true, Page: "p2"}}),
	}
}

func TestCursorShowOwedDeletions(t *testing.T) {
	w := filledWorld(t)
	began := time.Now().Add(-3 * time.Minute)
	w.ran(past{key: alice, outcome: done(), cursors: []store.Cursor{
		read("orders", cursor.State{Walk: &cursor.Walk{Began: began, Full: true, Again: true}}),
	}})
	contains(t, w.run(exitDone, "cursor", "show", "alice", "shop"), "ended, begun 3m ago, what is gone is not deleted yet")
}

func TestCursorShow(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "cursor", "show", "alice", "shop"), "nothing has been read yet")
	cursors := threeCursors()
	w.ran(past{key: alice, cursors: cursors, outcome: done()})
	out := w.run(exitDone, "cursor", "show", "alice", "shop")
	contains(t, out,
		"customers", "2026-06-01 12:00:00 UTC", "secretsecretsecretsec...",
		"orders", "1152921504606846976", // as a time it would be in 2006
		"tickets", "reading everything, begun 3m ago, pages left unknown")
	if strings.Contains(out, strings.Repeat("secret", 5)) {
		t.Errorf("the sync token is not shortened: %s", out)
	}
	var rows []cursorRow
	w.json(&rows, "cursor", "show", "alice", "shop")
	for i, c := range cursors {
		if rows[i].State != c.State || rows[i].Stream != c.Stream || rows[i].Watermark != c.Watermark {
			t.Errorf("got %+v, want the state %s", rows[i], c.State)
		}
	}
	if rows[0].Time == nil || rows[1].Time != nil || rows[2].Time != nil {
		t.Errorf("watermark_time: got %v, %v, %v, want one of the first alone", rows[0].Time, rows[1].Time, rows[2].Time)
	}
	w.json(&rows, "cursor", "show", "alice", "shop", "--stream", "orders")
	if len(rows) != 1 || rows[0].Stream != "orders" {
		t.Errorf("--stream orders: got %+v", rows)
	}
	contains(t, w.run(exitFailed, "cursor", "show", "alice", "shop", "--stream", "order"), "it has customers, orders, tickets")
	contains(t, w.run(exitFailed, "cursor", "show", "dave", "shop"), "no source dave shop")
}

func TestCursorReset(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "cursor", "reset", "alice", "shop"), "nothing to reset")
	w.ran(past{key: alice, cursors: threeCursors(), outcome: done()})
	w.ran(past{key: carol, cursors: threeCursors(), outcome: done()})
	due := w.source(alice).DueAt

	contains(t, w.run(exitFailed, "cursor", "reset", "alice", "shop", "--stream", "order"), "it has customers, orders, tickets")
	contains(t, w.run(exitDone, "cursor", "reset", "alice", "shop", "--stream", "orders"), "1 cursor of alice shop dropped", "due in 59m", "all of orders once more", "nothing is inserted twice")
	w.left(alice, "customers", "tickets")
	contains(t, w.run(exitDone, "cursor", "reset", "alice", "shop"), "2 cursors of alice shop dropped", "reads everything once more")
	w.left(alice)
	w.left(carol, "customers", "orders", "tickets")

	row := w.source(alice)
	if row.Owner != "" || !row.LeaseUntil.IsZero() || !row.DueAt.Equal(due) {
		t.Errorf("got %+v, want the lease given back and due at %s as before", row, due)
	}
}

func TestResetWaitsForNobody(t *testing.T) {
	w := filledWorld(t)
	w.ran(past{key: alice, cursors: threeCursors()})
	contains(t, w.run(exitFailed, "cursor", "reset", "alice", "shop"), "alice shop is being run by daemon/1")
	w.left(alice, "customers", "orders", "tickets")
}

// left checks which streams a source has cursors of.
func (w *world) left(key store.Key, want ...string) {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), key)
	w.must(err)
	var got []string
	for _, c := range cursors {
		got = append(got, c.Stream)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		w.Errorf("%s has cursors of %q, want %q", key, got, want)
	}
}
