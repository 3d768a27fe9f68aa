package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// usersQuery walks from each user to the next in all tables with an index by
// user: one look into each of them per user, however many rows there are.
func usersQuery() string {
	after := func(last string) string {
		var next []string
		for _, table := range append(bySource(), "memos") {
			where := ""
			if table == "memos" {
				where = " AND user_id <> ''" // its index has only those
			}
			next = append(next, fmt.Sprintf("(SELECT user_id AS id FROM %s WHERE user_id > %s%s ORDER BY user_id LIMIT 1)", table, last, where))
		}
		return "(SELECT min(id) FROM (" + strings.Join(next, " UNION ALL ") + ") next)"
	}
	return `WITH RECURSIVE walk(id, n) AS (
	SELECT ` + after("$1") + `, 1
	UNION ALL
	SELECT ` + after("walk.id") + `, n + 1 FROM walk WHERE walk.id IS NOT NULL AND n < $2
)
SELECT id, (SELECT count(*) FROM sources s WHERE s.user_id = walk.id), (SELECT count(*) FROM sources s WHERE s.user_id = walk.id AND cardinality(s.paused) > 0)
FROM walk WHERE id IS NOT NULL ORDER BY id LIMIT $2`
}

// Users implements store.Users.
func (s *Store) Users(ctx context.Context, after string, limit int) ([]store.User, error) {
	return rows(ctx, s, "list users", usersQuery(), []any{after, limit}, pgx.RowToStructByPos[store.User])
}

// Traces implements store.Users.
func (s *Store) Traces(ctx context.Context, user string) ([]store.Trace, error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	found := store.Tally{}
	count := func(table, provider, where string, args ...any) error {
		counted, err := rows(ctx, s, "count the "+table+" of a user", "SELECT "+provider+", '"+table+"', count(*) FROM "+table+" WHERE user_id = $1 AND "+where+" GROUP BY 1",
			append([]any{user}, args...), pgx.RowToStructByPos[store.Trace])
		for _, t := range counted {
			found.Add(t.Provider, t.Table, t.Rows)
		}
		return err
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
	for ; err == nil && first <= last; first += purgeChanges {
		err = count("changes", "provider", "seq >= $2 AND seq < $3", first, first+purgeChanges)
	}
	if err != nil {
		return nil, err
	}
	return found.Traces(), nil
}

// RecordsOf implements store.Users.
func (s *Store) RecordsOf(ctx context.Context, user string, after store.RecordKey, limit int) ([]store.UserRecord, error) {
	return rows(ctx, s, "read the records of a user", `SELECT provider, external_id, stream, data, hash, mark, version, absent, run_id, deleted_at, first_seen_at, updated_at
		FROM records WHERE user_id = $1 AND (provider, external_id) > ($2, $3) ORDER BY provider, external_id LIMIT $4`,
		[]any{user, after.Provider, after.ID, limit}, func(row pgx.CollectableRow) (store.UserRecord, error) {
			rec := store.UserRecord{Key: store.Key{User: user}}
			var hash []byte
			var deleted, first, updated pgtype.Timestamptz
			err := row.Scan(&rec.Provider, &rec.ID, &rec.Stream, &rec.Data, &hash, &rec.Mark, &rec.Version, &rec.Absent, &rec.RunID, &deleted, &first, &updated)
			copy(rec.Hash[:], hash)
			rec.Deleted, rec.DeletedAt, rec.FirstSeenAt, rec.UpdatedAt = deleted.Valid, moment(deleted), moment(first), moment(updated)
			return rec, err
		})
}

// CursorsOf implements store.Users.
func (s *Store) CursorsOf(ctx context.Context, user string, after store.UserCursor, limit int) ([]store.UserCursor, error) {
	return rows(ctx, s, "read the cursors of a user", `SELECT provider, stream, part, watermark, state, run_id, updated_at
		FROM cursors WHERE user_id = $1 AND (provider, stream, part) > ($2, $3, $4) ORDER BY provider, stream, part LIMIT $5`,
		[]any{user, after.Provider, after.Stream, after.Part, limit}, func(row pgx.CollectableRow) (store.UserCursor, error) {
			var c store.UserCursor
			var updated pgtype.Timestamptz
			err := row.Scan(&c.Provider, &c.Stream, &c.Part, &c.Watermark, &c.State, &c.RunID, &updated)
			c.UpdatedAt = moment(updated)
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
	next := from + purgeChanges - 1
	found, err := rows(ctx, s, "read the changes of a user", `SELECT seq, provider, external_id, stream, kind, mark, version, run_id, at
		FROM changes WHERE seq >= $1 AND seq <= $2 AND user_id = $3 ORDER BY seq`, []any{from, next, user}, func(row pgx.CollectableRow) (store.UserChange, error) {
		var c store.UserChange
		var at pgtype.Timestamptz
		err := row.Scan(&c.Seq, &c.Provider, &c.ID, &c.Stream, &c.Kind, &c.Mark, &c.Version, &c.RunID, &at)
		c.At = moment(at)
		return c, err
	})
	if next >= last {
		next = 0
	}
	return found, next, err
}
