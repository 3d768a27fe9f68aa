package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/migrations"
)

// schemaTable keeps which migrations were applied.
const schemaTable = `CREATE TABLE IF NOT EXISTS schema_migrations (
	number     INTEGER PRIMARY KEY,
	name       TEXT NOT NULL,
	checksum   TEXT NOT NULL, -- SHA-256 of the file, in hexadecimal
	applied_at INTEGER NOT NULL
) STRICT`

// Migrate implements store.Store. All of it is one transaction that holds the
// database's lock before it looks: it is done whole or not at all.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	known, err := migrations.List(migrations.SQLite)
	if err != nil {
		return nil, err
	}
	var done []store.Migration
	err = s.transact(ctx, func(ctx context.Context, w *writer) (err error) {
		done, err = migrate(ctx, w, known, s.now())
		return fail(err, "migrate the schema of %s", s.path)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

func migrate(ctx context.Context, w *writer, known []migrations.Migration, now int64) ([]store.Migration, error) {
	if _, err := w.conn.ExecContext(ctx, schemaTable); err != nil {
		return nil, err
	}
	var applied []migrations.Applied
	err := w.rows(ctx, appliedQuery, nil, func(r *sql.Rows) error {
		a, err := scanApplied(r)
		applied = append(applied, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	pending, err := migrations.Pending(known, applied)
	if err != nil {
		return nil, err
	}
	var done []store.Migration
	for _, m := range pending {
		if _, err := w.conn.ExecContext(ctx, m.SQL); err != nil {
			return nil, fmt.Errorf("migration %04d_%s: %w", m.Number, m.Name, err)
		}
		_, err := w.exec(ctx, "INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
			m.Number, m.Name, m.Checksum, now)
		if err != nil {
			return nil, err
		}
		done = append(done, store.Migration{Number: m.Number, Name: m.Name, AppliedAt: fromMicro(now)})
	}
	return done, nil
}

const appliedQuery = "SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number"

func scanApplied(r *sql.Rows) (a migrations.Applied, err error) {
	var at int64
	err = r.Scan(&a.Number, &a.Name, &a.Checksum, &at)
	a.At = fromMicro(at)
	return a, err
}

// Migrations implements store.Store.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	known, err := migrations.List(migrations.SQLite)
	if err != nil {
		return nil, err
	}
	exists := false
	err = s.read(ctx, "look for the schema", "SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'", nil,
		func(*sql.Rows) error {
			exists = true
			return nil
		})
	if err != nil {
		return nil, err
	}
	var applied []migrations.Applied
	if exists {
		if applied, err = list(ctx, s, "list migrations", appliedQuery, nil, scanApplied); err != nil {
			return nil, err
		}
	}
	var out []store.Migration
	for i, m := range known {
		row := store.Migration{Number: m.Number, Name: m.Name}
		if i < len(applied) {
			row.AppliedAt = applied[i].At
		}
		out = append(out, row)
	}
	return out, nil
}
