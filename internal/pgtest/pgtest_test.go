package pgtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func mustExec(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func queryString(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	var got string
	if err := conn.QueryRow(t.Context(), query).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

func TestDatabaseIsTheTestsOwn(t *testing.T) {
	a, b := connect(t, Database(t)), connect(t, Database(t))
	mustExec(t, a, "CREATE TABLE records (id text)")
	mustExec(t, b, "CREATE TABLE records (id text)")
	mustExec(t, a, "INSERT INTO records VALUES ('issues/1')")
	if got, want := queryString(t, a, "SELECT count(*)::text FROM records"), "1"; got != want {
		t.Errorf("records in the database that was written to: got %s, want %s", got, want)
	}
	if got, want := queryString(t, b, "SELECT count(*)::text FROM records"), "0"; got != want {
		t.Errorf("records in the other database: got %s, want %s", got, want)
	}
	if got, want := queryString(t, a, "SHOW server_encoding"), "UTF8"; got != want {
		t.Errorf("encoding: got %s, want %s", got, want)
	}
}

func TestDatabaseIsDroppedWithItsConnections(t *testing.T) {
	watcher := connect(t, Database(t))
	var name string
	t.Run("inner", func(t *testing.T) {
		dsn := Database(t)
		conn, err := pgx.Connect(context.Background(), dsn) // and nobody closes it
		if err != nil {
			t.Fatal(err)
		}
		name = queryString(t, conn, "SELECT current_database()")
	})
	query := fmt.Sprintf("SELECT count(*)::text FROM pg_database WHERE datname = '%s'", name)
	if got, want := queryString(t, watcher, query), "0"; got != want {
		t.Errorf("databases named %s after their test: got %s, want %s", name, got, want)
	}
}

func TestDatabaseInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connect(t, Database(t))
		if got, want := queryString(t, conn, "SELECT 'here'"), "here"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A verdict records how a test was ended.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper()           {}
func (v *verdict) Skip(args ...any)  { v.skipped = fmt.Sprint(args...); panic(v) }
func (v *verdict) Fatal(args ...any) { v.failed = fmt.Sprint(args...); panic(v) }

func TestWithoutPostgres(t *testing.T) {
	for _, test := range []struct {
		name     string
		require  string
		err      error
		wantSkip bool
	}{
		{"none here", "", ErrNoBinaries, true},
		{"none here but required", "1", ErrNoBinaries, false},
		{"does not start", "", errors.New("initdb: disk full"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SYNCD_REQUIRE_POSTGRES", test.require)
			v := &verdict{TB: t}
			func() {
				defer func() { _ = recover() }()
				giveUp(v, test.err)
			}()
			if got := v.skipped != ""; got != test.wantSkip {
				t.Errorf("skipped: got %v, want %v", got, test.wantSkip)
			}
			if got, want := v.skipped+v.failed, test.err.Error(); got != want {
				t.Errorf("message: got %q, want %q", got, want)
			}
		})
	}
}

func TestDatabaseName(t *testing.T) {
	long := databaseName("TestStore/Ünïcode and \"quotes\"/" + strings.Repeat("x", 100))
	if len(long) > 63 {
		t.Errorf("%s has %d bytes, and PostgreSQL cuts at 63", long, len(long))
	}
	if a, b := databaseName("TestA"), databaseName("TestA"); a == b {
		t.Errorf("the same name twice: %s", a)
	}
}

func TestWithDatabase(t *testing.T) {
	for _, test := range []struct{ dsn, want string }{
		{"postgres://me:secret@db.example:5433/postgres?sslmode=disable", "postgres://me:secret@db.example:5433/other?sslmode=disable"},
		{"postgres://postgres@/postgres?host=%2Ftmp%2Fx", "postgres://postgres@/other?host=%2Ftmp%2Fx"},
		{"host=/tmp/x dbname=postgres", "host=/tmp/x dbname=postgres dbname=other"},
	} {
		got := withDatabase(test.dsn, "other")
		if got != test.want {
			t.Errorf("withDatabase(%q): got %q, want %q", test.dsn, got, test.want)
		}
		config, err := pgx.ParseConfig(got)
		if err != nil {
			t.Errorf("pgx on %q: %v", got, err)
		} else if config.Database != "other" {
			t.Errorf("pgx reads %q as database %q, want %q", got, config.Database, "other")
		}
	}
}

func TestAdminURL(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"postgres://db.example/postgres", "postgres://db.example/postgres"},
		{"/run/postgresql", "postgres://postgres@/postgres?host=%2Frun%2Fpostgresql&port=5432"},
	} {
		if got := adminURL(test.given); got != test.want {
			t.Errorf("adminURL(%q): got %q, want %q", test.given, got, test.want)
		}
	}
}
