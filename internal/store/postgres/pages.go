package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
)

// Cursors implements store.Pages.
func (s *Store) Cursors(ctx context.Context, key store.Key) ([]store.Cursor, error) {
	return rows(ctx, s, "read the cursors of source "+key.String(),
		"SELECT stream, part, watermark, state, run_id, updated_at FROM cursors WHERE "+ofSource+" ORDER BY stream, part",
		[]any{key.User, key.Provider},
		func(row pgx.CollectableRow) (c store.Cursor, err error) {
			var at pgtype.Timestamptz
			err = row.Scan(&c.Stream, &c.Part, &c.Watermark, &c.State, &c.RunID, &at)
			c.UpdatedAt = moment(at)
			return c, err
		})
}

// Empty implements store.Pages. The first id from the prefix on is the first
// entry of the index there, whether or not the table has statistics.
func (s *Store) Empty(ctx context.Context, key store.Key, prefix string) (bool, error) {
	found, err := rows(ctx, s, "look for records of source "+key.String(),
		"SELECT external_id FROM records WHERE "+ofSource+" AND external_id >= $3 ORDER BY external_id LIMIT 1",
		[]any{key.User, key.Provider, prefix}, pgx.RowTo[string])
	if err != nil {
		return false, err
	}
	return len(found) == 0 || !strings.HasPrefix(found[0], prefix), nil
}

// Live implements store.Pages.
func (s *Store) Live(ctx context.Context, key store.Key, prefix, after string, before time.Time, limit int) ([]store.Head, error) {
	if limit <= 0 {
		return nil, nil
	}
	sql := "SELECT external_id, mark, version, hash FROM records WHERE " + ofSource +
		" AND external_id >= $3 AND external_id > $4 AND deleted_at IS NULL AND updated_at < $5"
	args := []any{key.User, key.Provider, prefix, after, stamp(before), limit}
	if end, ok := prefixEnd(prefix); ok {
		sql += " AND external_id < $7"
		args = append(args, end)
	}
	sql += " ORDER BY external_id LIMIT $6"
	return rows(ctx, s, "list live records of source "+key.String(), sql, args,
		func(row pgx.CollectableRow) (store.Head, error) {
			h := store.Head{Found: true}
			var hash []byte
			err := row.Scan(&h.ID, &h.Mark, &h.Version, &hash)
			copy(h.Hash[:], hash)
			return h, err
		})
}
