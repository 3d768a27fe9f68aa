package postgres

import (
	"context"
	"time"

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
