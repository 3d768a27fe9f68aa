package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
)

// pageSize is the size of page that the numbers are about.
const pageSize = 1000

// makePage returns rows n*pageSize and on, of about 470 bytes each, in version v.
func makePage(n int, v int64) []store.Row {
	rows := make([]store.Row, pageSize)
	for i := range rows {
		id := n*pageSize + i
		data := fmt.Appendf(nil, `{"id":%d,"version":%d,"title":"issue number %d","body":"%s","labels":["bug","help wanted"],"state":"open"}`,
			id, v, id, strings.Repeat("lorem ipsum dolor ", 19))
		sum := sha256.Sum256(data)
		rows[i] = store.Row{
			ID: fmt.Sprintf("issues/%09d", id), Stream: "issues", Data: data, Hash: store.Hash(sum[:16]),
			Mark: 1_700_000_000_000_000_000 + v*1e9, Version: v, RunID: "0190a5f0-0000-7000-8000-000000000000",
		}
	}
	return rows
}

// bench is a store with pages of records, and the time that a bare COPY of the
// same rows into a table of the same kind took: all numbers are a ratio to it.
type bench struct {
	*Store
	lease store.Lease
	runID string
	pages [][]store.Row
	conn  *pgx.Conn
	copy  time.Duration
}

func newBench(b *testing.B, pages int) *bench {
	b.Helper()
	dsn := pgtest.Database(b)
	s := opened(b, dsn)
	must(s.Migrate(b.Context()))(b)
	lease := leased(b, s, alice)
	x := &bench{Store: s, lease: lease, runID: begun(b, s, lease), conn: connect(b, dsn)}
	for n := range pages {
		x.pages = append(x.pages, makePage(n, 1))
	}
	must(x.conn.Exec(b.Context(), "CREATE TABLE bare (LIKE records INCLUDING ALL)"))(b)
	return x
}

// bare measures the COPY; once for each time that the pages are gone through,
// so that both see the same machine.
func (x *bench) bare(b *testing.B) {
	b.Helper()
	b.StopTimer()
	must(x.conn.Exec(b.Context(), "TRUNCATE bare"))(b)
	x.copy += copyAll(b, x.conn, x.pages)
	must(x.conn.Exec(b.Context(), "TRUNCATE bare"))(b)
	b.StartTimer()
}

// copyAll is one COPY, by the driver, of all rows in one transaction.
func copyAll(b *testing.B, conn *pgx.Conn, pages [][]store.Row) time.Duration {
	b.Helper()
	start := time.Now()
	n := 0
	must(conn.CopyFrom(b.Context(), pgx.Identifier{"bare"},
		[]string{"user_id", "provider", "external_id", "stream", "data", "hash", "mark", "version", "absent", "run_id"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if n == len(pages)*pageSize {
				return nil, nil
			}
			r := &pages[n/pageSize][n%pageSize]
			n++
			return []any{alice.User, alice.Provider, r.ID, r.Stream, r.Data, r.Hash[:], r.Mark, r.Version, r.Absent, r.RunID}, nil
		})))(b)
	return time.Since(start)
}

// page commits one page as a run does: look-up, writes, counters, cursor.
func (x *bench) page(b *testing.B, rows []store.Row, lookUp bool, write func(tx store.Tx, heads []store.Head) error) {
	b.Helper()
	update(b, x.Store, x.lease, func(ctx context.Context, tx store.Tx) error {
		var heads []store.Head
		if lookUp {
			ids := make([]string, len(rows))
			for i := range rows {
				ids[i] = rows[i].ID
			}
			var err error
			if heads, err = tx.Heads(ctx, ids); err != nil {
				return err
			}
		}
		if err := write(tx, heads); err != nil {
			return err
		}
		if err := tx.Progress(ctx, store.Progress{RunID: x.runID, Pages: 1, Counters: store.Counters{Inserted: int64(len(rows))}}); err != nil {
			return err
		}
		return tx.SaveCursor(ctx, store.Cursor{Stream: "issues", Watermark: rows[0].Mark, State: `{"walk":{"page":"abc"}}`, RunID: x.runID})
	})
}

func (x *bench) load(b *testing.B, lookUp, changes bool) {
	for _, rows := range x.pages {
		x.page(b, rows, lookUp, func(tx store.Tx, _ []store.Head) error {
			if changes {
				if err := tx.Change(b.Context(), changesOf(rows)); err != nil {
					return err
				}
			}
			return tx.Insert(b.Context(), rows)
		})
	}
}

func changesOf(rows []store.Row) []store.Change {
	var out []store.Change
	for _, r := range rows {
		out = append(out, store.Change{ID: r.ID, Stream: r.Stream, Kind: "inserted", Mark: r.Mark, Version: r.Version, RunID: r.RunID})
	}
	return out
}

// report ends a benchmark whose loop went through all pages b.N times.
func (x *bench) report(b *testing.B) {
	b.Helper()
	rows := float64(b.N * len(x.pages) * pageSize)
	b.ReportMetric(x.copy.Seconds()/b.Elapsed().Seconds(), "ratio")
	b.ReportMetric(rows/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(rows/x.copy.Seconds(), "copy/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkUpdate commits pages of 1,000 records. The ratio is to one COPY of
// the same rows.
func BenchmarkUpdate(b *testing.B) {
	const pages = 100
	fresh := func(lookUp, changes bool) func(b *testing.B) {
		return func(b *testing.B) {
			x := newBench(b, pages)
			b.ResetTimer()
			for range b.N {
				x.bare(b)
				b.StopTimer()
				must(x.pool.Exec(b.Context(), "TRUNCATE records, changes"))(b)
				b.StartTimer()
				x.load(b, lookUp, changes)
			}
			x.report(b)
		}
	}
	b.Run("fresh, known to be empty", fresh(false, false))
	b.Run("fresh, looked up", fresh(true, false))
	b.Run("fresh, with changes", fresh(false, true))
	again := func(every int) func(b *testing.B) {
		return func(b *testing.B) {
			x := newBench(b, pages)
			x.load(b, false, false)
			b.ResetTimer()
			for v := range b.N {
				x.bare(b)
				for n := range x.pages {
					b.StopTimer()
					rows := changed(makePage(n, int64(v)+2), every)
					b.StartTimer()
					x.page(b, x.pages[n], true, func(tx store.Tx, heads []store.Head) error {
						for i := range heads {
							if !heads[i].Found {
								b.Fatal("a record is not found")
							}
						}
						return tx.Put(b.Context(), rows)
					})
				}
			}
			x.report(b)
		}
	}
	b.Run("unchanged", again(0))
	b.Run("one in a hundred changed", again(100))
	b.Run("all changed", again(1))
}

// changed returns every n-th row, none for 0.
func changed(rows []store.Row, n int) []store.Row {
	var out []store.Row
	for i := 0; n > 0 && i < len(rows); i += n {
		out = append(out, rows[i])
	}
	return out
}
