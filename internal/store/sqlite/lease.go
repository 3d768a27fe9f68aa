package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// Renew implements store.Queue.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, ttl time.Duration) (lost []store.Lease, err error) {
	if len(leases) == 0 {
		return nil, ctx.Err()
	}
	err = s.transact(ctx, func(ctx context.Context, w *writer) error {
		lost = nil
		now := s.now()
		for _, l := range leases {
			n, err := w.exec(ctx, "UPDATE sources SET lease_until = ? WHERE "+ofSource+" AND lease_token = ? AND lease_until > ?",
				now+ttl.Microseconds(), l.User, l.Provider, l.Token, now)
			if err != nil {
				return fail(err, "renew the lease of source %s", l.Key)
			}
			if n == 0 {
				lost = append(lost, l)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// Release implements store.Queue.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, "UPDATE sources SET lease_owner = '', lease_until = NULL WHERE "+ofSource+" AND lease_token = ?",
			lease.User, lease.Provider, lease.Token)
		return fail(err, "give back the lease of source %s", lease.Key)
	})
}

// NextWake implements store.Queue.
func (s *Store) NextWake(ctx context.Context) (time.Time, bool, error) {
	var first sql.NullInt64
	err := s.read(ctx, "look for what is due next", "SELECT wake_at FROM sources WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1", nil,
		func(r *sql.Rows) error { return r.Scan(&first) })
	return moment(first), first.Valid, err
}

// Reschedule implements store.Queue.
func (s *Store) Reschedule(ctx context.Context, key store.Key, nextAt, dueAt time.Time) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		if _, err := idle(ctx, w, key, s.now()); err != nil {
			return err
		}
		_, err := w.exec(ctx, "UPDATE sources SET next_at = ?, due_at = ? WHERE "+ofSource, stamp(nextAt), stamp(dueAt), key.User, key.Provider)
		return fail(err, "reschedule source %s", key)
	})
}
