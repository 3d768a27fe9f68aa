package memory

import (
	"context"
	"maps"

	"github.com/syncdhq/syncd/internal/store"
)

// Purge implements store.Queue.
func (s *Store) Purge(ctx context.Context, key store.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.idle(key); err != nil {
		return err
	}
	delete(s.cursors, key)
	delete(s.records, key)
	maps.DeleteFunc(s.rejects, func(_ int64, r *store.Reject) bool { return r.Key == key })
	maps.DeleteFunc(s.rejectIDs, func(k rejectKey, _ int64) bool { return k.key == key })
	s.removeChanges(func(of store.Key) bool { return of == key }, store.Tally{})
	return nil
}
