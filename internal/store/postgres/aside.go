package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

const rejectStatement = `INSERT INTO rejects AS r
	(user_id, provider, stream, part, record_id, mark, deleted, reason, detail, place, raw, raw_size, digest, run_id, times)
SELECT $1, $2, u.*
FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bool[], $8::text[], $9::text[], $10::text[],
	$11::bytea[], $12::bigint[], $13::bytea[], $14::text[], $15::bigint[]) AS u
ON CONFLICT (user_id, provider, stream, part, digest) DO UPDATE SET
	run_id = excluded.run_id, last_at = excluded.last_at, times = r.times + excluded.times`

// maxRejectBytes bounds the bytes of one statement.
const maxRejectBytes = 16 << 20

// Reject implements store.Tx.
func (t *tx) Reject(ctx context.Context, rejects []store.Reject) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	folded := fold(rejects)
	for len(folded) > 0 {
		n, size := 0, 0
		for n < len(folded) && (n == 0 || size+len(folded[n].Raw) <= maxRejectBytes) {
			size += len(folded[n].Raw)
			n++
		}
		t.queueRejects(folded[:n])
		folded = folded[n:]
	}
	return nil
}

// fold makes one of the rejects that are the same, the last of them, with the
// number of times: one statement can't write a row twice.
func fold(rejects []store.Reject) []store.Reject {
	type key struct {
		stream, part string
		digest       store.Hash
	}
	at := make(map[key]int, len(rejects))
	out := make([]store.Reject, 0, len(rejects))
	for _, r := range rejects {
		r = limits.Reject(r)
		r.Times = 1
		k := key{r.Stream, r.Part, r.Digest}
		if i, again := at[k]; again {
			out[i].RunID, out[i].Times = r.RunID, out[i].Times+1
			continue
		}
		at[k] = len(out)
		out = append(out, r)
	}
	return out
}

func (t *tx) queueRejects(rejects []store.Reject) {
	n := len(rejects)
	streams, parts, ids := make([]string, n), make([]string, n), make([]string, n)
	reasons, details, places, runs := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	marks, sizes, times := make([]int64, n), make([]int64, n), make([]int64, n)
	deleted := make([]bool, n)
	raws, digests := make([][]byte, n), make([][]byte, n)
	for i := range rejects {
		r := &rejects[i]
		streams[i], parts[i], ids[i] = limits.Escape(r.Stream), limits.Escape(r.Part), limits.Escape(r.RecordID)
		reasons[i], details[i], places[i], runs[i] = limits.Escape(r.Reason), limits.Escape(r.Detail), limits.Escape(r.Place), r.RunID
		marks[i], sizes[i], times[i], deleted[i] = r.Mark, r.RawSize, r.Times, r.Deleted
		raws[i], digests[i] = append([]byte{}, r.Raw...), append([]byte{}, r.Digest[:]...)
	}
	t.queue(fmt.Sprintf("set aside %d records of source %s", n, t.lease.Key), rejectStatement,
		t.lease.User, t.lease.Provider, streams, parts, ids, marks, deleted, reasons, details, places,
		raws, sizes, digests, runs, times)
}

// Resolve implements store.Tx.
func (t *tx) Resolve(ctx context.Context, rejectID int64, resolution, runID string) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	t.ask(fmt.Sprintf("resolve reject %d of source %s", rejectID, t.lease.Key), func(answer pgx.Rows) error {
		answer.Close()
		if answer.Err() == nil && answer.CommandTag().RowsAffected() == 0 {
			return store.ErrNotFound
		}
		return answer.Err()
	}, `UPDATE rejects SET resolution = $4, resolved_by = $5, resolved_at = now() WHERE `+ofSource+` AND id = $3`,
		t.lease.User, t.lease.Provider, rejectID, resolution, runID)
	return t.flush(ctx)
}

const changeStatement = `INSERT INTO changes (user_id, provider, external_id, stream, kind, version, mark, run_id)
SELECT $1, $2, u.* FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[]) AS u`

// Change implements store.Tx.
func (t *tx) Change(ctx context.Context, changes []store.Change) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	n := len(changes)
	what := fmt.Sprintf("append %d changes of source %s", n, t.lease.Key)
	switch {
	case n == 0:
		return nil
	case n >= copyFrom:
		return t.copyRows(ctx, what, copyChanges, func(b []byte) []byte { return encodeChanges(b, t.lease.Key, changes) })
	}
	ids, streams, kinds, runs := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	versions, marks := make([]int64, n), make([]int64, n)
	for i := range changes {
		c := &changes[i]
		ids[i], streams[i], kinds[i], runs[i], versions[i], marks[i] = c.ID, c.Stream, c.Kind, c.RunID, c.Version, c.Mark
	}
	t.queue(what, changeStatement,
		t.lease.User, t.lease.Provider, ids, streams, kinds, versions, marks, runs)
	return nil
}

const cursorStatement = `INSERT INTO cursors (user_id, provider, stream, part, watermark, state, run_id)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (user_id, provider, stream, part) DO UPDATE SET
	watermark = excluded.watermark, state = excluded.state, run_id = excluded.run_id, updated_at = excluded.updated_at`

// SaveCursor implements store.Tx.
func (t *tx) SaveCursor(ctx context.Context, c store.Cursor) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	if err := limits.Cursor(c); err != nil { // at once, and not at the commit
		return t.kill(fail(err, "save a cursor of source %s", t.lease.Key))
	}
	t.queue(fmt.Sprintf("save cursor %q of source %s", c.Stream, t.lease.Key), cursorStatement,
		t.lease.User, t.lease.Provider, c.Stream, c.Part, c.Watermark, c.State, c.RunID)
	return nil
}

// DropCursors implements store.Tx.
func (t *tx) DropCursors(ctx context.Context, stream string) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	t.queue("drop cursors of source "+t.lease.Key.String(),
		"DELETE FROM cursors WHERE "+ofSource+" AND ($3 = '' OR stream = $3)", t.lease.User, t.lease.Provider, stream)
	return nil
}

// progressStatement divides by the number of runs that it found, so that a run
// that is not there keeps the transaction from being committed.
const progressStatement = `WITH run AS (
	UPDATE runs SET
		inserted = inserted + $4, updated = updated + $5, unchanged = unchanged + $6, stale = stale + $7,
		deleted = deleted + $8, restored = restored + $9, rejected = rejected + $10, duplicate = duplicate + $11,
		pages = pages + $12,
		input_fingerprint = CASE WHEN $13 = '' THEN input_fingerprint ELSE $13 END,
		notes = CASE WHEN $14 = '' THEN notes ELSE $14 END
	WHERE ` + ofSource + ` AND id = $3
	RETURNING 1
)
SELECT 1 / count(*) FROM run`

// Progress implements store.Tx.
func (t *tx) Progress(ctx context.Context, p store.Progress) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	c := p.Counters
	t.steps = append(t.steps, step{
		what: fmt.Sprintf("progress of run %q of source %s", p.RunID, t.lease.Key),
		sql:  progressStatement,
		args: []any{
			t.lease.User, t.lease.Provider, p.RunID,
			c.Inserted, c.Updated, c.Unchanged, c.Stale, c.Deleted, c.Restored, c.Rejected, c.Duplicate,
			p.Pages, limits.Text(p.Input), limits.Text(p.Notes),
		},
		none: store.ErrNotFound,
	})
	return nil
}
