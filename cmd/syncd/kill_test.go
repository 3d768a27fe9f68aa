package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
lease: 2s
log: { format: text }
providers:
  feed:
    connector: csv
    schedule: "@every 1h"
    on_missing: mark
    options: { path: %q, key: [id], page_rows: 20 }
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
		s := open(t, dsn)
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range kills {
			if done(t, s) { // begin anew: what was read is read once more
				reset(t, s, cfg, key)
			}
			p := start(t, "run", "--config", cfg)
			p.until(30*time.Second, "it has begun", func() bool {
				all := runs(t, s)
				return len(all) > 0 && all[0].State == store.Running && strings.Contains(all[0].Owner, fmt.Sprintf("/%d/", p.Process.Pid))
			})
			select {
			case <-time.After(time.Duration(dice.IntN(int(400 * time.Millisecond)))):
			case <-p.done:
				t.Fatalf("it ended by itself:\n%s", p.output())
			}
			p.kill()
		}
		p := start(t, "run", "--config", cfg)
		p.until(3*time.Minute, "all is synced", func() bool { return done(t, s) })
		p.kill()
		hit := 0
		for _, r := range runs(t, s) {
			if r.State == store.Abandoned {
				hit++
			}
		}
		if t.Logf("%d of %d kills hit a run", hit, kills); hit < kills/2 {
			t.Errorf("only %d of %d kills hit a run: the test proves too little", hit, kills)
		}
		compare(t, s, key, input)
	})
}

// done reports whether the newest run has ended well.
func done(t *testing.T, s store.Store) bool {
	all := runs(t, s)
	return len(all) > 0 && all[0].State == store.Done
}

// reset has the source read everything once more, at once.
func reset(t *testing.T, s store.Store, cfg string, key store.Key) {
	t.Helper()
	out, code := runCommand(t, "cursor", "reset", key.User, key.Provider, "--config", cfg)
	if code != 0 {
		t.Fatalf("reset the cursor: exit %d\n%s", code, out)
	}
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reschedule(t.Context(), key, now.Add(time.Hour), now); err != nil {
		t.Fatal(err)
	}
}

// compare holds the tables against those of a run that nobody disturbed.
func compare(t *testing.T, s store.Store, key store.Key, input string) {
	t.Helper()
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
