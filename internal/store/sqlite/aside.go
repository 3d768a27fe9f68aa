package sqlite

import (
	"context"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

const rejectStatement = `INSERT INTO rejects
	(user_id, provider, stream, part, record_id, mark, deleted, reason, detail, place, raw, raw_size, digest, run_id, first_at, last_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (user_id, provider, stream, part, digest) DO UPDATE SET
	run_id = excluded.run_id, last_at = excluded.last_at, times = times + 1`

// Reject implements store.Tx.
func (t *tx) Reject(ctx context.Context, rejects []store.Reject) error {
	return t.step(ctx, func(ctx context.Context) error {
		for _, r := range rejects {
			r = limits.Reject(r)
			raw := r.Raw
			if raw == nil {
				raw = []byte{}
			}
			_, err := t.w.exec(ctx, rejectStatement, t.key.User, t.key.Provider,
				limits.Escape(r.Stream), limits.Escape(r.Part), limits.Escape(r.RecordID), r.Mark, r.Deleted,
				limits.Escape(r.Reason), limits.Escape(r.Detail), limits.Escape(r.Place),
				raw, r.RawSize, r.Digest[:], limits.Text(r.RunID), t.now, t.now)
			if err != nil {
				return fail(err, "set a record of source %s aside", t.key)
			}
		}
		return nil
	})
}

// Resolve implements store.Tx.
func (t *tx) Resolve(ctx context.Context, rejectID int64, resolution, runID string) error {
	return t.step(ctx, func(ctx context.Context) error {
		n, err := t.w.exec(ctx, "UPDATE rejects SET resolution = ?, resolved_at = ?, resolved_by = ? WHERE id = ? AND user_id = ? AND provider = ?",
			resolution, t.now, runID, rejectID, t.key.User, t.key.Provider)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return fail(err, "resolve reject %d of source %s", rejectID, t.key)
	})
}

const changeStatement = `INSERT INTO changes
	(user_id, provider, stream, external_id, kind, version, mark, run_id, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

const columnsOfChange = 9

// Change implements store.Tx.
func (t *tx) Change(ctx context.Context, changes []store.Change) error {
	return t.step(ctx, func(ctx context.Context) error {
		args := make([]any, 0, columnsOfChange*min(len(changes), rowsAtOnce))
		for len(changes) > 0 {
			n, statement := 1, changeStatement
			if len(changes) >= rowsAtOnce {
				n, statement = rowsAtOnce, changeMany
			}
			args = args[:0]
			for _, c := range changes[:n] {
				args = append(args, t.key.User, t.key.Provider, c.Stream, c.ID, c.Kind, c.Version, c.Mark, c.RunID, t.now)
			}
			if _, err := t.w.exec(ctx, statement, args...); err != nil {
				return fail(err, "append %d changes of source %s", n, t.key)
			}
			changes = changes[n:]
		}
		return nil
	})
}

const cursorStatement = `INSERT INTO cursors
	(user_id, provider, stream, part, watermark, state, run_id, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (user_id, provider, stream, part) DO UPDATE SET
	watermark = excluded.watermark, state = excluded.state, run_id = excluded.run_id, updated_at = excluded.updated_at`

// SaveCursor implements store.Tx.
func (t *tx) SaveCursor(ctx context.Context, c store.Cursor) error {
	return t.step(ctx, func(ctx context.Context) error {
		if err := limits.Cursor(c); err != nil {
			return err
		}
		_, err := t.w.exec(ctx, cursorStatement, t.key.User, t.key.Provider, c.Stream, c.Part, c.Watermark, c.State, c.RunID, t.now)
		return fail(err, "save the cursor of stream %q, part %q of source %s", c.Stream, c.Part, t.key)
	})
}

// DropCursors implements store.Tx.
func (t *tx) DropCursors(ctx context.Context, stream string) error {
	return t.step(ctx, func(ctx context.Context) error {
		_, err := t.w.exec(ctx, "DELETE FROM cursors WHERE user_id = ? AND provider = ? AND (stream = ? OR ? = '')",
			t.key.User, t.key.Provider, stream, stream)
		return fail(err, "drop cursors of source %s", t.key)
	})
}

const progressStatement = `UPDATE runs SET
	inserted = inserted + ?, updated = updated + ?, unchanged = unchanged + ?, stale = stale + ?,
	deleted = deleted + ?, restored = restored + ?, rejected = rejected + ?, duplicate = duplicate + ?,
	pages = pages + ?,
	input_fingerprint = COALESCE(NULLIF(?, ''), input_fingerprint),
	notes = COALESCE(NULLIF(?, ''), notes)
WHERE id = ? AND user_id = ? AND provider = ?`

// Progress implements store.Tx.
func (t *tx) Progress(ctx context.Context, p store.Progress) error {
	return t.step(ctx, func(ctx context.Context) error {
		c := p.Counters
		n, err := t.w.exec(ctx, progressStatement, c.Inserted, c.Updated, c.Unchanged, c.Stale, c.Deleted, c.Restored, c.Rejected, c.Duplicate,
			p.Pages, limits.Text(p.Input), limits.Text(p.Notes), p.RunID, t.key.User, t.key.Provider)
		if err == nil && n == 0 {
			err = fmt.Errorf("the source has no such run: %w", store.ErrNotFound)
		}
		return fail(err, "add to run %q of source %s", p.RunID, t.key)
	})
}
