package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
)

// raise makes the server fail with a SQLSTATE inside a store's transaction.
func raise(code string) string {
	return "DO $$ BEGIN RAISE EXCEPTION 'a test says so' USING ERRCODE = '" + code + "'; END $$"
}

// provoke runs a statement inside a store's transaction.
func provoke(ctx context.Context, target store.Tx, sql string) error {
	t := target.(*tx)
	t.queue("provoke", sql)
	return t.flush(ctx)
}

func count(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Collisions are repeated as a whole, whatever f makes of the error.
func TestUpdateRepeatsCollisions(t *testing.T) {
	s, dsn := migrated(t)
	lease := leased(t, s, alice)
	conn := connect(t, dsn)
	rows := makePage(0, 1)[:3]
	for _, code := range []string{"40001", "40P01"} {
		for name, handle := range map[string]func(error) error{
			"returned": func(err error) error { return err },
			"reworded": func(error) error { return errors.New("it did not work") },
			"ignored":  func(error) error { return nil },
		} {
			tries := 0
			update(t, s, lease, func(ctx context.Context, tx store.Tx) error {
				tries++
				if err := tx.Put(ctx, rows); err != nil {
					return err
				}
				if tries < 4 {
					return handle(provoke(ctx, tx, raise(code)))
				}
				return nil
			})
			if tries != 4 {
				t.Errorf("%s, %s: got %d tries, want 4", code, name, tries)
			}
			if got := count(t, conn, "SELECT count(*) FROM records WHERE version = $1", rows[0].Version); got != len(rows) {
				t.Errorf("%s, %s: got %d records, want %d", code, name, got, len(rows))
			}
			for i := range rows {
				rows[i].Version++
			}
		}
	}
}

// Inside Try as well: a savepoint does not cure a collision.
func TestUpdateRepeatsCollisionsInTry(t *testing.T) {
	s, _ := migrated(t)
	lease := leased(t, s, alice)
	tries := 0
	update(t, s, lease, func(ctx context.Context, tx store.Tx) error {
		tries++
		if tries == 1 {
			if err := tx.Try(ctx, func() error { return provoke(ctx, tx, raise("40001")) }); err == nil {
				t.Error("the collision did not come out of Try")
			}
		}
		return nil
	})
	if tries != 2 {
		t.Errorf("got %d tries, want 2", tries)
	}
}

func TestUpdateGivesUpOnCollisions(t *testing.T) {
	s, _ := migrated(t)
	lease := leased(t, s, alice)
	tries := 0
	err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
		tries++
		return provoke(ctx, tx, raise("40001"))
	})
	if !errors.Is(err, store.ErrConflict) || tries != attempts {
		t.Errorf("got %v after %d tries, want a conflict after %d", err, tries, attempts)
	}
}

// A database whose transactions are serializable by default is no different:
// two sources that write side by side, and claims at the same time.
func TestSerializableByDefault(t *testing.T) {
	_, dsn := migrated(t)
	conn := connect(t, dsn)
	must(conn.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$"))(t)
	s := opened(t, dsn)
	sideBySide(t, s)
	if got := count(t, conn, "SELECT count(*) FROM records"); got != 2*100 {
		t.Errorf("got %d records, want 200", got)
	}
}

// Pages of two sources, and what goes on around them, don't wait for each
// other in a circle.
func TestNoDeadlocks(t *testing.T) {
	s, dsn := migrated(t)
	sideBySide(t, s)
	conn := connect(t, dsn)
	if got := count(t, conn, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); got != 0 {
		t.Errorf("got %d deadlocks", got)
	}
}

func sideBySide(t *testing.T, s *Store) {
	t.Helper()
	bob := store.Key{User: "bob", Provider: "github"}
	leases := []store.Lease{leased(t, s, alice, bob)}
	leases = append(leases, must(s.Acquire(t.Context(), bob, "daemon", time.Hour))(t).Lease)
	var wg sync.WaitGroup
	for _, lease := range leases {
		run := begun(t, s, lease)
		wg.Go(func() {
			for v := range int64(20) {
				rows := makePage(0, v+1)[:100]
				err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
					if err := tx.Put(ctx, rows); err != nil {
						return err
					}
					if err := tx.Progress(ctx, store.Progress{RunID: run, Pages: 1}); err != nil {
						return err
					}
					return tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: "{}", RunID: run})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if lost, err := s.Renew(t.Context(), leases, time.Hour); err != nil || len(lost) > 0 {
				t.Errorf("renew: lost %v, error %v", lost, err)
			}
		}
	})
	wg.Go(func() {
		for range 20 {
			if _, err := s.Claim(t.Context(), "other", 10, time.Hour); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

// A lease that runs out under way keeps the page from being committed, though
// nobody else has taken it.
func TestUpdateChecksTheLeaseAtCommit(t *testing.T) {
	s, dsn := migrated(t)
	lease := leased(t, s, alice)
	err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Insert(ctx, makePage(0, 1)[:3]); err != nil {
			return err
		}
		return provoke(ctx, tx, "UPDATE sources SET lease_until = clock_timestamp()")
	})
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("got %v, want the lease lost", err)
	}
	if got := count(t, connect(t, dsn), "SELECT count(*) FROM records"); got != 0 {
		t.Errorf("got %d records, want none", got)
	}
}

// While a page is under way nobody can take its lease.
func TestUpdateHoldsTheLease(t *testing.T) {
	s, dsn := migrated(t)
	lease := leased(t, s, alice)
	conn := connect(t, dsn)
	update(t, s, lease, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.Heads(ctx, []string{"issues/1"}); err != nil {
			return err
		}
		must(conn.Exec(ctx, "SET lock_timeout = 10"))(t)
		if _, err := conn.Exec(ctx, "UPDATE sources SET lease_token = lease_token + 1"); err == nil {
			t.Error("another wrote the source's row")
		}
		claims, err := s.Claim(ctx, "other", 10, time.Hour)
		if err != nil || len(claims) != 0 {
			t.Errorf("claim: got %v, %v", claims, err)
		}
		return nil
	})
}

// A backend that is killed under way costs one repetition, and nothing of the
// first try is left.
func TestUpdateSurvivesAKilledBackend(t *testing.T) {
	s, dsn := migrated(t)
	lease := leased(t, s, alice)
	run := begun(t, s, lease)
	conn := connect(t, dsn)
	kill := func(ctx context.Context, target store.Tx) {
		pid := target.(*tx).conn.PgConn().PID()
		must(conn.Exec(ctx, "SELECT pg_terminate_backend($1, 5000)", int32(pid)))(t)
	}
	tries := 0
	update(t, s, lease, func(ctx context.Context, tx store.Tx) error {
		tries++
		if err := tx.Insert(ctx, makePage(0, 1)[:50]); err != nil {
			return err
		}
		if err := tx.Progress(ctx, store.Progress{RunID: run, Counters: store.Counters{Inserted: 50}}); err != nil {
			return err
		}
		if tries > 1 {
			return nil
		}
		kill(ctx, tx)
		_, err := tx.Heads(ctx, []string{"issues/1"})
		if err == nil {
			t.Error("a killed backend answered")
		}
		return err
	})
	if tries != 2 {
		t.Errorf("got %d tries, want 2", tries)
	}
	if got := count(t, conn, "SELECT count(*) FROM records"); got != 50 {
		t.Errorf("got %d records, want 50", got)
	}
	if got := must(s.Run(t.Context(), run))(t).Counters; got != (store.Counters{Inserted: 50}) {
		t.Errorf("got counters %+v", got)
	}
	// Killed each time: the caller is told.
	err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Put(ctx, makePage(0, 2)[:50]); err != nil {
			return err
		}
		kill(ctx, tx)
		_, err := tx.Heads(ctx, []string{"issues/1"})
		return err
	})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("got %v, want the store unreachable", err)
	}
	if got := count(t, conn, "SELECT count(*) FROM records WHERE version = 2"); got != 0 {
		t.Errorf("got %d records of the broken transaction", got)
	}
}

// A server that crashes and comes back loses nothing that was committed, and
// the store goes on with it.
func TestRestart(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Options{Fsync: true})
	s := opened(t, cluster.DSN("postgres"))
	must(s.Migrate(t.Context()))(t)
	lease := leased(t, s, alice)
	write := func(n int) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, makePage(n, 1)) }
	}
	update(t, s, lease, write(0))
	err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
		if err := write(1)(ctx, tx); err != nil {
			return err
		}
		if err := cluster.Restart(pgtest.Immediate); err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("got %v, want the store unreachable", err)
	}
	// The answer to the commit was lost: what is there decides.
	counts := must(s.Count(t.Context(), alice))(t)
	if len(counts) != 1 || counts[0].Live != pageSize {
		t.Fatalf("got %+v, want the first page alone", counts)
	}
	update(t, s, lease, write(1))
}

// A page that comes again unchanged writes nothing: no row's xmin moves, and
// nothing is appended to the log but the counters and the cursor.
func TestUnchangedWritesNothing(t *testing.T) {
	s, dsn := migrated(t)
	lease := leased(t, s, alice)
	conn := connect(t, dsn)
	rows := makePage(0, 1)[:100]
	update(t, s, lease, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, rows) })
	const state = "SELECT string_agg(xmin || ' ' || xmax || ' ' || ctid, ',' ORDER BY external_id) FROM records"
	var before, after string
	if err := conn.QueryRow(t.Context(), state).Scan(&before); err != nil {
		t.Fatal(err)
	}
	update(t, s, lease, func(ctx context.Context, tx store.Tx) error {
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		heads, err := tx.Heads(ctx, ids)
		if err != nil {
			return err
		}
		for i, h := range heads {
			if !h.Found || h.Hash != rows[i].Hash || h.ID != rows[i].ID {
				return fmt.Errorf("got head %+v for %s", h, rows[i].ID)
			}
		}
		return tx.Touch(ctx, rows) // the marks are the same
	})
	if err := conn.QueryRow(t.Context(), state).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("rows were written:\n%s\n%s", before, after)
	}
}

// The look-ups are index look-ups on a table without statistics, in a database
// whose planner is told to prefer scans.
func TestLookUpsUseTheIndex(t *testing.T) {
	s, dsn := migrated(t)
	conn := connect(t, dsn)
	must(conn.Exec(t.Context(), "ALTER TABLE records SET (autovacuum_enabled = off)"))(t)
	lease := leased(t, s, alice)
	check := func(when string) {
		ids := make([]string, 500)
		marks := make([]int64, 500)
		for i := range ids {
			ids[i] = fmt.Sprintf("issues/%09d", i)
		}
		update(t, s, lease, func(ctx context.Context, target store.Tx) error {
			tx := target.(*tx)
			for name, statement := range map[string]struct {
				sql  string
				args []any
			}{
				"heads": {headsStatement, []any{"alice", "github", ids}},
				"data":  {dataStatement, []any{"alice", "github", ids}},
				"touch": {touchStatement, []any{"alice", "github", ids, marks}},
			} {
				for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
					tx.queue("set", "SET LOCAL plan_cache_mode = "+mode)
					var plan strings.Builder
					tx.ask("explain", func(answer pgx.Rows) error {
						for answer.Next() {
							var line string
							if err := answer.Scan(&line); err != nil {
								return err
							}
							plan.WriteString(line + "\n")
						}
						return nil
					}, "EXPLAIN "+statement.sql, statement.args...)
					if err := tx.flush(ctx); err != nil {
						return err
					}
					text := plan.String()
					if !strings.Contains(text, "Index Scan using records_key") || strings.Contains(text, "Seq Scan on records") ||
						strings.Contains(text, "Hash") || strings.Contains(text, "Merge") {
						t.Errorf("%s, %s, %s: got the plan\n%s", when, name, mode, text)
					}
				}
			}
			return nil
		})
	}
	check("empty")
	for n := range 5 {
		update(t, s, lease, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, makePage(n, 1)) })
	}
	if got := count(t, conn, "SELECT count(*) FROM pg_class WHERE relname = 'records' AND reltuples >= 0"); got != 0 {
		t.Fatal("the table has statistics")
	}
	check("never analysed")
	must(conn.Exec(t.Context(), "ANALYZE records"))(t)
	check("analysed")
}

// A panic in f must not leave a transaction, and its lock, behind.
func TestUpdatePanics(t *testing.T) {
	s, _ := migrated(t)
	lease := leased(t, s, alice)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.Heads(ctx, []string{"issues/1"}); err != nil {
				return err
			}
			panic("a bug")
		})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Update(ctx, lease, func(ctx context.Context, tx store.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Two writers of one source under the same lease: one waits for the other.
func TestUpdatesOfOneSourceTakeTurns(t *testing.T) {
	s, _ := migrated(t)
	lease := leased(t, s, alice)
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
					if _, err := tx.Heads(ctx, []string{"issues/1"}); err != nil {
						return err
					}
					most.Store(max(most.Load(), inside.Add(1)))
					defer inside.Add(-1)
					_, err := tx.Data(ctx, []string{"issues/1"})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d transactions of one source at once", most.Load())
	}
}
