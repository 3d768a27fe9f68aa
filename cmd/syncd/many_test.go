package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// BenchmarkManySources is a daemon with 100,000 sources that have nothing to do:
// how long until it runs, the first time and the next, the CPU that it takes
// (in percent of a core) and its memory.
func BenchmarkManySources(b *testing.B) {
	const n = 100_000
	dir := b.TempDir()
	var cfg strings.Builder
	cfg.WriteString("store: sqlite:syncd.db\nlog: { format: text }\nproviders:\n")
	cfg.WriteString("  feed: { connector: csv, schedule: \"@yearly\", options: { path: none.csv, key: [id] } }\nsources:\n")
	for i := range n {
		fmt.Fprintf(&cfg, "  - { user: user-%d, provider: feed }\n", i)
	}
	path := dir + "/config.yaml"
	if err := os.WriteFile(path, []byte(cfg.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, round := range []string{"first", "again"} {
		began := time.Now()
		p := start(b, "run", "--config", path)
		p.says("syncd runs", time.Minute)
		b.ReportMetric(time.Since(began).Seconds(), round+"-start-s")
		if round == "first" {
			p.kill()
			quiet(b, dir)
			continue
		}
		time.Sleep(5 * time.Second) // what is measured is a time in which nothing happens
		before := cpu(b, p.Process.Pid)
		const watched = 20 * time.Second
		time.Sleep(watched)
		used := cpu(b, p.Process.Pid) - before
		b.ReportMetric(used.Seconds()*100/watched.Seconds(), "idle-cpu-%")
		b.ReportMetric(float64(resident(b, p.Process.Pid))/1e6, "MB")
		p.kill()
	}
	b.ReportMetric(0, "ns/op")
}

// quiet makes no source due before its tick.
func quiet(b *testing.B, dir string) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+dir+"/syncd.db")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE sources SET due_at = next_at, resume = '', lease_owner = '', lease_until = NULL"); err != nil {
		b.Fatal(err)
	}
}

// cpu is how much processor time a process has had.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skipf("this system does not tell: %v", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := int64(0)
	for _, field := range fields[11:13] { // utime and stime: proc(5)
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	out, err := exec.Command("getconf", "CLK_TCK").Output()
	if err != nil {
		b.Fatal(err)
	}
	hz, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(ticks) * time.Second / time.Duration(hz)
}

// resident is how much memory a process holds, in bytes.
func resident(b *testing.B, pid int) int64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb << 10
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
