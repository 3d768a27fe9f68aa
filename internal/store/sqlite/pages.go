package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// ofSource are the rows of one source, in any table.
const ofSource = "user_id = ? AND provider = ?"

// Cursors implements store.Pages.
func (s *Store) Cursors(ctx context.Context, key store.Key) ([]store.Cursor, error) {
	return list(ctx, s, "read the cursors of source "+key.String(),
		"SELECT stream, part, watermark, state, run_id, updated_at FROM cursors WHERE "+ofSource+" ORDER BY stream, part",
		[]any{key.User, key.Provider}, func(r *sql.Rows) (store.Cursor, error) {
			var c store.Cursor
			var updated int64
			err := r.Scan(&c.Stream, &c.Part, &c.Watermark, &c.State, &c.RunID, &updated)
			c.UpdatedAt = fromMicro(updated)
			return c, err
		})
}

// Empty implements store.Pages.
func (s *Store) Empty(ctx context.Context, key store.Key, prefix string) (bool, error) {
	where, args := withPrefix(key, prefix)
	empty := true
	err := s.read(ctx, "look for records of source "+key.String(), "SELECT 1 FROM records WHERE "+where+" LIMIT 1", args,
		func(*sql.Rows) error {
			empty = false
			return nil
		})
	return empty, err
}

// Live implements store.Pages.
func (s *Store) Live(ctx context.Context, key store.Key, prefix, after string, before time.Time, limit int) ([]store.Head, error) {
	where, args := withPrefix(key, prefix)
	return list(ctx, s, "list live records of source "+key.String(),
		"SELECT external_id, mark, version, hash FROM records WHERE "+where+
			" AND external_id > ? AND deleted_at IS NULL AND updated_at < ? ORDER BY external_id LIMIT ?",
		append(args, after, before.UnixMicro(), limit), func(r *sql.Rows) (store.Head, error) {
			h := store.Head{Found: true}
			var hash []byte
			err := r.Scan(&h.ID, &h.Mark, &h.Version, &hash)
			copy(h.Hash[:], hash)
			return h, err
		})
}

// withPrefix selects the records of a source whose id begins with prefix, as a
// range of the index. LIKE and GLOB would read wildcards into it.
func withPrefix(key store.Key, prefix string) (where string, args []any) {
	where, args = ofSource+" AND external_id >= ?", []any{key.User, key.Provider, prefix}
	if end, ok := prefixEnd(prefix); ok {
		where += " AND external_id < ?"
		args = append(args, end)
	}
	return where, args
}

// prefixEnd returns the least text that sorts after every text with the
// prefix, byte by byte; ok is false if there is none. It need not be UTF-8.
func prefixEnd(prefix string) (end string, ok bool) {
	for n := len(prefix) - 1; n >= 0; n-- {
		if prefix[n] < 0xff {
			return prefix[:n] + string([]byte{prefix[n] + 1}), true
		}
	}
	return "", false
}
