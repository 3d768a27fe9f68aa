package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/postgres"
	"github.com/syncdhq/syncd/internal/store/sqlite"
	"github.com/syncdhq/syncd/internal/transport"
)

// records is how many records the numbers are about: $SYNCD_BENCH_RECORDS.
var records = 200_000

func TestMain(m *testing.M) {
	if text := os.Getenv(serveVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err == nil {
			err = serve(n)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if n, err := strconv.Atoi(os.Getenv("SYNCD_BENCH_RECORDS")); err == nil {
		records = n
	}
	os.Exit(m.Run())
}

// sync runs one source once and returns how long it took.
func sync1(b *testing.B, s store.Store, key store.Key, streams []syncd.Stream, want store.Counters) time.Duration {
	b.Helper()
	ctx := b.Context()
	now := time.Now()
	if err := s.Add(ctx, store.Spec{Key: key, Connector: "bench", Schedule: "@yearly", NextAt: now.AddDate(1, 0, 0), DueAt: now.AddDate(1, 0, 0), SpreadAt: now.AddDate(1, 0, 0)}); err != nil {
		b.Fatal(err)
	}
	claim, err := s.Acquire(ctx, key, "bench", 24*time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7()).String()
	if err := s.Begin(ctx, claim.Lease, store.Run{ID: id, Key: key, Token: claim.Token, Owner: "bench", Trigger: store.TriggerOperator, State: store.Running}, claim.NextAt, claim.DueAt); err != nil {
		b.Fatal(err)
	}
	runner := &run.Runner{Store: s, Writer: &ingest.Writer{Store: s}, Now: time.Now}
	began := time.Now()
	res := runner.Run(ctx, run.Job{Source: run.Source{Key: key, Streams: streams, MaxRejects: 50}, Lease: claim.Lease, RunID: id, At: claim.Now, Full: true, FullDue: claim.Now})
	took := time.Since(began)
	if res.State != store.Done || res.Counters != want {
		b.Fatalf("run %s %v, counters %+v, want %+v", res.State, res.Err, res.Counters, want)
	}
	if err := s.Finish(ctx, claim.Lease, id, store.Outcome{State: res.State, DueAt: claim.DueAt}); err != nil {
		b.Fatal(err)
	}
	return took
}

// inMemory is the stream that makes its pages itself.
func inMemory(f feed) []syncd.Stream {
	return []syncd.Stream{{Name: "items", Fetch: func(_ context.Context, req syncd.Request) (syncd.Page, error) { return f.page(req.Page) }}}
}

// cluster is a PostgreSQL as durable as an installed one, and a store on it.
func cluster(b *testing.B) (*pgtest.Cluster, store.Store, string) {
	b.Helper()
	c := pgtest.Start(b, pgtest.Options{Fsync: true, Settings: map[string]string{"max_wal_size": "4GB"}})
	dsn := c.DSN("postgres")
	s, err := postgres.Open(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if _, err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	return c, s, dsn
}

// copyAll is one COPY of n records into an empty table like `records`.
func copyAll(b *testing.B, dsn string, n int) time.Duration {
	b.Helper()
	ctx := b.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	execute(b, conn, "DROP TABLE IF EXISTS bare", "CREATE TABLE bare (LIKE records INCLUDING ALL)", "CHECKPOINT")
	i := 0
	hash := make([]byte, 16)
	began := time.Now()
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"bare"},
		[]string{"user_id", "provider", "stream", "external_id", "data", "hash", "mark", "version", "run_id"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if i == n {
				return nil, nil
			}
			row := []any{"alice", "bench", "items", "items/" + strconv.Itoa(i), appendRecord(make([]byte, 0, 480), i, false), hash, int64(mark(i, false)), int64(1), "run"}
			i++
			return row, nil
		}))
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	execute(b, conn, "DROP TABLE bare", "CHECKPOINT")
	return took
}

func execute(b *testing.B, conn *pgx.Conn, statements ...string) {
	b.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}

func checkpoint(b *testing.B, dsn string) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	execute(b, conn, "CHECKPOINT")
}

// ratios reports how long the baseline took over how long each of the others did.
func ratios(b *testing.B, n int, base time.Duration, took map[string]time.Duration) {
	b.Helper()
	b.ReportMetric(float64(n)/base.Seconds(), "base-records/s")
	for name, d := range took {
		b.ReportMetric(base.Seconds()/d.Seconds(), name+"/base")
	}
	b.ReportMetric(0, "ns/op")
}

// mean of the baseline before and after what is compared with it: the machine
// is not the same all the time.
func mean(x, y time.Duration) time.Duration { return (x + y) / 2 }

// BenchmarkPostgreSQL is the engine without network: pages of 1,000, prepared,
// decided and committed each with its cursor. The base is one COPY.
func BenchmarkPostgreSQL(b *testing.B) {
	_, s, dsn := cluster(b)
	n := records
	before := copyAll(b, dsn, n)
	key := store.Key{User: "alice", Provider: "bench"}
	took := map[string]time.Duration{}
	took["first"] = sync1(b, s, key, inMemory(feed{n: n}), store.Counters{Inserted: int64(n)})
	checkpoint(b, dsn)
	took["unchanged"] = sync1(b, s, key, inMemory(feed{n: n}), store.Counters{Unchanged: int64(n)})
	checkpoint(b, dsn)
	some := feed{n: n, every: 100}
	changed := int64((n + 99) / 100)
	took["1%-changed"] = sync1(b, s, key, inMemory(some), store.Counters{Updated: changed, Unchanged: int64(n) - changed})
	ratios(b, n, mean(before, copyAll(b, dsn, n)), took)
}

// BenchmarkEndToEnd is everything: HTTP answers of 1,000 records, decoded,
// committed. The base is one COPY of all records.
func BenchmarkEndToEnd(b *testing.B) {
	_, s, dsn := cluster(b)
	n := records
	before := copyAll(b, dsn, n)
	took := map[string]time.Duration{"one-source": fromServer(b, s, dsn, n, 1)}
	checkpoint(b, dsn)
	took["four-sources"] = fromServer(b, s, dsn, n, 4)
	ratios(b, n, mean(before, copyAll(b, dsn, n)), took)
}

// fromServer syncs n records, shared out over so many sources at once.
func fromServer(b *testing.B, s store.Store, dsn string, n, sources int) time.Duration {
	b.Helper()
	each := n / sources
	base, stop, err := startServer(b.Context(), each)
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	began := time.Now()
	var runs sync.WaitGroup
	for i := range sources {
		runs.Go(func() {
			stack, err := transport.New(transport.Config{})
			if err != nil {
				b.Error(err)
				return
			}
			client, err := stack.Client(base)
			if err != nil {
				b.Error(err)
				return
			}
			key := store.Key{User: fmt.Sprintf("user-%d-of-%d-with-%d", i, sources, each), Provider: "bench"}
			sync1(b, s, key, []syncd.Stream{overHTTP(client)}, store.Counters{Inserted: int64(each)})
		})
	}
	runs.Wait()
	return time.Since(began)
}

// BenchmarkSQLite is the engine without network on SQLite. The base is bare
// prepared inserts into the same table in the same transactions.
func BenchmarkSQLite(b *testing.B) {
	n := records
	before := bareInserts(b, n)
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	key := store.Key{User: "alice", Provider: "bench"}
	took := map[string]time.Duration{}
	took["first"] = sync1(b, s, key, inMemory(feed{n: n}), store.Counters{Inserted: int64(n)})
	took["unchanged"] = sync1(b, s, key, inMemory(feed{n: n}), store.Counters{Unchanged: int64(n)})
	ratios(b, n, mean(before, bareInserts(b, n)), took)
}
