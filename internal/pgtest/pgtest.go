// Package pgtest gives tests a PostgreSQL of their own, run from the machine's
// binaries and thrown away afterwards.
//
// Most tests want [Database]: an empty database in a server that all tests of
// the process share. A test that stops its server, or measures it, wants
// [Start].
//
// A server never outlives the process that started it, however that process
// ends; see supervisor.sh. As root, which PostgreSQL refuses, it runs as the
// user postgres or nobody.
//
// The environment:
//
//	SYNCD_TEST_POSTGRES     a server for Database to use instead of starting one: the URL of
//	                        a database in it, or the directory of its socket
//	SYNCD_REQUIRE_POSTGRES  1: a machine without PostgreSQL fails the tests instead of skipping them
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is how long one statement of this package may take.
const patience = time.Minute

// Database returns the URL of an empty database, which is this test's alone
// and dropped when the test ends, whoever is still connected. Where there is
// no PostgreSQL it skips the test.
func Database(tb testing.TB) string {
	tb.Helper()
	admin, err := shared.url()
	if err != nil {
		giveUp(tb, err)
	}
	name := databaseName(tb.Name())
	quoted := pgx.Identifier{name}.Sanitize()
	// template0 takes no connections, so no test can be in the way of a clone.
	if err := execute(admin, "CREATE DATABASE "+quoted+" TEMPLATE template0"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := execute(admin, "DROP DATABASE IF EXISTS "+quoted+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return withDatabase(admin, name)
}

// Start returns a server of the test's own, which ends with the test. Where
// there is no PostgreSQL it skips the test. If the test fails, the end of the
// server's log is in the test's.
func Start(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := Open(opts)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the server's log:\n%s", c.logTail())
		}
		if err := c.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// giveUp ends the test: skipped if all that is wrong is that the machine has
// no PostgreSQL and none is required.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrNoBinaries) && os.Getenv("SYNCD_REQUIRE_POSTGRES") != "1" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

func execute(dsn, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// databaseName makes a name that nobody else has, and that tells in
// pg_stat_activity and in error texts which test it belongs to.
func databaseName(test string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	if len(readable) > 40 { // PostgreSQL cuts names at 63 bytes
		readable = readable[:40]
	}
	return readable + "_" + strings.ToLower(rand.Text()[:12])
}

// withDatabase returns the DSN, a URL or key=value pairs, with another database.
func withDatabase(dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return dsn + " dbname=" + name
	}
	u.Path = "/" + name
	return u.String()
}

// socketURL returns the URL of a database behind the socket in a directory.
func socketURL(directory string, port int, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User("postgres"),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {directory}, "port": {fmt.Sprint(port)}}.Encode(),
	}
	return u.String()
}
