package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
)

// Remove implements store.Queue. The source goes first, with its cursors and
// rejects; what purge deletes follows in transactions of a few thousand rows,
// and a purge that was broken off goes on when it is asked for again.
func (s *Store) Remove(ctx context.Context, key store.Key, purge bool) error {
	removed := store.Tally{}
	err := s.removeSource(ctx, key, removed)
	if gone := errors.Is(err, store.ErrNotFound); err != nil && (!gone || !purge) || !purge {
		return err
	}
	err = s.purgeLeft(ctx, key, removed)
	if err == nil {
		err = s.purgeChanges(ctx, ofSource+" AND "+noSource, removed, key.User, key.Provider)
	}
	if err == nil && removed.Rows() == 0 {
		return fail(store.ErrNotFound, "remove source %s", key)
	}
	return err
}

// removeSource deletes a source with what is its own, in one transaction.
func (s *Store) removeSource(ctx context.Context, key store.Key, removed store.Tally) error {
	var done store.Tally
	err := s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		done = store.Tally{}
		return fail(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return removeSource(ctx, tx, key, done) }), "remove source %s", key)
	})
	if err == nil {
		removed.AddAll(done)
	}
	return err
}

func removeSource(ctx context.Context, tx pgx.Tx, key store.Key, done store.Tally) error {
	var owner string
	var until pgtype.Timestamptz
	var busy bool
	err := tx.QueryRow(ctx, "SELECT lease_owner, lease_until, COALESCE(lease_until > clock_timestamp(), false) FROM sources WHERE "+ofSource+" FOR UPDATE",
		key.User, key.Provider).Scan(&owner, &until, &busy)
	if err != nil {
		return missing(err)
	}
	if busy {
		return &store.LeasedError{Key: key, Owner: owner, Until: moment(until)}
	}
	for _, table := range []string{"cursors", "rejects", "credentials", "sources"} {
		tag, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE "+ofSource, key.User, key.Provider)
		if err != nil {
			return err
		}
		done.Add(key.Provider, table, tag.RowsAffected())
	}
	return nil
}

// How much one step of a purge deletes, and how many numbers of the outbox it
// looks at: that table has no index by source.
const (
	purgeRows    = 5_000
	purgeChanges = 50_000
)

// noSource keeps a purge from the rows (of t) of a source that was added again
// meanwhile.
const noSource = "NOT EXISTS (SELECT FROM sources s WHERE s.user_id = t.user_id AND s.provider = t.provider)"

// purgeLeft deletes the records and runs that a source has left.
func (s *Store) purgeLeft(ctx context.Context, key store.Key, removed store.Tally) error {
	for _, table := range [][2]string{{"records", "external_id"}, {"runs", "id"}} {
		if err := s.purgeTable(ctx, table[0], table[1], noSource, key, removed); err != nil {
			return err
		}
	}
	return nil
}

// purgeTable deletes the rows of a source in the order of a column that has an
// index with the source's, and starts each step where the last one ended: what
// is deleted stays in the index for a while and would be read again and again.
func (s *Store) purgeTable(ctx context.Context, table, column, guard string, key store.Key, removed store.Tally) error {
	sql := fmt.Sprintf(`WITH step AS MATERIALIZED (
	SELECT ctid AS at, %[2]s AS id FROM %[1]s WHERE %[3]s AND %[2]s > $3 ORDER BY %[2]s LIMIT %[4]d
), gone AS (
	DELETE FROM %[1]s t WHERE ctid = ANY (ARRAY(SELECT at FROM step)) AND %[3]s AND %[5]s RETURNING 1
)
SELECT (SELECT count(*) FROM gone), COALESCE((SELECT max(id) FROM step), '')`, table, column, ofSource, purgeRows, guard)
	for after := ""; ; {
		var n int64
		var last string
		err := s.row(ctx, fmt.Sprintf("purge %s of source %s", table, key), sql, []any{key.User, key.Provider, after}, &n, &last)
		if err != nil || last == "" {
			return err
		}
		removed.Add(key.Provider, table, n)
		after = last
	}
}

// purgeFew is purgeTable for tables in which a source has few rows.
func (s *Store) purgeFew(ctx context.Context, table, guard string, key store.Key, removed store.Tally) error {
	sql := fmt.Sprintf("DELETE FROM %[1]s t WHERE ctid = ANY (ARRAY(SELECT ctid FROM %[1]s WHERE %[2]s LIMIT %[3]d)) AND %[2]s AND %[4]s", table, ofSource, purgeRows, guard)
	for {
		n, err := s.exec(ctx, fmt.Sprintf("purge %s of source %s", table, key), sql, key.User, key.Provider)
		if err != nil || n == 0 {
			return err
		}
		removed.Add(key.Provider, table, n)
	}
}

// purgeChanges deletes the changes (t) that match, in steps over the outbox.
func (s *Store) purgeChanges(ctx context.Context, where string, removed store.Tally, args ...any) error {
	first, last, err := s.outbox(ctx)
	sql := fmt.Sprintf("DELETE FROM changes t WHERE %s AND seq >= $%d AND seq < $%d RETURNING provider", where, len(args)+1, len(args)+2)
	for ; err == nil && first <= last; first += purgeChanges {
		var gone []string
		gone, err = rows(ctx, s, "purge changes", sql, append(args[:len(args):len(args)], first, first+purgeChanges), pgx.RowTo[string])
		for _, provider := range gone {
			removed.Add(provider, "changes", 1)
		}
	}
	return err
}

// outbox returns the first and the last number of the outbox; the last is 0 if
// there is none.
func (s *Store) outbox(ctx context.Context) (first, last int64, err error) {
	err = s.row(ctx, "look for the ends of the outbox", "SELECT COALESCE(min(seq), 1), COALESCE(max(seq), 0) FROM changes", nil, &first, &last)
	return first, last, err
}
