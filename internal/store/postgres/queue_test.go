package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
)

// manySpecs are n sources, one in ten of them due.
func manySpecs(n int, now time.Time) []store.Spec {
	specs := make([]store.Spec, n)
	for i := range specs {
		due := now.Add(time.Hour)
		if i%10 == 0 {
			due = now.Add(-time.Hour)
		}
		specs[i] = store.Spec{
			Key: store.Key{User: fmt.Sprintf("user%06d", i), Provider: "github"}, Connector: "github",
			Schedule: "*/15 * * * * UTC", NextAt: due, DueAt: due, SpreadAt: due,
		}
	}
	return specs
}

// Applying the same configuration again writes no row, nor locks one.
func TestApplyUnchangedWritesNothing(t *testing.T) {
	s, dsn := migrated(t)
	conn := connect(t, dsn)
	specs := manySpecs(1000, must(s.Now(t.Context()))(t))
	must(s.Apply(t.Context(), specs))(t)
	const state = "SELECT string_agg(xmin || ' ' || xmax || ' ' || ctid, ',' ORDER BY user_id) FROM sources"
	var before, after string
	if err := conn.QueryRow(t.Context(), state).Scan(&before); err != nil {
		t.Fatal(err)
	}
	done := must(s.Apply(t.Context(), specs))(t)
	if err := conn.QueryRow(t.Context(), state).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if before != after || done != (store.Applied{}) {
		t.Errorf("got %+v, rows written: %v", done, before != after)
	}
}

// Claims go by the index of due times, on a table without statistics too.
func TestClaimUsesTheIndex(t *testing.T) {
	s, dsn := migrated(t)
	conn := connect(t, dsn)
	must(conn.Exec(t.Context(), "ALTER TABLE sources SET (autovacuum_enabled = off)"))(t)
	must(s.Apply(t.Context(), manySpecs(20_000, must(s.Now(t.Context()))(t))))(t)
	for _, when := range []string{"never analysed", "analysed"} {
		found := must(conn.Query(t.Context(), "EXPLAIN "+claimStatement, "daemon", int64(1), false, 10))(t)
		plan := strings.Join(must(pgx.CollectRows(found, pgx.RowTo[string]))(t), "\n")
		if !strings.Contains(plan, "Index Scan using sources_wake") || strings.Contains(plan, "Seq Scan on sources") {
			t.Errorf("%s: got the plan\n%s", when, plan)
		}
		must(conn.Exec(t.Context(), "ANALYZE sources"))(t)
	}
}

// BenchmarkApply takes over a configuration of 100,000 sources: all new, then
// unchanged, then every schedule changed, then all removed.
func BenchmarkApply(b *testing.B) {
	s, dsn := migrated(b)
	conn := connect(b, dsn)
	now := must(s.Now(b.Context()))(b)
	specs := manySpecs(100_000, now)
	other := manySpecs(100_000, now)
	for i := range other {
		other[i].Schedule = "@daily UTC"
	}
	for _, step := range []struct {
		name  string
		specs []store.Spec
	}{{"new", specs}, {"unchanged", specs}, {"changed", other}, {"removed", nil}} {
		b.Run(step.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				must(conn.Exec(b.Context(), "TRUNCATE sources"))(b)
				if step.name != "new" {
					must(s.Apply(b.Context(), specs))(b)
				}
				b.StartTimer()
				must(s.Apply(b.Context(), step.specs))(b)
			}
		})
	}
}

// BenchmarkClaim claims and gives back ten sources at a time of 100,000.
func BenchmarkClaim(b *testing.B) {
	s, _ := migrated(b)
	specs := manySpecs(100_000, must(s.Now(b.Context()))(b))
	must(s.Apply(b.Context(), specs))(b)
	b.ResetTimer()
	for range b.N {
		claims := must(s.Claim(b.Context(), "daemon", 10, time.Hour))(b)
		if len(claims) == 0 {
			b.StopTimer() // all are out: bring them back
			must(s.pool.Exec(b.Context(), "UPDATE sources SET lease_until = NULL WHERE lease_until IS NOT NULL"))(b)
			b.StartTimer()
		}
	}
	b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}
