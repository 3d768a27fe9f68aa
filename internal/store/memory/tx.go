package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// A tx writes into the store at once and keeps how to take it back.
type tx struct {
	s       *Store
	key     store.Key
	now     time.Time
	journal []func() // each takes one write back
	dead    error    // why nothing can be written any more
	over    bool     // Update has returned
}

var errOver = errors.New("the transaction is over")

// undo takes back all writes but the first n.
func (t *tx) undo(n int) {
	for _, f := range slices.Backward(t.journal[n:]) {
		f()
	}
	t.journal = t.journal[:n]
}

// usable reports why the transaction can't be used.
func (t *tx) usable(ctx context.Context) error {
	switch {
	case t.over:
		return errOver
	case t.dead != nil:
		return fmt.Errorf("the transaction is dead: %w", t.dead)
	}
	return ctx.Err()
}

// write runs f, which changes the store; its error ends the transaction.
func (t *tx) write(ctx context.Context, f func() error) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	err := f()
	if err != nil {
		t.dead = err
	}
	return err
}

// set stores m[k] = v so that it can be taken back.
func set[K comparable, V any](t *tx, m map[K]V, k K, v V) {
	old, had := m[k]
	m[k] = v
	t.journal = append(t.journal, func() {
		if had {
			m[k] = old
		} else {
			delete(m, k)
		}
	})
}

// Heads implements store.Tx.
func (t *tx) Heads(ctx context.Context, ids []string) ([]store.Head, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	out := make([]store.Head, len(ids))
	for i, id := range ids {
		if r := t.s.records[t.key][id]; r != nil {
			out[i] = r.head()
		} else {
			out[i].ID = id
		}
	}
	return out, nil
}

// Data implements store.Tx.
func (t *tx) Data(ctx context.Context, ids []string) ([][]byte, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	out := make([][]byte, len(ids))
	for i, id := range ids {
		if r := t.s.records[t.key][id]; r != nil {
			out[i] = slices.Clone(r.Data)
		}
	}
	return out, nil
}

// Insert implements store.Tx.
func (t *tx) Insert(ctx context.Context, rows []store.Row) error {
	return t.write(ctx, func() error {
		for _, r := range rows {
			if err := limits.Row(r); err != nil {
				return err
			}
			if t.s.records[t.key][r.ID] != nil {
				return fmt.Errorf("insert record %q: %w", r.ID, store.ErrConflict)
			}
			t.put(r, nil)
		}
		return nil
	})
}

// Put implements store.Tx.
func (t *tx) Put(ctx context.Context, rows []store.Row) error {
	return t.write(ctx, func() error {
		for _, r := range rows {
			if err := limits.Row(r); err != nil {
				return err
			}
			old := t.s.records[t.key][r.ID]
			if old != nil && (old.Mark > r.Mark || old.Version != r.Version-1) {
				return fmt.Errorf("put record %q, version %d: %w", r.ID, r.Version, store.ErrConflict)
			}
			t.put(r, old)
		}
		return nil
	})
}

// put stores a row over the record that is there, if any.
func (t *tx) put(r store.Row, old *record) {
	rec := &record{Row: r, firstSeenAt: t.now, updatedAt: t.now}
	rec.Data = slices.Clone(r.Data)
	if r.Deleted {
		rec.deletedAt = t.now
	}
	if old != nil {
		rec.firstSeenAt = old.firstSeenAt
		if r.Data == nil {
			rec.Data, rec.Hash = old.Data, old.Hash
		}
		if r.Deleted && old.Deleted {
			rec.deletedAt = old.deletedAt
		}
	}
	if t.s.records[t.key] == nil {
		t.s.records[t.key] = map[string]*record{}
	}
	set(t, t.s.records[t.key], r.ID, rec)
}

// Touch implements store.Tx.
func (t *tx) Touch(ctx context.Context, rows []store.Row) error {
	return t.write(ctx, func() error {
		for _, r := range rows {
			if old := t.s.records[t.key][r.ID]; old != nil {
				rec := *old
				rec.Mark = r.Mark
				set(t, t.s.records[t.key], r.ID, &rec)
			}
		}
		return nil
	})
}

// Try implements store.Tx.
func (t *tx) Try(ctx context.Context, f func() error) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	n := len(t.journal)
	err := f()
	if err == nil {
		err = t.dead // f kept an error to itself
	}
	if err != nil {
		t.undo(n)
		t.dead = nil
	}
	return err
}
