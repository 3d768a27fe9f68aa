package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// A source is what claims read of the row of a source.
type source struct {
	key                   store.Key
	nextAt, dueAt, fullAt sql.NullInt64
	resume                string
	failures              int
	paused                []string
	declared, account     string
	wellAt                sql.NullInt64
	token                 int64
	owner                 string
	leaseUntil            sql.NullInt64
	lastRunID             string
}

const sourceQuery = `SELECT user_id, provider, next_at, due_at, full_at, resume, failures, paused, declared, account, COALESCE(last_done_at, created_at), lease_token, lease_owner, lease_until, last_run_id
FROM sources WHERE `

func scanSource(r interface{ Scan(...any) error }) (source, error) {
	var src source
	var paused string
	err := r.Scan(&src.key.User, &src.key.Provider, &src.nextAt, &src.dueAt, &src.fullAt, &src.resume, &src.failures, &paused, &src.declared, &src.account, &src.wellAt,
		&src.token, &src.owner, &src.leaseUntil, &src.lastRunID)
	if err == nil {
		src.paused, err = parsePaused(paused)
	}
	return src, err
}

// Claim implements store.Queue.
func (s *Store) Claim(ctx context.Context, owner string, n int, ttl time.Duration) ([]store.Claim, error) {
	var claims []store.Claim
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		claims = nil
		now := s.now()
		due, err := dueSources(ctx, w, now, n)
		if err != nil {
			return fail(err, "look for sources that are due")
		}
		for i := range due {
			src := &due[i]
			if len(src.paused) > 0 {
				err = release(ctx, w, src, now)
			} else {
				var c store.Claim
				c, err = take(ctx, w, src, owner, now, ttl)
				claims = append(claims, c)
			}
			if err != nil {
				return fail(err, "claim source %s", src.key)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// dueSources returns up to n sources that are due, the earliest first, with the
// paused ones between them whose lease has run out.
func dueSources(ctx context.Context, w *writer, now int64, n int) ([]source, error) {
	var due []source
	left := n
	for offset := 0; left > 0; {
		batch := left
		read := 0
		err := w.rows(ctx, sourceQuery+"wake_at <= ? ORDER BY wake_at, user_id, provider LIMIT ? OFFSET ?", []any{now, batch, offset},
			func(r *sql.Rows) error {
				src, err := scanSource(r)
				if err != nil {
					return err
				}
				read++
				if len(src.paused) == 0 {
					left--
				}
				due = append(due, src)
				return nil
			})
		if err != nil || read < batch {
			return due, err
		}
		offset += read
	}
	return due, nil
}

// Acquire implements store.Queue.
func (s *Store) Acquire(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Claim, error) {
	var claim store.Claim
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		src, err := idle(ctx, w, key, now)
		if err != nil {
			return err
		}
		claim, err = take(ctx, w, &src, owner, now, ttl)
		return fail(err, "acquire source %s", key)
	})
	return claim, err
}

// idle returns a source that nobody runs.
func idle(ctx context.Context, w *writer, key store.Key, now int64) (source, error) {
	var src source
	found := false
	err := w.rows(ctx, sourceQuery+ofSource, []any{key.User, key.Provider}, func(r *sql.Rows) (err error) {
		found = true
		src, err = scanSource(r)
		return err
	})
	switch {
	case err != nil:
		return src, fail(err, "read source %s", key)
	case !found:
		return src, fail(store.ErrNotFound, "source %s", key)
	case src.leaseUntil.Valid && src.leaseUntil.Int64 > now:
		return src, &store.LeasedError{Key: key, Owner: src.owner, Until: moment(src.leaseUntil)}
	}
	return src, nil
}

// take gives the lease of a source that nobody runs to owner.
func take(ctx context.Context, w *writer, src *source, owner string, now int64, ttl time.Duration) (store.Claim, error) {
	if err := abandon(ctx, w, src, now); err != nil {
		return store.Claim{}, err
	}
	owner = limits.Text(owner)
	src.token++
	_, err := w.exec(ctx, "UPDATE sources SET lease_token = ?, lease_owner = ?, lease_until = ?, resume = ?, due_at = ? WHERE "+ofSource,
		src.token, owner, now+ttl.Microseconds(), src.resume, src.dueAt, src.key.User, src.key.Provider)
	c := store.Claim{
		Lease: store.Lease{Key: src.key, Token: src.token, Owner: owner},
		Now:   fromMicro(now), NextAt: moment(src.nextAt), DueAt: moment(src.dueAt), FullAt: moment(src.fullAt),
		Resume: src.resume, Failures: src.failures, Paused: src.paused, Declared: src.declared, Account: src.account, WellAt: moment(src.wellAt),
	}
	if src.resume == store.ResumeAbandoned {
		c.Previous = src.lastRunID
	}
	return c, err
}

// release gives back a lease that has run out.
func release(ctx context.Context, w *writer, src *source, now int64) error {
	if err := abandon(ctx, w, src, now); err != nil {
		return err
	}
	_, err := w.exec(ctx, "UPDATE sources SET lease_owner = '', lease_until = NULL, resume = ?, due_at = ? WHERE "+ofSource,
		src.resume, src.dueAt, src.key.User, src.key.Provider)
	return err
}

// abandon looks whether a run was begun under a lease that has run out. It was
// not finished then: it is marked so, and the source is due at once.
func abandon(ctx context.Context, w *writer, src *source, now int64) error {
	if !src.leaseUntil.Valid {
		return nil
	}
	var state string
	unfinished, err := w.row(ctx, "SELECT state FROM runs WHERE id = ? AND "+ofSource+" AND token = ?",
		[]any{src.lastRunID, src.key.User, src.key.Provider, src.token}, &state)
	if err != nil || !unfinished {
		return err
	}
	if state == store.Running {
		_, err = w.exec(ctx, "UPDATE runs SET state = ?, ended_at = ? WHERE id = ?", store.Abandoned, now, src.lastRunID)
	}
	src.resume = store.ResumeAbandoned
	if !src.dueAt.Valid || src.dueAt.Int64 > now {
		src.dueAt = sql.NullInt64{Int64: now, Valid: true}
	}
	return err
}
