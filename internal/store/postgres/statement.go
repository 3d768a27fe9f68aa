package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// The helpers below run one statement in a transaction of its own. A collision
// with another transaction is repeated: the database's default isolation may
// be serializable.

// exec runs a statement and returns how many rows it affected.
func (s *Store) exec(ctx context.Context, what, sql string, args ...any) (int64, error) {
	var n int64
	err := again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		tag, err := s.pool.Exec(ctx, sql, args...)
		n = tag.RowsAffected()
		return fail(err, "%s", what)
	})
	return n, err
}

// row runs a statement that returns one row, and scans it into dest. No row is
// store.ErrNotFound.
func (s *Store) row(ctx context.Context, what, sql string, args []any, dest ...any) error {
	return again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		return fail(missing(s.pool.QueryRow(ctx, sql, args...).Scan(dest...)), "%s", what)
	})
}

// rows runs a statement and collects its rows by scan.
func rows[T any](ctx context.Context, s *Store, what, sql string, args []any, scan func(pgx.CollectableRow) (T, error)) ([]T, error) {
	var out []T
	err := again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		found, err := s.pool.Query(ctx, sql, args...)
		if err == nil {
			out, err = pgx.CollectRows(found, pgx.RowToFunc[T](scan))
		}
		return fail(err, "%s", what)
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}
