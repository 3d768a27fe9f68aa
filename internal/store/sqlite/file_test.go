package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/migrations"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	magic := "SQLite format 3\x00"
	for _, c := range []struct{ name, path, want string }{
		{"a folder", dir, "it is a folder"},
		{"no such folder", filepath.Join(dir, "missing", "syncd.db"), "the folder " + filepath.Join(dir, "missing") + " does not exist"},
		{"text", write("text", "these are the notes of a meeting"), "not an SQLite database"},
		{"short text", write("short", "x"), "not an SQLite database"},
		{"a device", os.DevNull, "not a regular file"},
		{"a damaged header", write("damaged", magic+strings.Repeat("\xff", 4096)), "not an SQLite database, or is damaged"},
		{"an unknown setting", filepath.Join(dir, "a.db") + "?sync=full", `no setting "sync"`},
		{"a wrong value", filepath.Join(dir, "a.db") + "?synchronous=off", "synchronous is normal or full"},
	} {
		s, err := Open(t.Context(), c.path)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a.db")); err == nil {
		t.Error("a refused setting left a file")
	}
	if os.Getuid() == 0 {
		return // root may write everywhere
	}
	closed := write("closed", "")
	if err := os.Chmod(closed, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), closed); err == nil || !strings.Contains(err.Error(), "no permission to write") {
		t.Errorf("no permission: got error %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]Options{
		"syncd.db": {}, "full.db": {Synchronous: "FULL"}, "a?b#c%20d é&mode=memory.db": {},
	} {
		path := filepath.Join(dir, name)
		l := loadFile(t, path, o)
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("%s: mode %o, want 600", file, got)
			}
		}
		want := int64(1)
		if o.Synchronous != "" {
			want = 2
		}
		for pragma, want := range map[string]int64{"synchronous": want, "foreign_keys": 1, "journal_size_limit": walLimit, "busy_timeout": busyTimeout.Milliseconds()} {
			if got := pragmaOf(t, l.Store, pragma); got != want {
				t.Errorf("%s: %s is %d, want %d", name, pragma, got, want)
			}
		}
	}
	s, err := Open(t.Context(), filepath.Join(dir, "set.db")+"?synchronous=full")
	if err != nil {
		t.Fatal(err)
	}
	if got := pragmaOf(t, s, "synchronous"); got != 2 {
		t.Errorf("synchronous is %d, want 2", got)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Migrate(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("after Close: got error %v", err)
	}
	if _, err := s.Sources(t.Context(), store.SourceFilter{}); !errors.Is(err, errClosed) {
		t.Errorf("after Close: got error %v", err)
	}
}

// pragmaOf reads a number off the connection that writes.
func pragmaOf(tb testing.TB, s *Store, name string) (n int64) {
	tb.Helper()
	w, err := s.take(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { s.writer <- w }()
	if err := w.conn.QueryRowContext(context.Background(), "PRAGMA "+name).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestClock(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 3600))
	l := loadFile(t, filepath.Join(t.TempDir(), "syncd.db"), Options{Clock: func() time.Time { return at }})
	got, err := l.Now(t.Context())
	if want := time.Date(2026, 1, 2, 2, 4, 5, 123456000, time.UTC); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	at = at.Add(25 * time.Hour)
	err = l.Update(t.Context(), l.lease, func(context.Context, store.Tx) error { return nil })
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("after the lease's end: got error %v", err)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	known, err := migrations.List(migrations.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	applied := 0
	for range 5 {
		wg.Go(func() {
			s, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
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
	if applied != len(known) {
		t.Errorf("%d migrations were applied, want each of %d once", applied, len(known))
	}
	s := migrated(t, path, Options{})
	list, err := s.Migrations(t.Context())
	if err != nil || len(list) != len(known) {
		t.Fatalf("got %d migrations, %v", len(list), err)
	}
	for _, m := range list {
		if m.AppliedAt.IsZero() {
			t.Errorf("%+v: not applied", m)
		}
	}
}

func TestMigrateRefuses(t *testing.T) {
	fresh, err := Open(t.Context(), filepath.Join(t.TempDir(), "syncd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	list, err := fresh.Migrations(t.Context())
	if err != nil || len(list) == 0 || !list[0].AppliedAt.IsZero() {
		t.Errorf("a new file: got %+v, %v, want nothing applied", list, err)
	}
	for _, c := range []struct{ name, change, want string }{
		{"newer", fmt.Sprintf("INSERT INTO schema_migrations VALUES (%d, 'next', 'x', 0), (%d, 'later', 'x', 0)", len(list)+1, len(list)+2),
			fmt.Sprintf("the schema is at migration %04d_later, this program knows %04d at most", len(list)+2, len(list))},
		{"other checksum", "UPDATE schema_migrations SET checksum = 'x' WHERE number = 1", "was applied from a file that differs"},
		{"gap", "DELETE FROM schema_migrations WHERE number = 1", "migration 0001 is missing"},
	} {
		s := migrated(t, filepath.Join(t.TempDir(), "syncd.db"), Options{})
		do(t, s, c.change)
		if _, err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}

// A migration that fails leaves nothing behind.
func TestMigrateWhole(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "syncd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	known := []migrations.Migration{
		{Number: 1, Name: "good", SQL: "CREATE TABLE a (x); CREATE TABLE b (x);"},
		{Number: 2, Name: "bad", SQL: "CREATE TABLE c (x); CREATE TABLE a (x);"},
	}
	err = s.transact(t.Context(), func(ctx context.Context, w *writer) error {
		_, err := migrate(ctx, w, known, 0)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "migration 0002_bad") {
		t.Errorf("got error %v", err)
	}
	var tables int
	if err := s.readers.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("got %d tables, %v, want none", tables, err)
	}
}
