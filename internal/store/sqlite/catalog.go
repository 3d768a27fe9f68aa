package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// A filter collects the conditions of a listing.
type filter struct {
	conditions []string
	args       []any
}

func (f *filter) add(condition string, args ...any) {
	f.conditions = append(f.conditions, condition)
	f.args = append(f.args, args...)
}

// equal adds column = value unless value is "".
func (f *filter) equal(column, value string) {
	if value != "" {
		f.add(column+" = ?", value)
	}
}

// sql is the conditions, the order and the limit (0: none).
func (f *filter) sql(order string, limit int) string {
	var b strings.Builder
	if len(f.conditions) > 0 {
		b.WriteString(" WHERE " + strings.Join(f.conditions, " AND "))
	}
	b.WriteString(" ORDER BY " + order)
	if limit > 0 {
		b.WriteString(" LIMIT ?")
		f.args = append(f.args, limit)
	}
	return b.String()
}

const sourceColumns = `s.user_id, s.provider, s.connector, s.schedule, s.declared, s.account, s.paused, s.next_at, s.due_at, s.full_at, s.resume,
	s.failures, s.lease_owner, s.lease_until, s.last_run_id, COALESCE(r.state, ''), COALESCE(r.error, ''), r.ended_at,
	s.last_done_at, s.created_at,
	(SELECT count(*) FROM rejects j WHERE j.user_id = s.user_id AND j.provider = s.provider AND j.resolution = '')`

// Sources implements store.Catalog.
func (s *Store) Sources(ctx context.Context, f store.SourceFilter) ([]store.Source, error) {
	var where filter
	where.equal("s.user_id", f.User)
	where.equal("s.provider", f.Provider)
	if f.Declared {
		where.add("s.declared <> ''")
	}
	if f.After != (store.Key{}) {
		where.add("(s.user_id, s.provider) > (?, ?)", f.After.User, f.After.Provider)
	}
	tail := where.sql("s.user_id, s.provider", f.Limit)
	return list(ctx, s, "list sources",
		"SELECT "+sourceColumns+" FROM sources s LEFT JOIN runs r ON r.id = s.last_run_id"+tail, where.args, scanSourceRow)
}

func scanSourceRow(r *sql.Rows) (store.Source, error) {
	var s store.Source
	var paused string
	var next, due, full, until, ended, done, created sql.NullInt64
	err := r.Scan(&s.User, &s.Provider, &s.Connector, &s.Schedule, &s.Declared, &s.Account, &paused, &next, &due, &full, &s.Resume,
		&s.Failures, &s.Owner, &until, &s.LastRunID, &s.LastState, &s.LastError, &ended, &done, &created, &s.OpenRejects)
	s.NextAt, s.DueAt, s.FullAt, s.LeaseUntil = moment(next), moment(due), moment(full), moment(until)
	s.LastEndedAt, s.LastDoneAt, s.CreatedAt = moment(ended), moment(done), moment(created)
	if err == nil {
		s.Paused, err = parsePaused(paused)
	}
	return s, err
}

const runColumns = `id, user_id, provider, token, owner, trigger, tick, folded, full_walk, state, input_fingerprint,
	started_at, ended_at, inserted, updated, unchanged, stale, deleted, restored, rejected, duplicate,
	pages, requests, error, notes, resumes`

// Runs implements store.Catalog.
func (s *Store) Runs(ctx context.Context, f store.RunFilter) ([]store.Run, error) {
	var where filter
	where.equal("user_id", f.User)
	where.equal("provider", f.Provider)
	where.equal("state", f.State)
	if f.Before != "" {
		where.add("id < ?", f.Before)
	}
	tail := where.sql("id DESC", f.Limit)
	return list(ctx, s, "list runs", "SELECT "+runColumns+" FROM runs"+tail, where.args, scanRun)
}

// Run implements store.Catalog.
func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	return one(ctx, s, fmt.Sprintf("run %q", id), "SELECT "+runColumns+" FROM runs WHERE id = ?", []any{id}, scanRun)
}

func scanRun(row *sql.Rows) (store.Run, error) {
	var r store.Run
	var tick, started, ended sql.NullInt64
	c := &r.Counters
	err := row.Scan(&r.ID, &r.User, &r.Provider, &r.Token, &r.Owner, &r.Trigger, &tick, &r.Folded, &r.Full, &r.State, &r.Input,
		&started, &ended, &c.Inserted, &c.Updated, &c.Unchanged, &c.Stale, &c.Deleted, &c.Restored, &c.Rejected, &c.Duplicate,
		&r.Pages, &r.Requests, &r.Error, &r.Notes, &r.Resumes)
	r.Tick, r.StartedAt, r.EndedAt = moment(tick), moment(started), moment(ended)
	return r, err
}

const rejectColumns = `id, user_id, provider, stream, part, record_id, mark, deleted, reason, detail, place, raw_size,
	digest, run_id, first_at, last_at, times, resolution`

// Rejects implements store.Catalog. The bytes are left out.
func (s *Store) Rejects(ctx context.Context, f store.RejectFilter) ([]store.Reject, error) {
	var where filter
	where.equal("user_id", f.User)
	where.equal("provider", f.Provider)
	where.equal("stream", limits.Escape(f.Stream))
	where.equal("reason", limits.Escape(f.Reason))
	where.equal("run_id", f.RunID)
	if !f.Resolved {
		where.add("resolution = ''")
	}
	if f.BeforeID != 0 {
		where.add("id < ?", f.BeforeID)
	}
	tail := where.sql("id DESC", f.Limit)
	return list(ctx, s, "list rejects", "SELECT "+rejectColumns+", NULL FROM rejects"+tail, where.args, scanReject)
}

// Reject implements store.Catalog.
func (s *Store) Reject(ctx context.Context, id int64) (store.Reject, error) {
	return one(ctx, s, fmt.Sprintf("reject %d", id), "SELECT "+rejectColumns+", raw FROM rejects WHERE id = ?", []any{id}, scanReject)
}

func scanReject(row *sql.Rows) (store.Reject, error) {
	var r store.Reject
	var digest []byte
	var first, last int64
	err := row.Scan(&r.ID, &r.User, &r.Provider, &r.Stream, &r.Part, &r.RecordID, &r.Mark, &r.Deleted, &r.Reason, &r.Detail,
		&r.Place, &r.RawSize, &digest, &r.RunID, &first, &last, &r.Times, &r.Resolution, &r.Raw)
	for _, text := range []*string{&r.Stream, &r.Part, &r.RecordID, &r.Reason, &r.Detail, &r.Place} {
		*text = limits.Unescape(*text)
	}
	copy(r.Digest[:], digest)
	r.FirstAt, r.LastAt = fromMicro(first), fromMicro(last)
	return r, err
}

// Count implements store.Catalog.
func (s *Store) Count(ctx context.Context, key store.Key) ([]store.StreamCount, error) {
	return list(ctx, s, "count the records of source "+key.String(),
		`SELECT stream, count(*) - count(deleted_at), count(deleted_at) FROM records WHERE `+ofSource+` GROUP BY stream ORDER BY stream`,
		[]any{key.User, key.Provider}, func(r *sql.Rows) (store.StreamCount, error) {
			var c store.StreamCount
			err := r.Scan(&c.Stream, &c.Live, &c.Deleted)
			return c, err
		})
}

// Overview implements store.Catalog.
func (s *Store) Overview(ctx context.Context) (store.Overview, error) {
	now := s.now()
	o := store.Overview{Now: fromMicro(now)}
	var oldest sql.NullInt64
	err := s.read(ctx, "count sources", `SELECT count(*),
		count(*) FILTER (WHERE paused <> '[]'),
		count(*) FILTER (WHERE lease_until > ?),
		count(*) FILTER (WHERE failures > 0),
		count(*) FILTER (WHERE wake_at <= ? AND paused = '[]'),
		count(*) FILTER (WHERE last_run_id = ''),
		min(due_at) FILTER (WHERE wake_at <= ? AND paused = '[]' AND due_at <= ?),
		(SELECT count(*) FROM rejects WHERE resolution = '')
	FROM sources`, []any{now, now, now, now}, func(r *sql.Rows) error {
		return r.Scan(&o.Sources, &o.Paused, &o.Running, &o.Failing, &o.Due, &o.Never, &oldest, &o.OpenRejects)
	})
	o.Oldest = moment(oldest)
	return o, err
}
