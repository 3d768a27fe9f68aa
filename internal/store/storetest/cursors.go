package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
)

var cursorCases = []testCase{
	{"states come back byte for byte", cursorBytes},
	{"one row per stream and part, in order", cursorParts},
	{"DropCursors drops a stream, or all", cursorDrop},
}

var progressCases = []testCase{
	{"pages and counters add up", progressAddsUp},
	{"only of a run of the source", progressForeign},
}

// randomState is a cursor's state with a token of up to 4 kB of any characters.
func randomState(r *rand.Rand) string {
	var token strings.Builder
	for n := r.IntN(4096); token.Len() < n; {
		switch r.IntN(4) {
		case 0:
			token.WriteRune(rune(1 + r.IntN(0x7f)))
		case 1:
			token.WriteRune(rune(0xa0 + r.IntN(0x2000)))
		case 2:
			token.WriteRune(rune(0x1f300 + r.IntN(0x300)))
		default:
			token.WriteString([]string{"\u2028", "e\u0301", "\u00e9", "\\", `"`, "'", "<&>", "+02:00"}[r.IntN(8)])
		}
	}
	text, err := json.Marshal(map[string]any{
		"watermark": r.Int64(), "sync": token.String(),
		"full_at": fmt.Sprintf("2026-01-01T00:00:00.%09d+0%d:30", r.IntN(1e9), r.IntN(10)),
	})
	if err != nil {
		panic(err) // a map of texts and numbers
	}
	return strings.Repeat(" ", r.IntN(3)) + string(text)
}

func cursorBytes(e *env) {
	lease, runID := e.open()
	r := rand.New(rand.NewPCG(3, 4))
	want := map[string]string{}
	for range 10 {
		e.update(lease, func(tx store.Tx) error {
			for range 100 {
				part := fmt.Sprint(r.IntN(500)) // some are written again
				want[part] = randomState(r)
				c := store.Cursor{Stream: "issues", Part: part, State: want[part], Watermark: r.Int64(), RunID: runID}
				if err := tx.SaveCursor(e.ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	got, err := e.s.Cursors(e.ctx, alice)
	e.ok(err)
	if len(got) != len(want) {
		e.Errorf("got %d cursors, want %d", len(got), len(want))
	}
	for _, c := range got {
		if c.State != want[c.Part] {
			e.Fatalf("part %s: got %q, want %q", c.Part, c.State, want[c.Part])
		}
	}
}

func cursorParts(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	lease, other := e.acquire(alice), e.acquire(bob)
	save := func(l store.Lease, c store.Cursor) {
		e.Helper()
		e.update(l, func(tx store.Tx) error { return tx.SaveCursor(e.ctx, c) })
	}
	for _, part := range []string{"b", "", "B", "a", "é", "e\u0301"} {
		save(lease, store.Cursor{Stream: "issues", Part: part, State: "1", RunID: "run-1"})
	}
	save(lease, store.Cursor{Stream: "Pulls", State: "1", RunID: "run-1"})
	save(other, store.Cursor{Stream: "issues", State: "of bob", RunID: "run-1"})
	before, err := e.s.Cursors(e.ctx, alice)
	e.ok(err)
	e.tick()
	save(lease, store.Cursor{Stream: "issues", Part: "a", State: "2", Watermark: -5, RunID: "run-2"})
	got, err := e.s.Cursors(e.ctx, alice)
	e.ok(err)
	var names []string
	for i, c := range got {
		names = append(names, c.Stream+":"+c.Part)
		if c.Part == "a" {
			if c.State != "2" || c.Watermark != -5 || c.RunID != "run-2" || !c.UpdatedAt.After(before[i].UpdatedAt) {
				e.Errorf("written again: got %+v", c)
			}
		} else if c != before[i] {
			e.Errorf("got %+v, want %+v", c, before[i])
		}
	}
	e.same("order", names, []string{"Pulls:", "issues:", "issues:B", "issues:a", "issues:b", "issues:e\u0301", "issues:é"})
}

func cursorDrop(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	lease, other := e.acquire(alice), e.acquire(bob)
	for _, l := range []store.Lease{lease, other} {
		e.update(l, func(tx store.Tx) error {
			for _, c := range []store.Cursor{{Stream: "a"}, {Stream: "a", Part: "p"}, {Stream: "ab"}, {Stream: "b"}} {
				e.ok(tx.SaveCursor(e.ctx, c))
			}
			return nil
		})
	}
	for _, c := range []struct {
		stream string
		want   []string
	}{
		{"a", []string{"ab", "b"}}, {"none", []string{"ab", "b"}}, {"", nil},
	} {
		e.update(lease, func(tx store.Tx) error { return tx.DropCursors(e.ctx, c.stream) })
		rows, err := e.s.Cursors(e.ctx, alice)
		e.ok(err)
		var got []string
		for _, r := range rows {
			got = append(got, r.Stream)
		}
		e.same("after dropping "+c.stream, got, c.want)
	}
	if rows, err := e.s.Cursors(e.ctx, bob); err != nil || len(rows) != 4 {
		e.Errorf("bob's: got %d cursors, %v, want 4", len(rows), err)
	}
}

func progressAddsUp(e *env) {
	lease, runID := e.open()
	c := store.Counters{Inserted: 1, Updated: 2, Unchanged: 3, Stale: 4, Deleted: 5, Restored: 6, Rejected: 7, Duplicate: 8}
	for _, p := range []store.Progress{
		{RunID: runID, Counters: c, Pages: 1, Input: "first", Notes: "one"},
		{RunID: runID, Counters: c, Pages: 2},
		{RunID: runID, Counters: store.Counters{Inserted: 1 << 40}, Notes: "two\nthree"},
	} {
		e.update(lease, func(tx store.Tx) error { return tx.Progress(e.ctx, p) })
	}
	want := c.Add(c)
	want.Inserted += 1 << 40
	got := e.run(runID)
	e.same("counters", got.Counters, want)
	if got.Pages != 3 || got.Input != "first" || got.Notes != "two\nthree" || got.State != store.Running {
		e.Errorf("got %+v", got)
	}
}

func progressForeign(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	lease, other := e.acquire(alice), e.acquire(bob)
	runID := e.begin(lease)
	for l, id := range map[store.Lease]string{other: runID, lease: "no such run"} {
		err := e.s.Update(e.ctx, l, func(ctx context.Context, tx store.Tx) error {
			return tx.Progress(ctx, store.Progress{RunID: id, Pages: 1})
		})
		e.is("progress", err, store.ErrNotFound)
	}
	if got := e.run(runID).Pages; got != 0 {
		e.Errorf("got %d pages, want none", got)
	}
}
