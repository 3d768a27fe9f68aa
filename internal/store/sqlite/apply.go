package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// An old is what Apply compares a spec with.
type old struct {
	connector, schedule, full string
	declared                  string
	resume                    string
	dueAt                     sql.NullInt64
	paused                    string // as it is stored
}

const oldQuery = "SELECT user_id, provider, connector, schedule, full_schedule, declared, resume, due_at, paused FROM sources"

// Apply implements store.Queue.
func (s *Store) Apply(ctx context.Context, specs []store.Spec) (store.Applied, error) {
	return s.apply(ctx, specs, oldQuery)
}

// Add implements store.Queue.
func (s *Store) Add(ctx context.Context, spec store.Spec) error {
	_, err := s.apply(ctx, []store.Spec{spec}, oldQuery+" WHERE "+ofSource, spec.User, spec.Provider)
	return err
}

// apply takes over the specs, and pauses the sources that the query finds and
// the specs do not have.
func (s *Store) apply(ctx context.Context, specs []store.Spec, query string, args ...any) (store.Applied, error) {
	wanted := make(map[store.Key]bool, len(specs))
	for i := range specs {
		if err := limits.Spec(specs[i]); err != nil {
			return store.Applied{}, err
		}
		if wanted[specs[i].Key] {
			return store.Applied{}, fmt.Errorf("source %s is listed twice", specs[i].Key)
		}
		wanted[specs[i].Key] = true
	}
	var done store.Applied
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		have := map[store.Key]old{}
		err := w.rows(ctx, query, args, func(r *sql.Rows) error {
			var key store.Key
			var o old
			err := r.Scan(&key.User, &key.Provider, &o.connector, &o.schedule, &o.full, &o.declared, &o.resume, &o.dueAt, &o.paused)
			have[key] = o
			return err
		})
		if err == nil {
			done, err = reconcile(ctx, w, specs, have, wanted, s.now())
		}
		return fail(err, "apply the configuration of %d sources", len(specs))
	})
	if err != nil {
		return store.Applied{}, err
	}
	return done, nil
}

// reconcile writes the rows that differ.
func reconcile(ctx context.Context, w *writer, specs []store.Spec, have map[store.Key]old, wanted map[store.Key]bool, now int64) (store.Applied, error) {
	var done store.Applied
	ctx = context.WithoutCancel(ctx) // as in a tx
	for i := range specs {
		spec := &specs[i]
		o, found := have[spec.Key]
		if !found {
			done.Added++
			_, err := w.exec(ctx, `INSERT INTO sources
	(user_id, provider, connector, schedule, full_schedule, next_at, due_at, full_at, declared, resume, lease_token, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '`+store.ResumeNew+`', ?, ?)`, spec.User, spec.Provider, spec.Connector, spec.Schedule, spec.Full,
				stamp(spec.NextAt), stamp(spec.DueAt), stamp(spec.FullAt), spec.Declared, now, now)
			if err != nil {
				return done, err
			}
			continue
		}
		changed, restored, err := change(ctx, w, spec, o)
		if err != nil {
			return done, err
		}
		if changed {
			done.Changed++
		}
		if restored {
			done.Restored++
		}
	}
	for key, o := range have {
		if wanted[key] || o.declared != "" { // what was added at run time is none of the configuration's
			continue
		}
		paused, added, err := withReason(o.paused, store.PausedRemoved)
		if err == nil && added {
			done.Removed++
			err = setPaused(ctx, w, key, paused)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// change takes over what the configuration changed of a source.
func change(ctx context.Context, w *writer, spec *store.Spec, o old) (changed, restored bool, err error) {
	var paused string
	paused, restored, err = withoutReason(o.paused, store.PausedRemoved)
	if err != nil {
		return false, false, err
	}
	changed = o.connector != spec.Connector || o.schedule != spec.Schedule || o.full != spec.Full || o.declared != spec.Declared
	if restored {
		err = setPaused(ctx, w, spec.Key, paused)
	}
	if !changed || err != nil {
		return changed, restored, err
	}
	if o.schedule != spec.Schedule {
		due := stamp(spec.SpreadAt)
		if o.resume != "" && o.dueAt.Valid && (due == nil || o.dueAt.Int64 < due.(int64)) {
			due = o.dueAt // it has unfinished business
		}
		_, err = w.exec(ctx, "UPDATE sources SET next_at = ?, due_at = ? WHERE "+ofSource, stamp(spec.NextAt), due, spec.User, spec.Provider)
	}
	if err == nil && o.full != spec.Full {
		_, err = w.exec(ctx, "UPDATE sources SET full_at = ? WHERE "+ofSource, stamp(spec.FullAt), spec.User, spec.Provider)
	}
	if err == nil {
		_, err = w.exec(ctx, "UPDATE sources SET connector = ?, schedule = ?, full_schedule = ?, declared = ? WHERE "+ofSource,
			spec.Connector, spec.Schedule, spec.Full, spec.Declared, spec.User, spec.Provider)
	}
	return changed, restored, err
}
