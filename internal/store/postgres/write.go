package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
)

// The columns of a record that is written, beside its source. unnest takes
// any number of rows with these ten parameters.
const rowsOfRecords = `unnest($3::text[], $4::text[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[], $9::bool[], $10::bool[], $11::text[])
	AS u(external_id, stream, data, hash, mark, version, deleted, absent, run_id)`

const insertStatement = `INSERT INTO records AS r
	(user_id, provider, external_id, stream, data, hash, mark, version, deleted_at, absent, run_id)
SELECT $1, $2, u.external_id, u.stream, u.data::json, u.hash, u.mark, u.version, CASE WHEN u.deleted THEN now() END, u.absent, u.run_id
FROM ` + rowsOfRecords

// putStatement replaces a row only if it is the version before and not newer.
const putStatement = insertStatement + `
ON CONFLICT (` + recordKey + `) DO UPDATE SET
	stream = excluded.stream,
	data = COALESCE(excluded.data, r.data),
	hash = CASE WHEN excluded.data IS NULL THEN r.hash ELSE excluded.hash END,
	mark = excluded.mark,
	version = excluded.version,
	deleted_at = CASE WHEN excluded.deleted_at IS NOT NULL THEN COALESCE(r.deleted_at, excluded.deleted_at) END,
	absent = excluded.absent,
	updated_at = excluded.updated_at,
	run_id = excluded.run_id
WHERE r.mark <= excluded.mark AND r.version = excluded.version - 1`

// touchStatement finds its rows as headsStatement does.
const touchStatement = `WITH found AS MATERIALIZED (
	SELECT r.ctid AS at, u.mark FROM unnest($3::text[], $4::bigint[]) AS u(id, mark),
	LATERAL (SELECT ctid, mark FROM records WHERE ` + atRecord + `u.id LIMIT 1) r
	WHERE r.mark <> u.mark
)
UPDATE records SET mark = found.mark FROM found WHERE records.ctid = found.at`

// copyFrom is from how many rows on COPY is used: below it the round trip that
// it costs outweighs what it saves. (At 20 rows both take as long, at 1,000
// unnest takes half as long again.)
const copyFrom = 50

// Insert implements store.Tx.
func (t *tx) Insert(ctx context.Context, rows []store.Row) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	what := fmt.Sprintf("insert %d records of source %s", len(rows), t.lease.Key)
	if len(rows) >= copyFrom && !anyDeleted(rows) {
		return t.copyRows(ctx, what, copyRecords, func(b []byte) []byte { return encodeRecords(b, t.lease.Key, rows) })
	}
	return t.writeRows(ctx, what, insertStatement, rows)
}

// Put implements store.Tx.
func (t *tx) Put(ctx context.Context, rows []store.Row) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	return t.writeRows(ctx, fmt.Sprintf("put %d records of source %s", len(rows), t.lease.Key), putStatement, rows)
}

// writeRows runs a statement over rowsOfRecords that must affect every row.
func (t *tx) writeRows(ctx context.Context, what, statement string, rows []store.Row) error {
	n := len(rows)
	ids, streams, runs := make([]string, n), make([]string, n), make([]string, n)
	data := make([]*string, n)
	hashes := make([][]byte, n)
	marks, versions := make([]int64, n), make([]int64, n)
	deleted, absent := make([]bool, n), make([]bool, n)
	for i := range rows {
		r := &rows[i]
		ids[i], streams[i], runs[i] = r.ID, r.Stream, r.RunID
		if r.Data != nil {
			text := string(r.Data)
			data[i] = &text
		}
		hashes[i], marks[i], versions[i], deleted[i], absent[i] = r.Hash[:], r.Mark, r.Version, r.Deleted, r.Absent
	}
	t.ask(what, affected(n), statement, t.lease.User, t.lease.Provider,
		ids, streams, data, hashes, marks, versions, deleted, absent, runs)
	return t.flush(ctx)
}

// affected checks the number of rows that a statement wrote.
func affected(want int) func(pgx.Rows) error {
	return func(answer pgx.Rows) error {
		answer.Close()
		if err := answer.Err(); err != nil {
			return err
		}
		if got := answer.CommandTag().RowsAffected(); got != int64(want) {
			return fmt.Errorf("%d of the rows are not as they were read: %w", int64(want)-got, store.ErrConflict)
		}
		return nil
	}
}

// Touch implements store.Tx.
func (t *tx) Touch(ctx context.Context, rows []store.Row) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	ids, marks := make([]string, len(rows)), make([]int64, len(rows))
	for i := range rows {
		ids[i], marks[i] = rows[i].ID, rows[i].Mark
	}
	t.queue("set marks of records of source "+t.lease.Key.String(), touchStatement, t.lease.User, t.lease.Provider, ids, marks)
	return nil
}
