package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// How often the daemon is killed while it syncs so many records.
const (
	kills       = 30
	killRecords = 100_000
)

func killConfig(dsn, feed string) string {
	return fmt.Sprintf(`store: %q
lease: 1s
log: { format: text }
providers:
  feed:
    connector: csv
    schedule: "@every 1h"
    on_missing: mark
    options: { path: %q, key: [id], page_rows: 500 }
sources:
  - { user: acme, provider: feed }
`, dsn, feed)
}

// Killed at random moments, time and again, the daemon ends with the same
// tables and the same counters as one that was left alone.
func TestKilledAtRandomMoments(t *testing.T) {
	key := store.Key{User: "acme", Provider: "feed"}
	onEachStore(t, func(t *testing.T, dsn string) {
		dir := t.TempDir()
		input := writeFile(t, dir, "feed.csv", feed(killRecords))
		cfg := writeFile(t, dir, "config.yaml", killConfig(dsn, input))
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		killed, idle := 0, 0
		for killed < kills {
			p := start(t, "run", "--config", cfg)
			// Most of the time is spent on waiting for the lease of the one that
			// was killed before; what is wanted is to hit the work after it.
			pause := time.Duration(dice.IntN(int(1600 * time.Millisecond)))
			select {
			case <-time.After(pause):
			case <-p.done:
				t.Fatalf("it ended by itself:\n%s", p.output())
			}
			p.kill()
			killed++
			if done(t, dsn) {
				// All is synced already: begin anew, and keep what was counted.
				idle++
				reset(t, cfg, key)
			}
		}
		p := start(t, "run", "--config", cfg)
		p.until(time.Minute, "all is synced", func() bool { return done(t, dsn) })
		p.kill()
		t.Logf("%d kills, %d of them after all was synced", killed, idle)
		compare(t, dsn, key, input)
	})
}

// done reports whether the newest run has ended well.
func done(t *testing.T, dsn string) bool {
	s := open(t, dsn)
	defer s.Close()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := runs(t, s)
	return len(all) > 0 && all[0].State == store.Done
}

// reset has the source read everything once more.
func reset(t *testing.T, cfg string, key store.Key) {
	t.Helper()
	for try := range 20 {
		out, code := runCommand(t, "cursor", "reset", key.User, key.Provider, "--config", cfg)
		if code == 0 {
			out, code = runCommand(t, "sources", "resume", key.User, key.Provider, "--config", cfg)
			_, _ = out, code
			return
		}
		if try == 19 {
			t.Fatalf("the cursor could not be reset: %s", out)
		}
		time.Sleep(200 * time.Millisecond) // the lease of the one that was killed
	}
}

// compare holds the tables against those of a run that nobody disturbed.
func compare(t *testing.T, dsn string, key store.Key, input string) {
	t.Helper()
	s := open(t, dsn)
	log := runs(t, s)
	sum := total(log)
	if sum.Inserted != killRecords || sum.Updated+sum.Deleted+sum.Rejected+sum.Restored != 0 {
		t.Errorf("all runs together counted %+v, want %d inserted and nothing updated, deleted or rejected", sum, killRecords)
	}
	for _, r := range log {
		if r.State == store.Running {
			t.Errorf("run %s is still open", r.ID)
		}
	}
	calm := "sqlite:" + t.TempDir() + "/calm.db"
	cfg := writeFile(t, t.TempDir(), "calm.yaml", killConfig(calm, input))
	if out, code := runCommand(t, "sync", key.User, key.Provider, "--config", cfg); code != 0 {
		t.Fatalf("the undisturbed run: exit %d\n%s", code, out)
	}
	got, want := rows(t, s, key, "rows/"), rows(t, open(t, calm), key, "rows/")
	if len(want) != killRecords || !slices.Equal(got, want) {
		t.Errorf("%d rows that differ from the %d of an undisturbed run", len(got), len(want))
	}
}
