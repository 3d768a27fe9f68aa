package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncdhq/syncd/internal/store"
)

// The helpers below run one statement in a transaction of its own. A collision
// with another transaction is repeated: the database's default isolation may
// be serializable. So is a plain SELECT whose connection broke.

// exec runs a statement and returns how many rows it affected.
func (s *Store) exec(ctx context.Context, what, sql string, args ...any) (int64, error) {
	var n int64
	err := s.again(ctx, func() error {
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
	return s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		return reading(sql, fail(missing(s.pool.QueryRow(ctx, sql, args...).Scan(dest...)), "%s", what))
	})
}

// rows runs a statement and collects its rows by scan.
func rows[T any](ctx context.Context, s *Store, what, sql string, args []any, scan func(pgx.CollectableRow) (T, error)) ([]T, error) {
	var out []T
	err := s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		found, err := s.pool.Query(ctx, sql, args...)
		if err == nil {
			out, err = pgx.CollectRows(found, pgx.RowToFunc[T](scan))
		}
		return reading(sql, fail(err, "%s", what))
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// reading marks the error of a plain SELECT whose connection broke.
func reading(sql string, err error) error {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	if refused || !errors.Is(err, store.ErrUnreachable) || !strings.HasPrefix(sql, "SELECT") {
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}
