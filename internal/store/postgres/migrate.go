package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/migrations"
)

// The keys of advisory locks: "syncd" in ASCII and a number. They are taken
// for one transaction, which is the only kind that a pooler can't mislay.
const (
	lockMigrate = 0x73796e6364_01
	lockApply   = 0x73796e6364_02
)

// schemaTable keeps which migrations were applied.
const schemaTable = `CREATE TABLE IF NOT EXISTS schema_migrations (
	number     integer PRIMARY KEY,
	name       text NOT NULL,
	checksum   text NOT NULL, -- SHA-256 of the file, in hexadecimal
	applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

// Migrate implements store.Store. All of it is one transaction: it is done
// whole or not at all.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	known, err := migrations.List(migrations.Postgres)
	if err != nil {
		return nil, err
	}
	var done []store.Migration
	err = s.again(ctx, func() error {
		done = nil
		// Read committed: what is read after the lock must be what the last
		// holder of the lock wrote.
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
			done, err = migrate(ctx, tx, known)
			return err
		})
		return fail(err, "migrate the schema")
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

func migrate(ctx context.Context, tx pgx.Tx, known []migrations.Migration) ([]store.Migration, error) {
	// Waiting for another daemon's migration is no reason to give up.
	if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lockMigrate)); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, schemaTable); err != nil {
		return nil, err
	}
	applied, err := appliedMigrations(ctx, tx)
	if err != nil {
		return nil, err
	}
	pending, err := migrations.Pending(known, applied)
	if err != nil {
		return nil, err
	}
	var done []store.Migration
	for _, m := range pending {
		if _, err := tx.Exec(ctx, m.SQL); err != nil {
			return nil, fmt.Errorf("migration %04d_%s: %w", m.Number, m.Name, err)
		}
		var at time.Time
		err := tx.QueryRow(ctx, "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3) RETURNING applied_at",
			m.Number, m.Name, m.Checksum).Scan(&at)
		if err != nil {
			return nil, err
		}
		done = append(done, store.Migration{Number: m.Number, Name: m.Name, AppliedAt: at.UTC()})
	}
	return done, nil
}

func appliedMigrations(ctx context.Context, q interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}) ([]migrations.Applied, error) {
	found, err := q.Query(ctx, "SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByPos[migrations.Applied])
}

// Migrations implements store.Store.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	known, err := migrations.List(migrations.Postgres)
	if err != nil {
		return nil, err
	}
	var exists bool
	if err := s.row(ctx, "look for the schema", "SELECT to_regclass('schema_migrations') IS NOT NULL", nil, &exists); err != nil {
		return nil, err
	}
	var applied []migrations.Applied
	if exists {
		applied, err = rows(ctx, s, "list migrations", "SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number",
			nil, pgx.RowToStructByPos[migrations.Applied])
		if err != nil {
			return nil, err
		}
	}
	var out []store.Migration
	for i, m := range known {
		row := store.Migration{Number: m.Number, Name: m.Name}
		if i < len(applied) {
			row.AppliedAt = applied[i].At.UTC()
		}
		out = append(out, row)
	}
	return out, nil
}
