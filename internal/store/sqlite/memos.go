package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Memo implements store.Memos.
func (s *Store) Memo(ctx context.Context, kind, id string) (store.Memo, error) {
	return one(ctx, s, "memo "+kind, "SELECT kind, id, user_id, body, version, expires_at FROM memos WHERE kind = ? AND id = ? AND expires_at > ?",
		[]any{kind, id, s.now()}, func(r *sql.Rows) (store.Memo, error) {
			var m store.Memo
			var expires sql.NullInt64
			err := r.Scan(&m.Kind, &m.ID, &m.User, &m.Body, &m.Version, &expires)
			m.ExpiresAt = moment(expires)
			return m, err
		})
}

// PutMemo implements store.Memos.
func (s *Store) PutMemo(ctx context.Context, m store.Memo, ttl time.Duration) (int64, error) {
	if err := limits.Memo(m); err != nil {
		return 0, err
	}
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		statement := `UPDATE memos SET user_id = ?, body = ?, version = version + 1, expires_at = ? WHERE kind = ? AND id = ? AND version = ? AND expires_at > ?`
		args := []any{m.User, m.Body, now + ttl.Microseconds(), m.Kind, m.ID, m.Version, now}
		if m.Version == 0 {
			statement = `INSERT INTO memos (user_id, body, version, expires_at, kind, id) VALUES (?, ?, 1, ?, ?, ?)
				ON CONFLICT (kind, id) DO UPDATE SET user_id = excluded.user_id, body = excluded.body, version = 1, expires_at = excluded.expires_at
				WHERE memos.expires_at <= ?`
			args = []any{m.User, m.Body, now + ttl.Microseconds(), m.Kind, m.ID, now}
		}
		written, err := w.exec(ctx, statement, args...)
		if err == nil && written == 0 {
			err = store.ErrConflict
		}
		return fail(err, "write a memo of %s", m.Kind)
	})
	if err != nil {
		return 0, err
	}
	return m.Version + 1, nil
}

// SweepMemos implements store.Memos.
func (s *Store) SweepMemos(ctx context.Context, limit int) (int64, error) {
	var n int64
	err := s.transact(ctx, func(ctx context.Context, w *writer) (err error) {
		n, err = w.exec(ctx, "DELETE FROM memos WHERE (kind, id) IN (SELECT kind, id FROM memos WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)", s.now(), limit)
		return fail(err, "delete memos")
	})
	return n, err
}
