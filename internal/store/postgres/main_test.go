package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
)

// shortly bounds what must not take long.
const shortly = 10 * time.Second

var alice = store.Key{User: "alice", Provider: "github"}

// migrated returns a store on an empty database of the test's own, and its DSN.
func migrated(tb testing.TB) (*Store, string) {
	tb.Helper()
	dsn := pgtest.Database(tb)
	s := opened(tb, dsn)
	if _, err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s, dsn
}

func opened(tb testing.TB, dsn string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// connect returns a connection beside the store, for a look behind it.
func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	c, err := pgx.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// leased adds the sources of keys and takes the lease of the first.
func leased(tb testing.TB, s *Store, keys ...store.Key) store.Lease {
	tb.Helper()
	now := must(s.Now(tb.Context()))(tb)
	var specs []store.Spec
	for _, k := range keys {
		specs = append(specs, store.Spec{Key: k, Connector: "test", Schedule: "@hourly", NextAt: now, DueAt: now, SpreadAt: now})
	}
	must(s.Apply(tb.Context(), specs))(tb)
	return must(s.Acquire(tb.Context(), keys[0], "daemon", time.Hour))(tb).Lease
}

// begun opens a run under the lease and returns its id.
func begun(tb testing.TB, s *Store, lease store.Lease) string {
	tb.Helper()
	run := store.Run{ID: must(uuid.NewV7())(tb).String(), Trigger: store.TriggerOperator}
	if err := s.Begin(tb.Context(), lease, run, time.Time{}, time.Time{}); err != nil {
		tb.Fatal(err)
	}
	return run.ID
}

func update(tb testing.TB, s *Store, lease store.Lease, f func(ctx context.Context, tx store.Tx) error) {
	tb.Helper()
	if err := s.Update(tb.Context(), lease, f); err != nil {
		tb.Fatal(err)
	}
}

// must returns v, or fails the test it is then given.
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}
