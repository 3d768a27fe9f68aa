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
// credential first and the source last. One that is cut leaves a source that reads
// everything anew, or that is removed by the next Remove.
func (s *Store) Remove(ctx context.Context, key store.Key, purge bool) (err error) {
	r, err := s.beginRemoval(ctx, key)
	if err == nil && r.absent && !purge { // what an earlier Remove left can be purged
		err = fail(store.ErrNotFound, "source %s", key)
	}
	if err != nil {
		return err
	}
	defer func() { err = r.giveBack(ctx, err) }()
	tables := []string{"rejects"}
	if purge {
		tables = append(tables, "records", "runs")
	}
	if err := r.clear(ctx, tables...); err != nil {
		return err
	}
	if purge {
		if err := r.clearChanges(ctx); err != nil {
			return err
		}
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	if r.removed.Rows() == 0 {
		return fail(store.ErrNotFound, "source %s", key)
	}
	return nil
}

// A removal deletes what a source has in steps, each a transaction that renews
// its lease, or makes sure that there is no source still.
type removal struct {
	s       *Store
	lease   store.Lease
	absent  bool        // there is no source: it is about what one left
	removed store.Tally // so far
}

// beginRemoval takes the lease and deletes the cursors and the credential, if
// there is the source.
func (s *Store) beginRemoval(ctx context.Context, key store.Key) (*removal, error) {
	r := &removal{s: s, lease: store.Lease{Key: key, Owner: "removal"}, removed: store.Tally{}}
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		src, err := idle(ctx, w, key, now)
		if errors.Is(err, store.ErrNotFound) {
			r.absent = true
			return nil
		}
		if err != nil {
			return err
		}
		c, err := take(ctx, w, &src, r.lease.Owner, now, removeLease)
		for _, table := range []string{"cursors", "credentials"} {
			var n int64
			if err == nil {
				n, err = w.exec(ctx, "DELETE FROM "+table+" WHERE "+ofSource, key.User, key.Provider)
			}
			r.removed.Add(key.Provider, table, n)
		}
		r.lease.Token = c.Token
		return fail(err, "remove source %s", key)
	})
	return r, err
}

// step deletes rows of a table.
func (r *removal) step(ctx context.Context, table, statement string, args ...any) (int64, error) {
	var n int64
	key := r.lease.Key
	err := r.s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := r.s.now()
		held, err := w.exec(ctx, "UPDATE sources SET lease_until = max(lease_until, ?) WHERE "+ofSource+" AND (? OR lease_token = ? AND lease_until > ?)",
			now+removeLease.Microseconds(), key.User, key.Provider, r.absent, r.lease.Token, now)
		switch {
		case err != nil:
		case r.absent && held > 0:
			err = errors.New("it was added again in the meantime")
		case !r.absent && held == 0:
			err = store.ErrLeaseLost
		default:
			n, err = w.exec(ctx, statement, args...)
		}
		return fail(err, "remove source %s", key)
	})
	if err != nil {
		return 0, err
	}
	r.removed.Add(key.Provider, table, n)
	return n, nil
}

// clear deletes the source's rows of tables that have an index by source.
func (r *removal) clear(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		statement := "DELETE FROM " + table + " WHERE rowid IN (SELECT rowid FROM " + table + " WHERE " + ofSource + fmt.Sprintf(" LIMIT %d)", removeRows)
		for {
			n, err := r.step(ctx, table, statement, r.lease.User, r.lease.Provider)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// clearChanges deletes the source's changes in steps over the outbox.
func (r *removal) clearChanges(ctx context.Context) error {
	first, last, err := r.s.outbox(ctx)
	for ; err == nil && first <= last; first += changesAtOnce {
		_, err = r.step(ctx, "changes", "DELETE FROM changes WHERE seq >= ? AND seq < ? AND "+ofSource,
			first, first+changesAtOnce, r.lease.User, r.lease.Provider)
	}
	return err
}

// giveBack gives the lease of a removal that err has cut back, so that it can go
// on at once.
func (r *removal) giveBack(ctx context.Context, err error) error {
	if err == nil || r.absent {
		return err
	}
	return errors.Join(err, r.s.Release(context.WithoutCancel(ctx), r.lease))
}

// end deletes the source itself.
func (r *removal) end(ctx context.Context) error {
	if r.absent {
		return nil
	}
	_, err := r.step(ctx, "sources", "DELETE FROM sources WHERE "+ofSource, r.lease.User, r.lease.Provider)
	return err
}
