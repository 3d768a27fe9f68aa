package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// A run that is under way at a reload ends under the settings that it began
// with; the next has the new ones.
func TestARunEndsUnderItsOldSettings(t *testing.T) {
	dsn := "sqlite:" + t.TempDir() + "/syncd.db"
	dir := t.TempDir()
	g, url := newGate(t, true)
	old := sampleConfig(dsn, url, "")
	p := start(t, "run", "--config", writeFile(t, dir, "config.yaml", old))
	select {
	case <-g.waiting:
	case <-time.After(20 * time.Second):
		t.Fatalf("it never asked:\n%s", p.output())
	}
	writeFile(t, dir, "config.yaml", strings.Replace(strings.Replace(old, "size: 50", "size: 20", 1), "@every 1h", "@every 2s", 1))
	p.until(20*time.Second, "the new configuration is in force", func() bool {
		return strings.Count(p.output(), "the configuration is in force") == 2
	})
	g.open()
	s := open(t, dsn)
	key := store.Key{User: "alice", Provider: "shop"}
	p.until(30*time.Second, "the run is over", func() bool {
		all := runs(t, s)
		return len(all) > 0 && all[len(all)-1].State == store.Done
	})
	if n := len(rows(t, s, key, "customers/")); n != 50 {
		t.Errorf("%d customers after the run that began under the old settings, want 50", n)
	}
	p.until(30*time.Second, "the next run has read the list of the new settings", func() bool {
		all := runs(t, s)
		return len(all) > 1 && all[0].State == store.Done && all[0].Counters.Records() > 0
	})
}

// A source that is taken out of the configuration and put back goes on where it
// was.
func TestASourceIsPutBack(t *testing.T) {
	dsn := "sqlite:" + t.TempDir() + "/syncd.db"
	dir := t.TempDir()
	_, url := newGate(t, false)
	with, without := sampleConfig(dsn, url, "  - { user: bob, provider: shop }\n"), sampleConfig(dsn, url, "")
	p := start(t, "run", "--config", writeFile(t, dir, "config.yaml", with))
	p.says("bob shop: ", 30*time.Second)
	s := open(t, dsn)
	bob := store.Key{User: "bob", Provider: "shop"}
	paused := func() []string {
		for _, src := range sources(t, s) {
			if src.Key == bob {
				return src.Paused
			}
		}
		return nil
	}
	before, err := s.Cursors(t.Context(), bob)
	if err != nil || len(before) != 3 {
		t.Fatalf("%d cursors, %v", len(before), err)
	}
	writeFile(t, dir, "config.yaml", without)
	p.signal(syscall.SIGHUP)
	p.until(20*time.Second, "bob is paused", func() bool { return len(paused()) == 1 })
	writeFile(t, dir, "config.yaml", with)
	p.signal(syscall.SIGHUP)
	p.until(20*time.Second, "bob is not paused", func() bool { return len(paused()) == 0 })
	after, err := s.Cursors(t.Context(), bob)
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d cursors, %v", len(after), err)
	}
	for i := range after {
		if after[i].State != before[i].State {
			t.Errorf("cursor of %s is %s, was %s", after[i].Stream, after[i].State, before[i].State)
		}
	}
}

// A configuration that is refused because of a new provider file is read again
// when that file is mended.
func TestANewProviderFileIsMended(t *testing.T) {
	dir := t.TempDir()
	_, url := newGate(t, false)
	old := sampleConfig("sqlite:"+t.TempDir()+"/syncd.db", url, "")
	p := start(t, "run", "--config", writeFile(t, dir, "config.yaml", old))
	p.says("alice shop: ", 30*time.Second)
	desk := "base_url: https://desk.example\nstreams: { tickets: { path: /tickets, id: id } }\n"
	writeFile(t, dir, "desk.yaml", strings.Replace(desk, "path:", "pathe:", 1))
	writeFile(t, dir, "config.yaml", strings.Replace(old, "sources:", "  desk: { connector: ./desk.yaml, schedule: \"@yearly\" }\nsources:", 1))
	p.says("desk.yaml:2:", 20*time.Second)
	writeFile(t, dir, "desk.yaml", desk)
	p.until(20*time.Second, "the new configuration is in force", func() bool {
		return strings.Count(p.output(), "the configuration is in force") == 2
	})
}
