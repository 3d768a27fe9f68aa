package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var alice = store.Key{User: "alice", Provider: "github"}

const pageRows = 1000

// loading is a store with a source under way.
type loading struct {
	*Store
	lease store.Lease
	run   string
}

func load(tb testing.TB) loading {
	tb.Helper()
	return loadFile(tb, filepath.Join(tb.TempDir(), "syncd.db"), Options{})
}

func loadFile(tb testing.TB, path string, o Options) loading {
	tb.Helper()
	l := loading{Store: migrated(tb, path, o), run: "run-1"}
	ctx := context.Background()
	if err := l.Add(ctx, store.Spec{Key: alice, Connector: "test"}); err != nil {
		tb.Fatal(err)
	}
	c, err := l.Acquire(ctx, alice, "test", 24*time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	l.lease = c.Lease
	if err := l.Begin(ctx, l.lease, store.Run{ID: l.run}, time.Time{}, time.Time{}); err != nil {
		tb.Fatal(err)
	}
	return l
}

// page returns rows of about 470 bytes, sorted by id. The ids grow from page to
// page if they are sequential, and are all over the index if not.
func page(n int, sequential bool) []store.Row { return pageOf(n, pageRows, sequential) }

func pageOf(n, size int, sequential bool) []store.Row {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	rows := make([]store.Row, size)
	for i := range rows {
		id := fmt.Sprintf("issues/%012d", n*pageRows+i)
		if !sequential {
			id = fmt.Sprintf("issues/%016x", random.Uint64())
		}
		data := fmt.Appendf(nil, `{"id": %d, "title": "An issue with number %d", "labels": ["bug", "ui"], "user": {"login": "u%d", "admin": false}, "body": %q}`,
			random.Uint64(), i, i%97, strings.Repeat("some text of it. ", 20))
		sum := sha256.Sum256(data)
		rows[i] = store.Row{ID: id, Stream: "issues", Data: data, Hash: store.Hash(sum[:16]), Mark: int64(n*pageRows + i + 1), Version: 1, RunID: "0190b5a1-1111-7222-8333-444444444444"}
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// commit stores a page as a first load does, or by put.
func (l loading) commit(tb testing.TB, n int, write func(context.Context, store.Tx) error) {
	ctx := context.Background()
	err := l.Update(ctx, l.lease, func(ctx context.Context, tx store.Tx) error {
		if err := write(ctx, tx); err != nil {
			return err
		}
		if err := tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: fmt.Sprintf(`{"watermark":%d,"walk":{"page":"%d"}}`, n, n), Watermark: int64(n), RunID: l.run}); err != nil {
			return err
		}
		return tx.Progress(ctx, store.Progress{RunID: l.run, Counters: store.Counters{Inserted: pageRows}, Pages: 1})
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// bare writes the same rows with one prepared statement, in the same
// transactions, on a connection with the same settings, and does nothing else.
func bare(tb testing.TB, s *Store, rows []store.Row) {
	ctx := context.Background()
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		st, err := w.prepare(insertRecord)
		if err != nil {
			return err
		}
		now := s.now()
		for i := range rows {
			r := &rows[i]
			_, err := st.ExecContext(context.WithoutCancel(ctx), alice.User, alice.Provider, r.ID, r.Stream, string(r.Data), r.Hash[:], r.Mark, r.Version, nil, false, now, now, r.RunID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkFirstLoad loads pages through the store and, page by page in turn, by
// bare inserts into another file: so that what else the machine does hits both.
// ratio is the store's speed to that of the bare inserts. A million records are
// -benchtime 1000x.
func BenchmarkFirstLoad(b *testing.B) {
	for _, sequential := range []bool{true, false} {
		b.Run(fmt.Sprintf("sequential=%t", sequential), func(b *testing.B) {
			l, other := load(b), load(b)
			var ours, theirs time.Duration
			for n := 0; b.Loop(); n++ {
				rows := page(n, sequential)
				at := time.Now()
				bare(b, other.Store, rows)
				between := time.Now()
				l.commit(b, n, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, rows) })
				theirs += between.Sub(at)
				ours += time.Since(between)
			}
			b.ReportMetric(float64(b.N*pageRows)/ours.Seconds(), "records/s")
			b.ReportMetric(float64(b.N*pageRows)/theirs.Seconds(), "bare/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
		})
	}
}

// BenchmarkPage commits pages of a source that is stored already: unchanged,
// 1 % changed, all changed. Heads are looked up in each, as package ingest does.
func BenchmarkPage(b *testing.B) {
	const pages = 100
	l := load(b)
	for n := range pages {
		rows := page(n, false)
		l.commit(b, n, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, rows) })
	}
	for _, changed := range []int{0, pageRows / 100, pageRows} {
		b.Run("changed="+strconv.Itoa(changed), func(b *testing.B) {
			var spent time.Duration
			for n := 0; b.Loop(); n++ {
				rows := page(n%pages, false)
				ids := make([]string, len(rows))
				for i := range rows {
					ids[i] = rows[i].ID
				}
				at := time.Now()
				l.commit(b, n, func(ctx context.Context, tx store.Tx) error {
					heads, err := tx.Heads(ctx, ids)
					if err != nil {
						return err
					}
					var put []store.Row
					for i, h := range heads {
						if i%pageRows < changed {
							r := rows[i]
							r.Version, r.Mark = h.Version+1, h.Mark+1
							put = append(put, r)
						}
					}
					return tx.Put(ctx, put)
				})
				spent += time.Since(at)
			}
			b.ReportMetric(float64(b.N*pageRows)/spent.Seconds(), "records/s")
		})
	}
}

// manySpecs is a configuration of 100,000 sources.
func manySpecs() []store.Spec {
	specs := make([]store.Spec, 100_000)
	for i := range specs {
		at := time.Unix(int64(i), 0)
		specs[i] = store.Spec{Key: store.Key{User: fmt.Sprintf("user-%d", i), Provider: "github"}, Connector: "github",
			Schedule: "@hourly UTC", NextAt: at, SpreadAt: at, DueAt: at}
	}
	return specs
}

// BenchmarkApply applies a configuration of 100,000 sources: new, and unchanged.
func BenchmarkApply(b *testing.B) {
	specs := manySpecs()
	ctx := context.Background()
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			s := migrated(b, filepath.Join(b.TempDir(), "syncd.db"), Options{})
			if _, err := s.Apply(ctx, specs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		s := migrated(b, filepath.Join(b.TempDir(), "syncd.db"), Options{})
		if _, err := s.Apply(ctx, specs); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if got, err := s.Apply(ctx, specs); err != nil || got != (store.Applied{}) {
				b.Fatalf("got %+v, %v, want nothing changed", got, err)
			}
		}
	})
}

// BenchmarkClaim claims sources and gives them back, ten at a time, among 100,000.
func BenchmarkClaim(b *testing.B) {
	s := migrated(b, filepath.Join(b.TempDir(), "syncd.db"), Options{})
	ctx := context.Background()
	specs := manySpecs()
	if _, err := s.Apply(ctx, specs); err != nil {
		b.Fatal(err)
	}
	var claimed int
	for b.Loop() {
		claims, err := s.Claim(ctx, "daemon", 10, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range claims {
			if err := s.Release(ctx, c.Lease); err != nil {
				b.Fatal(err)
			}
		}
		claimed += len(claims)
	}
	b.ReportMetric(float64(claimed)/b.Elapsed().Seconds(), "claims/s")
}
