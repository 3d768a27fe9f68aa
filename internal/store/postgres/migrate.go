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
	if err := verify(known, applied); err != nil {
		return nil, err
	}
	var done []store.Migration
	for _, m := range known[len(applied):] {
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

// An appliedMigration is a row of schema_migrations.
type appliedMigration struct {
	Number   int
	Name     string
	Checksum string
	At       time.Time
}

func appliedMigrations(ctx context.Context, q interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}) ([]appliedMigration, error) {
	found, err := q.Query(ctx, "SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByPos[appliedMigration])
}

// verify reports whether the applied migrations are the first of the known.
func verify(known []migrations.Migration, applied []appliedMigration) error {
	for i, a := range applied {
		switch {
		case a.Number != i+1:
			return fmt.Errorf("migration %04d is missing from schema_migrations", i+1)
		case i >= len(known):
			return fmt.Errorf("the schema is at migration %04d_%s, this program knows %04d at most: use a newer syncd",
				applied[len(applied)-1].Number, applied[len(applied)-1].Name, len(known))
		case a.Checksum != known[i].Checksum:
			return fmt.Errorf("migration %04d_%s was applied from a file that differs from this program's (checksum %s, not %s)",
				a.Number, a.Name, a.Checksum, known[i].Checksum)
		}
	}
	return nil
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
	var applied []appliedMigration
	if exists {
		applied, err = rows(ctx, s, "list migrations", "SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number",
			nil, pgx.RowToStructByPos[appliedMigration])
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
