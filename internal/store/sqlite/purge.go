package sqlite

import (
	"context"
	"errors"

	"github.com/syncdhq/syncd/internal/store"
)

// Purge implements store.Queue. The cursors go first: one that is cut leaves a
// source that reads everything anew.
func (s *Store) Purge(ctx context.Context, key store.Key) error {
	claim, err := s.Acquire(ctx, key, "purge", removeLease)
	if err != nil {
		return err
	}
	r := &removal{s: s, lease: claim.Lease, removed: store.Tally{}}
	if err = r.clear(ctx, "cursors", "rejects", "records"); err == nil {
		err = r.clearChanges(ctx)
	}
	return errors.Join(err, s.Release(context.WithoutCancel(ctx), claim.Lease))
}
