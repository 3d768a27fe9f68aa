package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Reject implements store.Tx.
func (t *tx) Reject(ctx context.Context, rejects []store.Reject) error {
	return t.write(ctx, func() error {
		for _, r := range rejects {
			t.reject(limits.Reject(r))
		}
		return nil
	})
}

func (t *tx) reject(r store.Reject) {
	k := rejectKey{t.key, r.Stream, r.Part, r.Digest}
	if id, ok := t.s.rejectIDs[k]; ok {
		again := *t.s.rejects[id]
		again.RunID, again.LastAt, again.Times = r.RunID, t.now, again.Times+1
		set(t, t.s.rejects, id, &again)
		return
	}
	t.s.lastReject++ // as a sequence: not taken back
	r.ID, r.Key = t.s.lastReject, t.key
	r.Raw = slices.Clone(r.Raw)
	r.FirstAt, r.LastAt, r.Times, r.Resolution = t.now, t.now, 1, ""
	set(t, t.s.rejects, r.ID, &r)
	set(t, t.s.rejectIDs, k, r.ID)
}

// Resolve implements store.Tx.
func (t *tx) Resolve(ctx context.Context, rejectID int64, resolution, runID string) error {
	return t.write(ctx, func() error {
		old := t.s.rejects[rejectID]
		if old == nil || old.Key != t.key {
			return fmt.Errorf("resolve reject %d of source %s: %w", rejectID, t.key, store.ErrNotFound)
		}
		r := *old
		r.Resolution = resolution
		set(t, t.s.rejects, rejectID, &r)
		return nil
	})
}

// Change implements store.Tx.
func (t *tx) Change(ctx context.Context, changes []store.Change) error {
	return t.write(ctx, func() error {
		n := len(t.s.changes)
		for _, c := range changes {
			t.s.lastChange++ // as a sequence: not taken back
			t.s.changes = append(t.s.changes, change{t.key, c, t.s.lastChange, t.now})
		}
		t.journal = append(t.journal, func() { t.s.changes = t.s.changes[:n] })
		return nil
	})
}

// SaveCursor implements store.Tx.
func (t *tx) SaveCursor(ctx context.Context, c store.Cursor) error {
	return t.write(ctx, func() error {
		if err := limits.Cursor(c); err != nil {
			return err
		}
		c.UpdatedAt = t.now
		if t.s.cursors[t.key] == nil {
			t.s.cursors[t.key] = map[cursorKey]store.Cursor{}
		}
		set(t, t.s.cursors[t.key], cursorKey{c.Stream, c.Part}, c)
		return nil
	})
}

// DropCursors implements store.Tx.
func (t *tx) DropCursors(ctx context.Context, stream string) error {
	return t.write(ctx, func() error {
		old := t.s.cursors[t.key]
		left := maps.Clone(old)
		maps.DeleteFunc(left, func(k cursorKey, _ store.Cursor) bool { return stream == "" || k.stream == stream })
		set(t, t.s.cursors, t.key, left)
		return nil
	})
}

// Progress implements store.Tx.
func (t *tx) Progress(ctx context.Context, p store.Progress) error {
	return t.write(ctx, func() error {
		old := t.s.runs[p.RunID]
		if old == nil || old.Key != t.key {
			return fmt.Errorf("progress of run %q of source %s: %w", p.RunID, t.key, store.ErrNotFound)
		}
		run := *old
		run.Counters = run.Counters.Add(p.Counters)
		run.Pages += p.Pages
		if p.Input != "" {
			run.Input = limits.Text(p.Input)
		}
		if p.Notes != "" {
			run.Notes = limits.Text(p.Notes)
		}
		set(t, t.s.runs, p.RunID, &run)
		return nil
	})
}
