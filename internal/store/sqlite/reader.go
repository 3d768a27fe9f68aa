package sqlite

import (
	"context"
	"database/sql"

	"github.com/syncdhq/syncd/internal/store"
)

// read calls f for each row of a query on a connection that only reads.
func (s *Store) read(ctx context.Context, what, query string, args []any, f func(*sql.Rows) error) error {
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	found, err := s.readers.QueryContext(ctx, query, args...)
	return fail(each(found, err, f), "%s", what)
}

// list returns the rows of a query on a connection that only reads.
func list[T any](ctx context.Context, s *Store, what, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	var out []T
	err := s.read(ctx, what, query, args, func(r *sql.Rows) error {
		row, err := scan(r)
		out = append(out, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// one returns the only row, or store.ErrNotFound.
func one[T any](ctx context.Context, s *Store, what, query string, args []any, scan func(*sql.Rows) (T, error)) (T, error) {
	found, err := list(ctx, s, what, query, args, scan)
	if err == nil && len(found) == 0 {
		err = fail(store.ErrNotFound, "%s", what)
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}

// each calls f for each row that was found.
func each(found *sql.Rows, err error, f func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := f(found); err != nil {
			return err
		}
	}
	return found.Err()
}
