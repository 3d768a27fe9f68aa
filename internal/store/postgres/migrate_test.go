package postgres

import (
	"strings"
	"sync"
	"testing"

	"github.com/syncdhq/syncd/internal/pgtest"
)

func TestMigrateByManyAtOnce(t *testing.T) {
	dsn := pgtest.Database(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	applied := 0
	for range 5 {
		s := opened(t, dsn)
		wg.Go(func() {
			done, err := s.Migrate(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			applied += len(done)
		})
	}
	wg.Wait()
	s := opened(t, dsn)
	list := must(s.Migrations(t.Context()))(t)
	if applied != len(list) {
		t.Errorf("got %d migrations applied by all, want %d", applied, len(list))
	}
	for _, m := range list {
		if m.AppliedAt.IsZero() {
			t.Errorf("migration %d was not applied", m.Number)
		}
	}
}

func TestMigrationsOfAnEmptyDatabase(t *testing.T) {
	s := opened(t, pgtest.Database(t))
	list := must(s.Migrations(t.Context()))(t)
	if len(list) == 0 || !list[0].AppliedAt.IsZero() {
		t.Errorf("got %+v, want them listed and not applied", list)
	}
	if _, err := s.Overview(t.Context()); err == nil || !strings.Contains(err.Error(), "syncd migrate") {
		t.Errorf("before the migration: got %v", err)
	}
}

func TestMigrateRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ sql, want string }{
		"a newer schema": {
			"INSERT INTO schema_migrations (number, name, checksum) SELECT max(number) + 1, 'future', 'x' FROM schema_migrations",
			"use a newer syncd",
		},
		"another file": {"UPDATE schema_migrations SET checksum = 'x' WHERE number = 1", "differs"},
		"a gap":        {"UPDATE schema_migrations SET number = 100 WHERE number = 1", "missing"},
	} {
		s, dsn := migrated(t)
		must(connect(t, dsn).Exec(t.Context(), tt.sql))(t)
		if _, err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestLiveRecords(t *testing.T) {
	_, dsn := migrated(t)
	conn := connect(t, dsn)
	must(conn.Exec(t.Context(), `INSERT INTO records (user_id, provider, stream, external_id, data, hash, mark, version, deleted_at, run_id)
		SELECT 'u', 'p', 's', 's/' || id, '{"b": 1, "a": [2]}', decode(repeat('00', 16), 'hex'), mark, 1, deleted, 'r'
		FROM (VALUES (1, 1700000000123456789, NULL), (2, 42, NULL), (3, 0, now())) v(id, mark, deleted)`))(t)
	var got string
	err := conn.QueryRow(t.Context(), `SELECT string_agg(concat_ws(' ', external_id, to_char(marked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), data ->> 'b'), ', ' ORDER BY external_id)
		FROM live_records WHERE doc @> '{"a": [2]}'`).Scan(&got)
	if want := "s/1 2023-11-14 22:13:20.123456 1, s/2 1"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
