package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// applyStatement compares the specs with the sources, each spec by a look-up
// of its own, and writes only the rows that differ. A row is in one of added,
// changed and removed at most.
//
// NOT IN is a hash table here, whatever the planner believes of the list's size.
const applyStatement = `WITH spec AS MATERIALIZED (
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
		$6::timestamptz[], $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[])
		AS u(user_id, provider, connector, schedule, full_schedule, next_at, due_at, spread_at, full_at, declared)
), pair AS MATERIALIZED (
	SELECT spec.*, old.found IS NOT NULL AS found, old.removed,
		(old.connector, old.schedule, old.full_schedule, old.declared)
			IS DISTINCT FROM (spec.connector, spec.schedule, spec.full_schedule, spec.declared) AS changed
	FROM spec LEFT JOIN LATERAL (
		SELECT true AS found, s.connector, s.schedule, s.full_schedule, s.declared, '` + store.PausedRemoved + `' = ANY(s.paused) AS removed
		FROM sources s WHERE s.user_id = spec.user_id AND s.provider = spec.provider LIMIT 1
	) old ON true
), added AS (
	INSERT INTO sources (` + specColumns + `, resume, lease_token)
	SELECT ` + specColumns + `, ` + newSource + `
	FROM pair WHERE NOT found
	ON CONFLICT (user_id, provider) DO NOTHING
	RETURNING 1
), changed AS (
	UPDATE sources s SET
		connector = pair.connector, schedule = pair.schedule, full_schedule = pair.full_schedule, declared = pair.declared,
		next_at = CASE WHEN s.schedule = pair.schedule THEN s.next_at ELSE pair.next_at END,
		due_at = CASE WHEN s.schedule = pair.schedule THEN s.due_at
			WHEN s.resume = '' THEN pair.spread_at
			ELSE LEAST(s.due_at, pair.spread_at) END,
		full_at = CASE WHEN s.full_schedule = pair.full_schedule THEN s.full_at ELSE pair.full_at END,
		paused = array_remove(s.paused, '` + store.PausedRemoved + `')
	FROM pair
	WHERE pair.found AND (pair.changed OR pair.removed) AND s.user_id = pair.user_id AND s.provider = pair.provider
	RETURNING pair.changed, pair.removed
), removed AS (
	UPDATE sources s SET paused = ` + withReason + `'` + store.PausedRemoved + `'` + withReasonEnd + `
	WHERE $11 AND s.declared = '' AND NOT '` + store.PausedRemoved + `' = ANY(s.paused)
		AND (s.user_id, s.provider) NOT IN (SELECT user_id, provider FROM spec)
	RETURNING 1
)
SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM changed WHERE changed),
	(SELECT count(*) FROM removed), (SELECT count(*) FROM changed WHERE removed)`

// specColumns are the columns of a source that its spec fills; newSource is
// what resume and lease_token begin with. The token begins at the time in
// microseconds, so that a source that is removed and added again gives out no
// token of its former life.
const (
	specColumns = "user_id, provider, connector, schedule, full_schedule, next_at, due_at, full_at, declared"
	newSource   = "'" + store.ResumeNew + "', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
)

// withReason and withReasonEnd, around a reason, are the set s.paused with it,
// sorted.
const (
	withReason    = `ARRAY(SELECT DISTINCT p FROM unnest(s.paused || `
	withReasonEnd = `::text) p ORDER BY p)`
)

// Apply implements store.Queue.
func (s *Store) Apply(ctx context.Context, specs []store.Spec) (store.Applied, error) {
	return s.apply(ctx, specs, true)
}

// Add implements store.Queue.
func (s *Store) Add(ctx context.Context, spec store.Spec) error {
	_, err := s.apply(ctx, []store.Spec{spec}, false)
	return err
}

// apply takes over the specs; if they are all there are, it also pauses the
// sources that are not among them.
func (s *Store) apply(ctx context.Context, specs []store.Spec, all bool) (store.Applied, error) {
	var done store.Applied
	args, err := specArgs(specs)
	if err != nil {
		return done, err
	}
	args = append(args, all)
	err = s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			// One at a time: two that add the same sources would wait for each
			// other's rows in turn.
			if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lockApply)); err != nil {
				return err
			}
			return tx.QueryRow(ctx, applyStatement, args...).Scan(&done.Added, &done.Changed, &done.Removed, &done.Restored)
		})
		return fail(err, "apply the configuration of %d sources", len(specs))
	})
	if err != nil {
		return store.Applied{}, err
	}
	return done, nil
}

// specArgs checks the specs and returns them column by column.
func specArgs(specs []store.Spec) ([]any, error) {
	n := len(specs)
	users, providers, connectors := make([]string, n), make([]string, n), make([]string, n)
	schedules, fulls, declared := make([]string, n), make([]string, n), make([]string, n)
	seen := make(map[store.Key]bool, n)
	for i, spec := range specs {
		if err := limits.Spec(spec); err != nil {
			return nil, err
		}
		if seen[spec.Key] {
			return nil, fmt.Errorf("source %s is listed twice", spec.Key)
		}
		seen[spec.Key] = true
		users[i], providers[i], connectors[i] = spec.User, spec.Provider, spec.Connector
		schedules[i], fulls[i], declared[i] = spec.Schedule, spec.Full, spec.Declared
	}
	next := stamps(n, func(i int) time.Time { return specs[i].NextAt })
	due := stamps(n, func(i int) time.Time { return specs[i].DueAt })
	spread := stamps(n, func(i int) time.Time { return specs[i].SpreadAt })
	full := stamps(n, func(i int) time.Time { return specs[i].FullAt })
	return []any{users, providers, connectors, schedules, fulls, next, due, spread, full, declared}, nil
}
