package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
)

// Two daemons on one PostgreSQL whose clocks are five seconds apart run every
// tick once and never two runs of a source at the same time. All that a daemon
// reads of its host's clock beside durations goes through fleet.now.
func TestTwoDaemonsWithClocksApart(t *testing.T) {
	const sources, seconds = 25, 10
	a := &app{connectors: connectors.All, env: os.LookupEnv}
	cfg := skewConfig(t, a, pgtest.Database(t), sources)
	var daemons sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	var last store.Store
	for i, skew := range []time.Duration{-2500 * time.Millisecond, 2500 * time.Millisecond} {
		s, err := a.open(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f := newFleet(s, slog.New(slog.DiscardHandler))
		defer f.close()
		f.now = func() time.Time { return time.Now().Add(skew) }
		if err := f.use(cfg); err != nil {
			t.Fatal(err)
		}
		now, err := s.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(ctx, f.specs(now)); err != nil {
			t.Fatal(err)
		}
		sched := a.scheduler(s, f, cfg, f.log)
		sched.Owner, sched.Poll = fmt.Sprint("daemon ", i), 100*time.Millisecond
		daemons.Go(func() { sched.Run(ctx) })
		last = s
	}
	daemons.Wait()
	runs, err := last.Runs(t.Context(), store.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	checkTicks(t, runs, sources*(seconds-2))
}

// skewConfig is a configuration of sources that are due each second.
func skewConfig(t *testing.T, a *app, dsn string, sources int) *config.Config {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, "store: %q\nspread: 0s\nproviders:\n  feed: { connector: csv, schedule: \"@every 1s\", options: { path: feed.csv, key: [id] } }\nsources:\n", dsn)
	for i := range sources {
		fmt.Fprintf(&text, "  - { user: user-%d, provider: feed }\n", i)
	}
	for name, content := range map[string]string{"config.yaml": text.String(), "feed.csv": "id,n\n1,a\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.configPath = filepath.Join(dir, "config.yaml")
	cfg, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// checkTicks finds ticks that were lost or run twice, and runs that overlap.
func checkTicks(t *testing.T, runs []store.Run, atLeast int) {
	t.Helper()
	slices.SortFunc(runs, func(x, y store.Run) int { return x.StartedAt.Compare(y.StartedAt) })
	last, owners, ticks := map[store.Key]store.Run{}, map[string]int{}, 0
	for _, r := range runs {
		before, ok := last[r.Key]
		owners[r.Owner]++
		if ok && r.StartedAt.Before(before.EndedAt) {
			t.Errorf("%s: a run began at %s, the one before ended at %s", r.Key, r.StartedAt, before.EndedAt)
		}
		last[r.Key] = r
		if r.Tick.IsZero() {
			continue // its first, as it was new
		}
		ticks += 1 + r.Folded
		if want := before.Tick.Add(time.Duration(1+r.Folded) * time.Second); ok && !before.Tick.IsZero() && !r.Tick.Equal(want) {
			t.Errorf("%s: tick %s after %s with %d folded", r.Key, r.Tick, before.Tick, r.Folded)
		}
	}
	if ticks < atLeast || len(owners) != 2 {
		t.Errorf("%d ticks by %v, want at least %d by two daemons", ticks, owners, atLeast)
	}
}
