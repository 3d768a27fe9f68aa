package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// removeRows is how many rows one step of a removal deletes, changesAtOnce how
// many numbers of the outbox it looks at: that table has no index by source.
const (
	removeRows    = 2_000
	changesAtOnce = 50_000
)

// removeLease is for how long a step holds the source's lease.
const removeLease = time.Minute

// Remove implements store.Queue. It takes the lease, deletes cursors and
// credential first and the source last. One that is cut leaves a source that reads everything
// anew, or that is removed by the next Remove.
func (s *Store) Remove(ctx context.Context, key store.Key, purge bool) error {
	lease, err := s.beginRemoval(ctx, key)
	absent := errors.Is(err, store.ErrNotFound)
	if err != nil && !(absent && purge) { // what an earlier Remove left can be purged
		return err
	}
	tables := []string{"rejects"}
	if purge {
		tables = append(tables, "records", "runs")
	}
	var total int64
	for _, table := range tables {
		statement := "DELETE FROM " + table + " WHERE rowid IN (SELECT rowid FROM " + table + " WHERE " + ofSource + fmt.Sprintf(" LIMIT %d)", removeRows)
		for {
			n, err := s.removeStep(ctx, lease, absent, statement, key.User, key.Provider)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			total += n
		}
	}
	if purge {
		n, err := s.removeChanges(ctx, lease, absent)
		if err != nil {
			return err
		}
		total += n
	}
	if !absent {
		_, err = s.removeStep(ctx, lease, false, "DELETE FROM sources WHERE "+ofSource, key.User, key.Provider)
		return err
	}
	if total == 0 {
		return fail(store.ErrNotFound, "source %s", key)
	}
	return nil
}

// beginRemoval takes the lease and deletes the cursors and the credential.
func (s *Store) beginRemoval(ctx context.Context, key store.Key) (store.Lease, error) {
	lease := store.Lease{Key: key, Owner: "removal"}
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		src, err := idle(ctx, w, key, now)
		if err != nil {
			return err
		}
		c, err := take(ctx, w, &src, lease.Owner, now, removeLease)
		if err == nil {
			_, err = w.exec(ctx, "DELETE FROM cursors WHERE "+ofSource, key.User, key.Provider)
		}
		if err == nil {
			_, err = w.exec(ctx, "DELETE FROM credentials WHERE "+ofSource, key.User, key.Provider)
		}
		lease = c.Lease
		return fail(err, "remove source %s", key)
	})
	lease.Key = key
	return lease, err
}

// removeStep deletes rows in a transaction of its own that renews the lease, or
// makes sure that the source is still absent.
func (s *Store) removeStep(ctx context.Context, lease store.Lease, absent bool, statement string, args ...any) (int64, error) {
	var n int64
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		held, err := w.exec(ctx, "UPDATE sources SET lease_until = max(lease_until, ?) WHERE "+ofSource+" AND (? OR lease_token = ? AND lease_until > ?)",
			now+removeLease.Microseconds(), lease.User, lease.Provider, absent, lease.Token, now)
		switch {
		case err != nil:
		case absent && held > 0:
			err = errors.New("it was added again in the meantime")
		case !absent && held == 0:
			err = store.ErrLeaseLost
		default:
			n, err = w.exec(ctx, statement, args...)
		}
		return fail(err, "remove source %s", lease.Key)
	})
	return n, err
}

// removeChanges deletes the changes of a source in steps over the outbox.
func (s *Store) removeChanges(ctx context.Context, lease store.Lease, absent bool) (int64, error) {
	var first, last int64
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.row(ctx, "SELECT COALESCE(min(seq), 1), COALESCE(max(seq), 0) FROM changes", nil, &first, &last)
		return fail(err, "remove source %s", lease.Key)
	})
	var total int64
	for ; err == nil && first <= last; first += changesAtOnce {
		var n int64
		n, err = s.removeStep(ctx, lease, absent, "DELETE FROM changes WHERE seq >= ? AND seq < ? AND "+ofSource,
			first, first+changesAtOnce, lease.User, lease.Provider)
		total += n
	}
	return total, err
}
