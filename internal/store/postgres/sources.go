package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Pause implements store.Queue.
func (s *Store) Pause(ctx context.Context, key store.Key, reason string) ([]string, error) {
	if err := limits.Reason(reason); err != nil {
		return nil, err
	}
	return s.setPaused(ctx, "pause", key, withReason+"$3"+withReasonEnd, reason)
}

// Resume implements store.Queue.
func (s *Store) Resume(ctx context.Context, key store.Key, reason string) ([]string, error) {
	return s.setPaused(ctx, "resume", key, "CASE WHEN $3 = '' THEN '{}' ELSE array_remove(s.paused, $3) END", reason)
}

// SetAccount implements store.Queue.
func (s *Store) SetAccount(ctx context.Context, key store.Key, account string) error {
	if err := limits.Account(account); err != nil {
		return err
	}
	what := "set the account of source " + key.String()
	n, err := s.exec(ctx, what, "UPDATE sources SET account = $3 WHERE "+ofSource, key.User, key.Provider, account)
	if err == nil && n == 0 {
		err = fail(store.ErrNotFound, "%s", what)
	}
	return err
}

// setPaused sets a source's reasons to an expression over s.paused and $3.
func (s *Store) setPaused(ctx context.Context, verb string, key store.Key, expression, reason string) ([]string, error) {
	var left []string
	err := s.row(ctx, verb+" source "+key.String(),
		"UPDATE sources s SET paused = "+expression+" WHERE "+ofSource+" RETURNING paused",
		[]any{key.User, key.Provider, reason}, &left)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	return left, nil
}

// Reschedule implements store.Queue.
func (s *Store) Reschedule(ctx context.Context, key store.Key, nextAt, dueAt time.Time) error {
	what := "reschedule source " + key.String()
	n, err := s.exec(ctx, what, "UPDATE sources SET next_at = $3, due_at = $4 WHERE "+ofSource+
		" AND (lease_until IS NULL OR lease_until <= clock_timestamp())", key.User, key.Provider, stamp(nextAt), stamp(dueAt))
	if err != nil || n > 0 {
		return err
	}
	return s.whyNot(ctx, what, key)
}

// whyNot says why a source that must be free could not be written: it is being
// run, or there is none.
func (s *Store) whyNot(ctx context.Context, what string, key store.Key) error {
	var owner string
	var until pgtype.Timestamptz
	err := s.row(ctx, what, "SELECT lease_owner, lease_until FROM sources WHERE "+ofSource, []any{key.User, key.Provider}, &owner, &until)
	if err != nil {
		return err
	}
	return &store.LeasedError{Key: key, Owner: owner, Until: moment(until)}
}

// Remove implements store.Queue. The source goes first, with its cursors and
// rejects; what purge deletes follows in transactions of a few thousand rows,
// and a purge that was broken off goes on when it is asked for again.
func (s *Store) Remove(ctx context.Context, key store.Key, purge bool) error {
	what := "remove source " + key.String()
	err := s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		return fail(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return removeSource(ctx, tx, key) }), "%s", what)
	})
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && (!gone || !purge) {
		return err
	}
	if !purge {
		return nil
	}
	n, err := s.purge(ctx, key)
	if err == nil && gone && n == 0 {
		return fail(store.ErrNotFound, "%s", what)
	}
	return err
}

func removeSource(ctx context.Context, tx pgx.Tx, key store.Key) error {
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
		if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE "+ofSource, key.User, key.Provider); err != nil {
			return err
		}
	}
	return nil
}

// How much one step of a purge deletes, and how many numbers of the outbox it
// looks at: that table has no index by source.
const (
	purgeRows    = 5_000
	purgeChanges = 50_000
)

// purge deletes the records, runs and changes of a source and returns how many.
func (s *Store) purge(ctx context.Context, key store.Key) (int64, error) {
	var total int64
	for _, table := range [][2]string{{"records", "external_id"}, {"runs", "id"}} {
		n, err := s.purgeTable(ctx, table[0], table[1], key)
		total += n
		if err != nil {
			return total, err
		}
	}
	n, err := s.purgeOutbox(ctx, key)
	return total + n, err
}

// purgeTable deletes the rows of a source in the order of a column that has an
// index with the source's, and starts each step where the last one ended: what
// is deleted stays in the index for a while and would be read again and again.
func (s *Store) purgeTable(ctx context.Context, table, column string, key store.Key) (int64, error) {
	sql := fmt.Sprintf(`WITH step AS MATERIALIZED (
	SELECT ctid AS at, %[2]s AS id FROM %[1]s WHERE %[3]s AND %[2]s > $3 ORDER BY %[2]s LIMIT %[4]d
), gone AS (
	DELETE FROM %[1]s WHERE ctid = ANY (ARRAY(SELECT at FROM step)) AND %[3]s RETURNING 1
)
SELECT (SELECT count(*) FROM gone), COALESCE((SELECT max(id) FROM step), '')`, table, column, ofSource, purgeRows)
	var total int64
	for after := ""; ; {
		var n int64
		var last string
		err := s.row(ctx, fmt.Sprintf("purge %s of source %s", table, key), sql, []any{key.User, key.Provider, after}, &n, &last)
		if err != nil || last == "" {
			return total, err
		}
		total += n
		after = last
	}
}

func (s *Store) purgeOutbox(ctx context.Context, key store.Key) (int64, error) {
	what := "purge changes of source " + key.String()
	var first, last int64
	if err := s.row(ctx, what, "SELECT COALESCE(min(seq), 1), COALESCE(max(seq), 0) FROM changes", nil, &first, &last); err != nil {
		return 0, err
	}
	var total int64
	for ; first <= last; first += purgeChanges {
		n, err := s.exec(ctx, what, "DELETE FROM changes WHERE "+ofSource+" AND seq >= $3 AND seq < $4",
			key.User, key.Provider, first, first+purgeChanges)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
