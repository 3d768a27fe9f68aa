package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

type memoKey struct{ kind, id string }

// Memo implements store.Memos.
func (s *Store) Memo(ctx context.Context, kind, id string) (store.Memo, error) {
	if err := ctx.Err(); err != nil {
		return store.Memo{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.memos[memoKey{kind, id}]
	if !ok || !m.ExpiresAt.After(s.now()) {
		return store.Memo{}, fmt.Errorf("memo %s: %w", kind, store.ErrNotFound)
	}
	return m, nil
}

// PutMemo implements store.Memos.
func (s *Store) PutMemo(ctx context.Context, m store.Memo, ttl time.Duration) (int64, error) {
	if err := limits.Memo(m); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := memoKey{m.Kind, m.ID}, s.now()
	old := s.memos[key]
	if !old.ExpiresAt.After(now) {
		old = store.Memo{}
	}
	if old.Version != m.Version {
		return 0, fmt.Errorf("memo %s: %w", m.Kind, store.ErrConflict)
	}
	m.Version++
	m.ExpiresAt = micro(now.Add(ttl))
	s.memos[key] = m
	return m.Version, nil
}

// SweepMemos implements store.Memos.
func (s *Store) SweepMemos(ctx context.Context, limit int) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	for key, memo := range s.memos {
		if !memo.ExpiresAt.After(s.now()) && n < int64(limit) {
			delete(s.memos, key)
			n++
		}
	}
	return n, nil
}
