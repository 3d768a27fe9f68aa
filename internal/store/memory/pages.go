package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// Update implements store.Pages.
func (s *Store) Update(ctx context.Context, lease store.Lease, f func(ctx context.Context, tx store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.held(lease); err != nil {
		return err
	}
	t := &tx{s: s, key: lease.Key, now: s.now()}
	committed := false
	defer func() { // also when f panics
		t.over = true
		if !committed {
			t.undo(0)
		}
	}()
	if err := f(ctx, t); err != nil {
		return err
	}
	if t.dead != nil {
		return fmt.Errorf("commit for source %s after an error: %w", lease.Key, t.dead)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := s.held(lease); err != nil {
		return err
	}
	committed = true
	return nil
}

// held returns the source of a lease that still holds.
func (s *Store) held(lease store.Lease) (*source, error) {
	src := s.sources[lease.Key]
	if src == nil || src.token != lease.Token || !src.leaseUntil.After(s.now()) {
		return nil, fmt.Errorf("source %s under token %d: %w", lease.Key, lease.Token, store.ErrLeaseLost)
	}
	return src, nil
}

// Cursors implements store.Pages.
func (s *Store) Cursors(ctx context.Context, key store.Key) ([]store.Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Cursor
	for _, c := range s.cursors[key] {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b store.Cursor) int {
		return cmp.Or(strings.Compare(a.Stream, b.Stream), strings.Compare(a.Part, b.Part))
	})
	return out, nil
}

// Empty implements store.Pages.
func (s *Store) Empty(ctx context.Context, key store.Key, prefix string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.records[key] {
		if strings.HasPrefix(id, prefix) {
			return false, nil
		}
	}
	return true, nil
}

// Live implements store.Pages.
func (s *Store) Live(ctx context.Context, key store.Key, prefix, after string, before time.Time, limit int) ([]store.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Head
	for _, r := range s.sorted(key) {
		if len(out) == limit {
			break
		}
		if strings.HasPrefix(r.ID, prefix) && r.ID > after && !r.Deleted && r.updatedAt.Before(before) {
			out = append(out, r.head())
		}
	}
	return out, nil
}

// sorted returns a source's records by external id.
func (s *Store) sorted(key store.Key) []*record {
	out := make([]*record, 0, len(s.records[key]))
	for _, r := range s.records[key] {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *record) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (r *record) head() store.Head {
	return store.Head{
		ID: r.ID, Found: true, Mark: r.Mark, Version: r.Version,
		Hash: r.Hash, Deleted: r.Deleted, Absent: r.Absent,
	}
}
