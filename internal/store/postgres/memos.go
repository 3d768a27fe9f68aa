package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Memo implements store.Memos.
func (s *Store) Memo(ctx context.Context, kind, id string) (store.Memo, error) {
	m := store.Memo{Kind: kind, ID: id}
	var expires pgtype.Timestamptz
	err := s.row(ctx, "memo "+kind, "SELECT user_id, body, version, expires_at FROM memos WHERE kind = $1 AND id = $2 AND expires_at > clock_timestamp()",
		[]any{kind, id}, &m.User, &m.Body, &m.Version, &expires)
	if err != nil {
		return store.Memo{}, err
	}
	m.ExpiresAt = moment(expires)
	return m, nil
}

// PutMemo implements store.Memos.
func (s *Store) PutMemo(ctx context.Context, m store.Memo, ttl time.Duration) (int64, error) {
	if err := limits.Memo(m); err != nil {
		return 0, err
	}
	statement := `UPDATE memos SET user_id = $3, body = $4, version = version + 1, expires_at = clock_timestamp() + $5 * interval '1 microsecond'
		WHERE kind = $1 AND id = $2 AND version = $6 AND expires_at > clock_timestamp() RETURNING version`
	args := []any{m.Kind, m.ID, m.User, m.Body, ttl.Microseconds(), m.Version}
	if m.Version == 0 {
		statement = `INSERT INTO memos (kind, id, user_id, body, version, expires_at)
			VALUES ($1, $2, $3, $4, 1, clock_timestamp() + $5 * interval '1 microsecond')
			ON CONFLICT (kind, id) DO UPDATE SET user_id = excluded.user_id, body = excluded.body, version = 1, expires_at = excluded.expires_at
			WHERE memos.expires_at <= clock_timestamp() RETURNING version`
		args = args[:5]
	}
	var version int64
	err := s.row(ctx, "write a memo of "+m.Kind, statement, args, &version)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fail(store.ErrConflict, "write a memo of %s", m.Kind)
	}
	return version, err
}

// SweepMemos implements store.Memos.
func (s *Store) SweepMemos(ctx context.Context, limit int) (int64, error) {
	return s.exec(ctx, "delete memos",
		"DELETE FROM memos WHERE (kind, id) IN (SELECT kind, id FROM memos WHERE expires_at <= clock_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)", limit)
}
