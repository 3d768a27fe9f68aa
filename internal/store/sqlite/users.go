package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// usersQuery walks from each user to the next in all tables with an index by
// user: one look into each of them per user, however many rows there are.
func usersQuery() string {
	var next []string
	for _, table := range append(bySource(), "memos") {
		where := ""
		if table == "memos" {
			where = " AND user_id <> ''" // its index has only those
		}
		next = append(next, fmt.Sprintf("SELECT min(user_id) AS id FROM %s WHERE user_id > %%[1]s%s", table, where))
	}
	after := func(last string) string {
		return "(SELECT min(id) FROM (" + fmt.Sprintf(strings.Join(next, " UNION ALL "), last) + "))"
	}
	return `WITH RECURSIVE walk(id, n) AS (
	SELECT ` + after("?1") + `, 1
	UNION ALL
	SELECT ` + after("walk.id") + `, n + 1 FROM walk WHERE walk.id IS NOT NULL AND n < ?2
)
SELECT id, (SELECT count(*) FROM sources s WHERE s.user_id = walk.id), (SELECT count(*) FROM sources s WHERE s.user_id = walk.id AND s.paused <> '[]')
FROM walk WHERE id IS NOT NULL ORDER BY id LIMIT ?2`
}

// Users implements store.Users.
func (s *Store) Users(ctx context.Context, after string, limit int) ([]store.User, error) {
	return list(ctx, s, "list users", usersQuery(), []any{after, limit}, func(r *sql.Rows) (store.User, error) {
		var u store.User
		err := r.Scan(&u.ID, &u.Sources, &u.Paused)
		return u, err
	})
}

// Traces implements store.Users.
func (s *Store) Traces(ctx context.Context, user string) ([]store.Trace, error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	found := store.Tally{}
	count := func(table, provider, where string, args ...any) error {
		return s.read(ctx, "count the "+table+" of a user", "SELECT "+provider+", count(*) FROM "+table+" WHERE user_id = ? AND "+where+" GROUP BY 1",
			append([]any{user}, args...), func(r *sql.Rows) error {
				var of string
				var n int64
				err := r.Scan(&of, &n)
				found.Add(of, table, n)
				return err
			})
	}
	for _, table := range bySource() {
		if err := count(table, "provider", "true"); err != nil {
			return nil, err
		}
	}
	if err := count("memos", "''", "user_id <> ''"); err != nil {
		return nil, err
	}
	first, last, err := s.outbox(ctx)
	for ; err == nil && first <= last; first += changesAtOnce {
		err = count("changes", "provider", "seq >= ? AND seq < ?", first, first+changesAtOnce)
	}
	if err != nil {
		return nil, err
	}
	return found.Traces(), nil
}

// RecordsOf implements store.Users.
func (s *Store) RecordsOf(ctx context.Context, user string, after store.RecordKey, limit int) ([]store.UserRecord, error) {
	return list(ctx, s, "read the records of a user", `SELECT provider, external_id, stream, data, hash, mark, version, absent, run_id, deleted_at, first_seen_at, updated_at
		FROM records WHERE user_id = ? AND (provider, external_id) > (?, ?) ORDER BY provider, external_id LIMIT ?`,
		[]any{user, after.Provider, after.ID, limit}, func(r *sql.Rows) (store.UserRecord, error) {
			rec := store.UserRecord{Key: store.Key{User: user}}
			var hash []byte
			var deleted, first, updated sql.NullInt64
			err := r.Scan(&rec.Provider, &rec.ID, &rec.Stream, &rec.Data, &hash, &rec.Mark, &rec.Version, &rec.Absent, &rec.RunID, &deleted, &first, &updated)
			copy(rec.Hash[:], hash)
			rec.Deleted, rec.DeletedAt, rec.FirstSeenAt, rec.UpdatedAt = deleted.Valid, moment(deleted), moment(first), moment(updated)
			return rec, err
		})
}

// CursorsOf implements store.Users.
func (s *Store) CursorsOf(ctx context.Context, user string, after store.UserCursor, limit int) ([]store.UserCursor, error) {
	return list(ctx, s, "read the cursors of a user", `SELECT provider, stream, part, watermark, state, run_id, updated_at
		FROM cursors WHERE user_id = ? AND (provider, stream, part) > (?, ?, ?) ORDER BY provider, stream, part LIMIT ?`,
		[]any{user, after.Provider, after.Stream, after.Part, limit}, func(r *sql.Rows) (store.UserCursor, error) {
			var c store.UserCursor
			var updated int64
			err := r.Scan(&c.Provider, &c.Stream, &c.Part, &c.Watermark, &c.State, &c.RunID, &updated)
			c.UpdatedAt = fromMicro(updated)
			return c, err
		})
}

// ChangesOf implements store.Users.
func (s *Store) ChangesOf(ctx context.Context, user string, seq int64) ([]store.UserChange, int64, error) {
	first, last, err := s.outbox(ctx)
	if err != nil {
		return nil, 0, err
	}
	from := max(first, seq+1)
	next := from + changesAtOnce - 1
	found, err := list(ctx, s, "read the changes of a user", `SELECT seq, provider, external_id, stream, kind, mark, version, run_id, at
		FROM changes WHERE seq >= ? AND seq <= ? AND user_id = ? ORDER BY seq`, []any{from, next, user}, func(r *sql.Rows) (store.UserChange, error) {
		var c store.UserChange
		var at int64
		err := r.Scan(&c.Seq, &c.Provider, &c.ID, &c.Stream, &c.Kind, &c.Mark, &c.Version, &c.RunID, &at)
		c.At = fromMicro(at)
		return c, err
	})
	if next >= last {
		next = 0
	}
	return found, next, err
}

func scanText(r *sql.Rows) (text string, err error) {
	err = r.Scan(&text)
	return text, err
}

// scanInto appends the text of each row.
func scanInto(to *[]string) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		text, err := scanText(r)
		*to = append(*to, text)
		return err
	}
}
