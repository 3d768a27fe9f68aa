package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
)

// Purge implements store.Queue. The cursors go first: one that is cut leaves a
// source that reads everything anew.
func (s *Store) Purge(ctx context.Context, key store.Key) error {
	claim, err := s.Acquire(ctx, key, "purge", removeLease)
	if err != nil {
		return err
	}
	lease := claim.Lease
	err = s.purge(ctx, lease)
	return errors.Join(err, s.Release(context.WithoutCancel(ctx), lease))
}

func (s *Store) purge(ctx context.Context, lease store.Lease) error {
	for _, table := range []string{"cursors", "rejects", "records"} {
		statement := fmt.Sprintf("DELETE FROM %[1]s WHERE rowid IN (SELECT rowid FROM %[1]s WHERE %[2]s LIMIT %[3]d)", table, ofSource, removeRows)
		for {
			n, err := s.removeStep(ctx, lease, false, statement, lease.User, lease.Provider)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	_, err := s.removeChanges(ctx, lease, false)
	return err
}
