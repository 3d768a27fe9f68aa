package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// beginRunStatement opens a run under the lease $1 to $3. If the log has the
// source's tick already, or the run's id, nothing is inserted; for the tick the
// source's times are set and the lease given back. It returns how many sources
// it found under the lease, how many runs it inserted, and whether the tick
// was taken.
const beginRunStatement = `WITH src AS MATERIALIZED (
	SELECT user_id, provider, lease_token, lease_owner ` + held + ` FOR UPDATE
), taken AS MATERIALIZED (
	SELECT 1 FROM runs, src WHERE runs.user_id = src.user_id AND runs.provider = src.provider AND runs.tick = $7
), run AS (
	INSERT INTO runs (user_id, provider, token, owner, id, trigger, tick, folded, full_walk, state, input_fingerprint, notes, resumes, started_at)
	SELECT user_id, provider, lease_token, lease_owner, $4, $6, $7, $8, $9, '` + store.Running + `', $10, $11, $12, clock_timestamp()
	FROM src WHERE NOT EXISTS (SELECT FROM taken)
	ON CONFLICT (id) DO NOTHING
	RETURNING 1
), moved AS (
	UPDATE sources s SET
		next_at = $5, due_at = $13,
		last_run_id = CASE WHEN EXISTS (SELECT FROM taken) THEN s.last_run_id ELSE $4 END,
		lease_owner = CASE WHEN EXISTS (SELECT FROM taken) THEN '' ELSE s.lease_owner END,
		lease_until = CASE WHEN EXISTS (SELECT FROM taken) THEN NULL ELSE s.lease_until END
	FROM src
	WHERE s.user_id = src.user_id AND s.provider = src.provider
		AND (EXISTS (SELECT FROM taken) OR EXISTS (SELECT FROM run))
)
SELECT (SELECT count(*) FROM src), (SELECT count(*) FROM run), EXISTS (SELECT FROM taken)`

// Begin implements store.Queue.
func (s *Store) Begin(ctx context.Context, lease store.Lease, run store.Run, nextAt, dueAt time.Time) error {
	what := fmt.Sprintf("begin run %q of source %s", run.ID, lease.Key)
	if run.ID == "" {
		return fail(store.ErrConflict, "%s", what)
	}
	var leases, inserted int64
	var taken bool
	err := s.row(ctx, what, beginRunStatement, append(leaseArgs(lease), run.ID, stamp(nextAt), run.Trigger, stamp(run.Tick),
		run.Folded, run.Full, limits.Text(run.Input), limits.Text(run.Notes), run.Resumes, stamp(dueAt)),
		&leases, &inserted, &taken)
	switch {
	case err != nil:
		return err
	case leases == 0:
		return fail(store.ErrLeaseLost, "%s", what)
	case taken:
		return fail(store.ErrTickTaken, "%s, tick %s", what, run.Tick.UTC().Format(time.RFC3339))
	case inserted == 0:
		return fail(store.ErrConflict, "%s", what)
	}
	return nil
}

// finishStatement closes the run $4, which must have been begun under the lease
// $1 to $3, and gives the lease back if it holds. It returns how many runs it
// found and how many leases.
const finishStatement = `WITH src AS MATERIALIZED (
	SELECT user_id, provider ` + held + ` FOR UPDATE
), found AS MATERIALIZED (
	SELECT id FROM runs WHERE ` + ofSource + ` AND id = $4 AND token = $3
), closed AS (
	UPDATE runs SET
		state = CASE WHEN EXISTS (SELECT FROM src) THEN $5 ELSE '` + store.Lost + `' END,
		ended_at = statement_timestamp(), error = $6, requests = $9,
		notes = CASE WHEN $7 = '' THEN notes ELSE $7 END,
		input_fingerprint = CASE WHEN input_fingerprint = '' THEN $8 ELSE input_fingerprint END
	WHERE id IN (SELECT id FROM found) AND state = '` + store.Running + `'
), freed AS (
	UPDATE sources s SET
		lease_owner = '', lease_until = NULL, due_at = COALESCE($10, s.due_at), resume = $11, failures = $12,
		full_at = COALESCE($13, s.full_at),
		paused = CASE WHEN $14 = '' AND $15 = '' THEN s.paused ELSE ARRAY(SELECT DISTINCT p FROM unnest(array_remove(s.paused, $15) || $14::text) p WHERE p <> '' ORDER BY p) END,
		last_done_at = CASE WHEN $5 = '` + store.Done + `' THEN statement_timestamp() ELSE s.last_done_at END
	FROM src
	WHERE s.user_id = src.user_id AND s.provider = src.provider AND EXISTS (SELECT FROM found)
)
SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM src)`

// Finish implements store.Queue.
func (s *Store) Finish(ctx context.Context, lease store.Lease, runID string, o store.Outcome) error {
	what := fmt.Sprintf("finish run %q of source %s", runID, lease.Key)
	var runs, leases int64
	err := s.row(ctx, what, finishStatement, append(leaseArgs(lease), runID, o.State, limits.Text(o.Error), limits.Text(o.Notes),
		limits.Text(o.Input), o.Requests, stamp(o.DueAt), o.Resume, o.Failures, stamp(o.FullAt), o.Pause, o.Lift), &runs, &leases)
	switch {
	case err != nil:
		return err
	case leases == 0:
		return fail(store.ErrLeaseLost, "%s", what)
	case runs == 0:
		return fail(store.ErrNotFound, "%s", what)
	}
	return nil
}
