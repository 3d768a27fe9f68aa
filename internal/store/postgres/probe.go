package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oldest is the first version of PostgreSQL that the statements here run on.
const oldest = 140000

// probe checks the server's version and, unless the DSN names a pooler,
// that a prepared statement is still there when it is wanted.
func (s *Store) probe(ctx context.Context, pooled bool) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	one, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer one.Release()
	var version string
	if err := one.QueryRow(ctx, "SELECT current_setting('server_version_num')").Scan(&version); err != nil {
		return err
	}
	if n, err := strconv.Atoi(version); err != nil || n < oldest {
		return fmt.Errorf("PostgreSQL %s is too old, syncd needs 14 or later", version)
	}
	if pooled || s.pool.Config().MaxConns < 2 {
		return nil
	}
	two, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer two.Release()
	return probePrepared(ctx, one, two)
}

// probePrepared prepares a statement of one name on two connections and runs it
// on both while the other is inside a transaction. A pooler in transaction mode
// gives both the same server connection, where the name is taken (42P05), or
// gives the second one another, where it is unknown (26000).
func probePrepared(ctx context.Context, one, two *pgxpool.Conn) error {
	const name, sql = "syncd_probe", "SELECT $1::int"
	for _, c := range []*pgxpool.Conn{one, two} {
		if _, err := c.Conn().Prepare(ctx, name, sql); err != nil {
			return err
		}
	}
	run := func(ctx context.Context, q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) error {
		var n int
		return q.QueryRow(ctx, name, 1).Scan(&n)
	}
	for _, pair := range [][2]*pgxpool.Conn{{one, two}, {two, one}} {
		err := pgx.BeginFunc(ctx, pair[0], func(tx pgx.Tx) error {
			if err := run(ctx, tx); err != nil {
				return err
			}
			return run(ctx, pair[1])
		})
		if err != nil {
			return err
		}
	}
	for _, c := range []*pgxpool.Conn{one, two} {
		if err := c.Conn().Deallocate(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
