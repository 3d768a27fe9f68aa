package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// takeStatement gives out the leases of the sources in a CTE named due, whose
// rows it has locked, to the owner $1 for $2 microseconds. due has the sources'
// columns, now, and free: nobody holds the lease by the clock.
//
// A lease that has run out with a run begun under it means that the run's
// daemon is gone: the run is marked abandoned, if nobody has closed it, and the
// source is due at once to go on with it. A source that is paused is then
// released, unless $3 says that it is wanted all the same.
//
// One row comes back per source of due, with what the claim says; taken is
// false where the lease was not given out.
const takeStatement = `, dead AS (
	UPDATE runs r SET
		state = CASE WHEN r.state = '` + store.Running + `' THEN '` + store.Abandoned + `' ELSE r.state END,
		ended_at = COALESCE(r.ended_at, due.now)
	FROM due
	WHERE due.free AND due.lease_until IS NOT NULL AND r.id = due.last_run_id
		AND r.user_id = due.user_id AND r.provider = due.provider AND r.token = due.lease_token
	RETURNING r.user_id, r.provider
), taken AS (
	UPDATE sources s SET
		lease_token = s.lease_token + CASE WHEN due.wanted THEN 1 ELSE 0 END,
		lease_owner = CASE WHEN due.wanted THEN $1 ELSE '' END,
		lease_until = CASE WHEN due.wanted THEN due.now + $2::bigint * interval '1 microsecond' END,
		resume = CASE WHEN dead.user_id IS NULL THEN s.resume ELSE '` + store.ResumeAbandoned + `' END,
		due_at = CASE WHEN dead.user_id IS NULL THEN s.due_at ELSE LEAST(s.due_at, due.now) END
	FROM (SELECT *, ($3 OR cardinality(paused) = 0) AS wanted FROM due WHERE free) due
	LEFT JOIN dead USING (user_id, provider)
	WHERE s.user_id = due.user_id AND s.provider = due.provider
	RETURNING s.user_id, s.provider, s.lease_token, s.next_at, s.due_at, s.full_at, s.resume, s.failures,
		s.paused, s.last_run_id, s.declared, s.account, COALESCE(s.last_done_at, s.created_at) AS well_at, due.wanted
)
SELECT due.user_id, due.provider, COALESCE(taken.lease_token, 0), due.now, taken.next_at, taken.due_at,
	taken.full_at, COALESCE(taken.resume, ''), COALESCE(taken.failures, 0), taken.paused,
	COALESCE(taken.last_run_id, ''), COALESCE(taken.declared, ''), COALESCE(taken.account, ''), taken.well_at, COALESCE(taken.wanted, false), due.lease_owner, due.lease_until
FROM due LEFT JOIN taken USING (user_id, provider)
ORDER BY due.wake_at, due.user_id, due.provider`

// dueColumns are what takeStatement needs of the sources.
const dueColumns = `user_id, provider, lease_owner, lease_until, lease_token, last_run_id, paused, wake_at, clock_timestamp() AS now,
	(lease_until IS NULL OR lease_until <= clock_timestamp()) AS free`

// claimStatement compares wake_at with the statement's start, which can be
// looked up in the index; clock_timestamp() changes under way and can't.
const claimStatement = `WITH due AS MATERIALIZED (
	SELECT ` + dueColumns + `
	FROM sources
	WHERE wake_at <= statement_timestamp()
	ORDER BY wake_at
	LIMIT $4
	FOR UPDATE SKIP LOCKED
)` + takeStatement

const acquireStatement = `WITH due AS MATERIALIZED (
	SELECT ` + dueColumns + `
	FROM sources
	WHERE user_id = $4 AND provider = $5
	FOR UPDATE
)` + takeStatement

// A takenRow is a row of takeStatement.
type takenRow struct {
	store.Claim
	taken  bool
	holder string
	until  time.Time
}

func scanTaken(owner string) func(pgx.CollectableRow) (takenRow, error) {
	return func(row pgx.CollectableRow) (takenRow, error) {
		var t takenRow
		var now, next, due, full, well, until pgtype.Timestamptz
		var lastRun string
		err := row.Scan(&t.User, &t.Provider, &t.Token, &now, &next, &due, &full, &t.Resume, &t.Failures,
			&t.Paused, &lastRun, &t.Declared, &t.Account, &well, &t.taken, &t.holder, &until)
		t.Owner = owner
		t.Now, t.NextAt, t.DueAt, t.FullAt, t.WellAt, t.until = moment(now), moment(next), moment(due), moment(full), moment(well), moment(until)
		if t.Resume == store.ResumeAbandoned {
			t.Previous = lastRun
		}
		if len(t.Paused) == 0 {
			t.Paused = nil
		}
		return t, err
	}
}

// Claim implements store.Queue.
func (s *Store) Claim(ctx context.Context, owner string, n int, ttl time.Duration) ([]store.Claim, error) {
	owner = limits.Text(owner)
	var out []store.Claim
	for len(out) < n {
		found, err := rows(ctx, s, "claim due sources", claimStatement,
			[]any{owner, ttl.Microseconds(), false, n - len(out)}, scanTaken(owner))
		if err != nil {
			if len(out) > 0 {
				return out, nil // these are held already; the error will show again
			}
			return nil, err
		}
		released := 0
		for _, t := range found {
			if t.taken {
				out = append(out, t.Claim)
			} else {
				released++
			}
		}
		if released == 0 { // nobody took a place that a due source could have
			break
		}
	}
	return out, nil
}

// Acquire implements store.Queue.
func (s *Store) Acquire(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Claim, error) {
	owner = limits.Text(owner)
	what := "take the lease of source " + key.String()
	found, err := rows(ctx, s, what, acquireStatement,
		[]any{owner, ttl.Microseconds(), true, key.User, key.Provider}, scanTaken(owner))
	switch {
	case err != nil:
		return store.Claim{}, err
	case len(found) == 0:
		return store.Claim{}, fail(store.ErrNotFound, "%s", what)
	case !found[0].taken:
		return store.Claim{}, &store.LeasedError{Key: key, Owner: found[0].holder, Until: found[0].until}
	}
	return found[0].Claim, nil
}

// Renew implements store.Queue. Rows are locked in the order of their keys, so
// that two calls can't wait for each other.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, ttl time.Duration) (lost []store.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	users, providers, tokens := make([]string, len(leases)), make([]string, len(leases)), make([]int64, len(leases))
	for i, l := range leases {
		users[i], providers[i], tokens[i] = l.User, l.Provider, l.Token
	}
	kept, err := rows(ctx, s, "renew leases", `WITH mine AS MATERIALIZED (
	SELECT s.user_id, s.provider, u.n
	FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY u(user_id, provider, token, n)
	JOIN sources s ON s.user_id = u.user_id AND s.provider = u.provider
	WHERE s.lease_token = u.token AND s.lease_until > clock_timestamp()
	ORDER BY s.user_id, s.provider
	FOR UPDATE OF s
)
UPDATE sources s SET lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond'
FROM mine WHERE s.user_id = mine.user_id AND s.provider = mine.provider
RETURNING mine.n`, []any{users, providers, tokens, ttl.Microseconds()}, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	for i, l := range leases {
		if !slices.Contains(kept, int64(i+1)) {
			lost = append(lost, l)
		}
	}
	return lost, nil
}

// Release implements store.Queue.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	_, err := s.exec(ctx, "give back the lease of source "+lease.Key.String(),
		"UPDATE sources SET lease_owner = '', lease_until = NULL WHERE "+ofSource+" AND lease_token = $3 AND lease_until IS NOT NULL",
		leaseArgs(lease)...)
	return err
}

// NextWake implements store.Queue.
func (s *Store) NextWake(ctx context.Context) (time.Time, bool, error) {
	var at pgtype.Timestamptz
	err := s.row(ctx, "look for the next due time",
		"SELECT wake_at FROM sources WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1", nil, &at)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, false, nil
	}
	return moment(at), at.Valid && err == nil, err
}
