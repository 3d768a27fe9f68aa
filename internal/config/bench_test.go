package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// manySources writes a file with n sources: every kind that the loader shares
// between sources, and credentials of their own.
func manySources(n int) []byte {
	var b strings.Builder
	b.WriteString("store: sqlite:syncd.db\nproviders:\n")
	b.WriteString("  github:\n    connector: github\n    schedule: \"*/15 * * * *\"\n    timezone: Europe/Berlin\n")
	b.WriteString("  orders:\n    connector: csv\n    schedule: \"30 2 * * *\"\n    options: { path: feeds/orders.csv, key: [vendor] }\n")
	b.WriteString("sources:\n")
	for i := range n {
		if i%4 == 3 {
			fmt.Fprintf(&b, "  - user: user-%06d\n    provider: orders\n", i)
			continue
		}
		fmt.Fprintf(&b, "  - user: user-%06d\n    provider: github\n    options: { repo: org/repo-%06d }\n    credentials: { token: \"ghp_%036d\" }\n", i, i, i)
	}
	return []byte(b.String())
}

// BenchmarkParse reads 100,000 sources, and reports how much memory the
// configuration holds. The goal is 2 s and 60 MB.
func BenchmarkParse(b *testing.B) {
	data := manySources(100_000)
	b.SetBytes(int64(len(data)))
	var cfg *Config
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		var err error
		if cfg, err = Parse("syncd.yaml", data, fakes(), nil); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20), "MB-held")
	runtime.KeepAlive(cfg)
}

// BenchmarkDeclare checks a source that was added at run time, as each claim of
// it does.
func BenchmarkDeclare(b *testing.B) {
	cfg, err := Parse("syncd.yaml", manySources(10), fakes(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := cfg.Declare("alice", "github", `{"options":{"repo":"org/repo"},"schedule":"*/5 * * * *"}`); err != nil {
			b.Fatal(err)
		}
	}
}
