package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// purgeLease is for how long a purge keeps runs off.
const purgeLease = time.Hour

// Purge implements store.Queue. The cursors go first: one that is cut leaves a
// source that reads everything anew.
func (s *Store) Purge(ctx context.Context, key store.Key) error {
	claim, err := s.Acquire(ctx, key, "purge", purgeLease)
	if err != nil {
		return err
	}
	removed := store.Tally{}
	for _, table := range []string{"cursors", "rejects"} {
		if err == nil {
			err = s.purgeFew(ctx, table, "true", key, removed)
		}
	}
	if err == nil {
		err = s.purgeTable(ctx, "records", "external_id", "true", key, removed)
	}
	if err == nil {
		err = s.purgeChanges(ctx, ofSource, removed, key.User, key.Provider)
	}
	return errors.Join(err, s.Release(context.WithoutCancel(ctx), claim.Lease))
}
