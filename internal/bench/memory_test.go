package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// aloneVariable says that this process measures memory and nothing before it.
const aloneVariable = "SYNCD_BENCH_ALONE"

// BenchmarkMemory is the most memory that a process holds while it syncs, in
// MB, at two sizes: it must not grow with the number of records. It runs in a
// process of its own; so do the page server and PostgreSQL.
func BenchmarkMemory(b *testing.B) {
	if os.Getenv(aloneVariable) == "" {
		alone(b)
		return
	}
	_, s, dsn := cluster(b)
	for _, n := range []int{records / 10, records} {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			b.Skipf("this system does not tell: %v", err)
		}
		fromServer(b, s, dsn, n, 1)
		b.ReportMetric(float64(peak(b))/1e6, fmt.Sprintf("MB-at-%d", n))
	}
	b.ReportMetric(0, "ns/op")
}

// alone runs the benchmark in a process of its own and takes over its numbers.
func alone(b *testing.B) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self, "-test.run=^$", "-test.bench=^BenchmarkMemory$", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), aloneVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	fields := strings.Fields(string(out))
	for i, unit := range fields {
		if i > 0 && strings.HasPrefix(unit, "MB-at-") {
			n, err := strconv.ParseFloat(fields[i-1], 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(n, unit)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// peak is the process's highest resident size since clear_refs, in bytes.
func peak(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb << 10
		}
	}
	b.Fatal("no VmHWM")
	return 0
}

// BenchmarkDepth is what a page costs in a table of all records, over what it
// cost in a table of a tenth of them: pages of another user's records.
func BenchmarkDepth(b *testing.B) {
	_, s, dsn := cluster(b)
	n := records
	cost := func(name string) time.Duration {
		const pages = 100
		checkpoint(b, dsn)
		key := store.Key{User: name, Provider: "bench"}
		first := sync1(b, s, key, inMemory(feed{n: pages * pageSize}), store.Counters{Inserted: pages * pageSize})
		return first + sync1(b, s, key, inMemory(feed{n: pages * pageSize}), store.Counters{Unchanged: pages * pageSize})
	}
	sync1(b, s, store.Key{User: "m", Provider: "bench"}, inMemory(feed{n: n / 10}), store.Counters{Inserted: int64(n / 10)})
	few := cost("few")
	sync1(b, s, store.Key{User: "n", Provider: "bench"}, inMemory(feed{n: n - n/10}), store.Counters{Inserted: int64(n - n/10)})
	many := cost("new")
	b.ReportMetric(many.Seconds()/few.Seconds(), "cost/cost-at-a-tenth")
	b.ReportMetric(0, "ns/op")
}
