package sqlite

import (
	"context"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

const beginStatement = `INSERT INTO runs
	(id, user_id, provider, token, owner, trigger, tick, folded, full_walk, state, input_fingerprint, started_at, notes, resumes)
SELECT ?, user_id, provider, lease_token, lease_owner, ?, ?, ?, ?, '` + store.Running + `', ?, ?, ?, ?
FROM sources WHERE ` + ofSource

// Begin implements store.Queue.
func (s *Store) Begin(ctx context.Context, lease store.Lease, run store.Run, nextAt, dueAt time.Time) error {
	taken := false
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		if _, err := s.held(ctx, w, lease); err != nil {
			return err
		}
		if run.ID == "" {
			return fail(store.ErrConflict, "begin a run of source %s without an id", lease.Key)
		}
		tick := stamp(run.Tick)
		var one int
		var err error
		taken, err = w.row(ctx, "SELECT 1 FROM runs WHERE "+ofSource+" AND tick = ?", []any{lease.User, lease.Provider, tick}, &one)
		switch {
		case err != nil:
		case taken:
			_, err = w.exec(ctx, "UPDATE sources SET next_at = ?, due_at = ?, lease_owner = '', lease_until = NULL WHERE "+ofSource,
				stamp(nextAt), stamp(dueAt), lease.User, lease.Provider)
		default:
			_, err = w.exec(ctx, beginStatement, run.ID, run.Trigger, tick, run.Folded, run.Full,
				limits.Text(run.Input), s.now(), limits.Text(run.Notes), run.Resumes, lease.User, lease.Provider)
			if err == nil {
				_, err = w.exec(ctx, "UPDATE sources SET next_at = ?, due_at = ?, last_run_id = ? WHERE "+ofSource,
					stamp(nextAt), stamp(dueAt), run.ID, lease.User, lease.Provider)
			}
		}
		return fail(err, "begin run %q of source %s", run.ID, lease.Key)
	})
	if err == nil && taken {
		return fail(store.ErrTickTaken, "begin run %q of source %s, tick %s", run.ID, lease.Key, run.Tick.UTC().Format(time.RFC3339))
	}
	return err
}

// Finish implements store.Queue.
func (s *Store) Finish(ctx context.Context, lease store.Lease, runID string, o store.Outcome) error {
	isLost := false
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		var held bool
		var until int64
		held, err := w.row(ctx, "SELECT lease_until FROM sources WHERE "+ofSource+" AND lease_token = ? AND lease_until > ?",
			[]any{lease.User, lease.Provider, lease.Token, now}, &until)
		if err != nil {
			return fail(err, "finish run %q of source %s", runID, lease.Key)
		}
		isLost = !held
		found, err := closeRun(ctx, w, lease, runID, o, now, isLost)
		switch {
		case err != nil || isLost:
		case !found:
			err = store.ErrNotFound
		default:
			err = freeSource(ctx, w, lease, o, now)
		}
		return fail(err, "finish run %q of source %s", runID, lease.Key)
	})
	if err == nil && isLost {
		return lost(lease)
	}
	return err
}

// closeRun writes the outcome into the run that was begun under the lease, if it
// is still running, and reports whether there is such a run.
func closeRun(ctx context.Context, w *writer, lease store.Lease, runID string, o store.Outcome, now int64, isLost bool) (bool, error) {
	var running bool
	found, err := w.row(ctx, "SELECT state = '"+store.Running+"' FROM runs WHERE id = ? AND "+ofSource+" AND token = ?",
		[]any{runID, lease.User, lease.Provider, lease.Token}, &running)
	if err != nil || !running {
		return found, err
	}
	state := o.State
	if isLost {
		state = store.Lost
	}
	_, err = w.exec(ctx, `UPDATE runs SET state = ?, ended_at = ?, error = ?, requests = ?,
	notes = COALESCE(NULLIF(?, ''), notes), input_fingerprint = COALESCE(NULLIF(input_fingerprint, ''), ?)
WHERE id = ?`, state, now, limits.Text(o.Error), o.Requests, limits.Text(o.Notes), limits.Text(o.Input), runID)
	return true, err
}

// freeSource gives the lease back and sets when the source is due again.
func freeSource(ctx context.Context, w *writer, lease store.Lease, o store.Outcome, now int64) error {
	var doneAt any
	if o.State == store.Done {
		doneAt = now
	}
	_, err := w.exec(ctx, `UPDATE sources SET lease_owner = '', lease_until = NULL, due_at = COALESCE(?, due_at), resume = ?, failures = ?,
	full_at = COALESCE(?, full_at), last_done_at = COALESCE(?, last_done_at)
WHERE `+ofSource, stamp(o.DueAt), o.Resume, o.Failures, stamp(o.FullAt), doneAt, lease.User, lease.Provider)
	if err != nil || o.Pause == "" && o.Lift == "" {
		return err
	}
	return repause(ctx, w, lease.Key, func(paused string) (string, bool, error) {
		paused, lifted, err := withoutReason(paused, o.Lift)
		if err != nil || o.Pause == "" {
			return paused, lifted, err
		}
		paused, given, err := withReason(paused, o.Pause)
		return paused, lifted || given, err
	})
}
