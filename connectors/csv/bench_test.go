package csv

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/syncdhq/syncd"
)

// big writes a feed of so many rows and returns its path.
func big(tb testing.TB, rows int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "big.csv")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	b := []byte("vendor,order_number,placed_at,status,amount,note\n")
	for i := range rows {
		b = fmt.Appendf(b, "acme,%08d,2026-11-30T12:00:00Z,shipped,%d.50,\"to Müller, %d\"\n", i, i%1000, i)
		if len(b) > chunk || i == rows-1 {
			if _, err := f.Write(b); err != nil {
				tb.Fatal(err)
			}
			b = b[:0]
		}
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// pass reads all pages, letting go of each, and returns the number of rows and
// the most bytes that the heap had after a page.
func pass(tb testing.TB, s syncd.Stream, every int) (rows int, heap uint64) {
	tb.Helper()
	var req syncd.Request
	for pages := 0; ; pages++ {
		page, err := s.Fetch(tb.Context(), req)
		if err != nil {
			tb.Fatal(err)
		}
		rows += len(page.Records)
		if pages%every == 0 {
			page.Records = nil
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
		}
		if req.Page = page.Next; req.Page == "" {
			return rows, heap
		}
	}
}

// What is held between pages does not grow with the file.
func TestMemoryIsFlat(t *testing.T) {
	_, small := pass(t, open(t, big(t, 2_000), keyed("order_number")), 1)
	rows, large := pass(t, open(t, big(t, 200_000), keyed("order_number")), 20)
	if rows != 200_000 {
		t.Errorf("%d rows, want 200000", rows)
	}
	if large > small+2<<20 {
		t.Errorf("the heap has %d bytes with 200,000 rows and %d with 2,000", large, small)
	}
}

// BenchmarkPages reads a file from the checksum to the last page.
func BenchmarkPages(b *testing.B) {
	const rows = 200_000
	path := big(b, rows)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := pass(b, open(b, path, with(keyed("vendor", "order_number"), func(o *Options) { o.Mark = "placed_at" })), 1<<30); got != rows {
			b.Fatalf("%d rows, want %d", got, rows)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSplit splits a file and makes no records.
func BenchmarkSplit(b *testing.B) {
	const rows = 200_000
	f, err := os.Open(big(b, rows))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		s := newSplitter(usual(), f, 0, info.Size(), 1)
		for {
			if _, err := s.next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkTenMillionRows reads a file of some 700 MB once (-benchtime 1x) and
// reports the most bytes that the heap had.
func BenchmarkTenMillionRows(b *testing.B) {
	path := big(b, 10_000_000)
	for b.Loop() {
		_, heap := pass(b, open(b, path, keyed("order_number")), 1000)
		b.ReportMetric(float64(heap), "heap-bytes")
	}
}
