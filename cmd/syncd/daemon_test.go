package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/internal/store"
)

// A gate is the sample provider, which can be told to keep an answer back.
type gate struct {
	http.Handler
	mu      sync.Mutex
	hold    chan struct{} // answers wait until it is closed
	waiting chan struct{} // told when one begins to wait
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	hold := g.hold
	g.mu.Unlock()
	if hold != nil {
		select {
		case g.waiting <- struct{}{}:
		default:
		}
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	g.Handler.ServeHTTP(w, r)
}

func newGate(t *testing.T, held bool) (*gate, string) {
	g := &gate{Handler: &sample.Server{Now: time.Now}, waiting: make(chan struct{}, 1)}
	if held {
		g.hold = make(chan struct{})
	}
	server := httptest.NewServer(g)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return g, server.URL
}

// open lets answers through from now on.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hold != nil {
		close(g.hold)
		g.hold = nil
	}
}

func sampleConfig(dsn, base, more string) string {
	return fmt.Sprintf(`store: %q
lease: 3s
grace: 5s
log: { format: text }
providers:
  shop:
    connector: sample
    base_url: %s
    schedule: "@every 1h"
    options: { size: 50, change_every: 24h, faults: false }
sources:
  - { user: alice, provider: shop }
%s`, dsn, base, more)
}

// A daemon that was stopped past its lease and goes on commits nothing: the
// source is another's by then.
func TestStoppedPastItsLease(t *testing.T) {
	onEachStore(t, func(t *testing.T, dsn string) {
		dir := t.TempDir()
		slow, slowURL := newGate(t, true)
		_, quickURL := newGate(t, false)
		first := start(t, "run", "--config", writeFile(t, dir, "first.yaml", sampleConfig(dsn, slowURL, "")))
		select {
		case <-slow.waiting:
		case <-time.After(20 * time.Second):
			t.Fatalf("it never asked:\n%s", first.output())
		}
		first.signal(syscall.SIGSTOP)
		second := start(t, "run", "--config", writeFile(t, dir, "second.yaml", sampleConfig(dsn, quickURL, "")))
		s := open(t, dsn)
		second.until(30*time.Second, "the second daemon has taken over", func() bool {
			all := runs(t, s)
			return len(all) == 2 && all[0].State == store.Done
		})
		before := runs(t, s)
		slow.open()
		first.signal(syscall.SIGCONT)
		first.says("another daemon has taken this source over", 30*time.Second)
		after := runs(t, s)
		if len(after) != 2 || after[0].Counters != before[0].Counters || after[0].State != store.Done {
			t.Errorf("the run of the second daemon was %+v, now it is %+v", before[0], after[0])
		}
		if after[1].State != store.Abandoned || after[1].Counters != (store.Counters{}) || after[0].Resumes != after[1].ID {
			t.Errorf("the run of the first daemon is %+v, want it abandoned and empty, and the other its successor", after[1])
		}
	})
}

// SIGTERM lets go of the source at once; the next start goes on.
func TestTerminated(t *testing.T) {
	onEachStore(t, func(t *testing.T, dsn string) {
		dir := t.TempDir()
		g, url := newGate(t, true)
		cfg := writeFile(t, dir, "config.yaml", sampleConfig(dsn, url, ""))
		p := start(t, "run", "--config", cfg)
		select {
		case <-g.waiting:
		case <-time.After(20 * time.Second):
			t.Fatalf("it never asked:\n%s", p.output())
		}
		p.signal(syscall.SIGTERM)
		if code := p.ended(5 * time.Second); code != 0 {
			t.Errorf("exit code %d, want 0:\n%s", code, p.output())
		}
		s := open(t, dsn)
		if all := runs(t, s); len(all) != 1 || all[0].State != store.Partial {
			t.Fatalf("runs %+v, want one partial", all)
		}
		g.open()
		p = start(t, "run", "--config", cfg)
		p.until(30*time.Second, "the next daemon has gone on", func() bool {
			all := runs(t, s)
			return len(all) == 2 && all[0].State == store.Done && all[0].Trigger == store.TriggerResume
		})
	})
}

// The second signal ends the process at once, whatever it waits for.
func TestTerminatedTwice(t *testing.T) {
	g, url := newGate(t, true)
	cfg := writeFile(t, t.TempDir(), "config.yaml", sampleConfig("sqlite:"+t.TempDir()+"/syncd.db", url, ""))
	p := start(t, "run", "--config", cfg)
	select {
	case <-g.waiting:
	case <-time.After(20 * time.Second):
		t.Fatalf("it never asked:\n%s", p.output())
	}
	p.signal(os.Interrupt)
	p.signal(os.Interrupt)
	p.ended(2 * time.Second)
}

// A reload is of all or of nothing.
func TestReload(t *testing.T) {
	dsn := "sqlite:" + t.TempDir() + "/syncd.db"
	dir := t.TempDir()
	_, url := newGate(t, false)
	path := writeFile(t, dir, "config.yaml", sampleConfig(dsn, url, ""))
	p := start(t, "run", "--config", path)
	p.says("alice shop: ", 30*time.Second)

	bob := "  - { user: bob, provider: shop }\n"
	writeFile(t, dir, "config.yaml", sampleConfig(dsn, url, bob+"  - { user: eve, providr: shop }\n"))
	p.says("config.yaml:14:", 10*time.Second)
	p.says("the old configuration stays in force", 10*time.Second)
	s := open(t, dsn)
	if all := sources(t, s); len(all) != 1 {
		t.Fatalf("%d sources after a reload with an error, want 1", len(all))
	}

	writeFile(t, dir, "config.yaml", sampleConfig(dsn, url, bob))
	p.signal(syscall.SIGHUP)
	p.until(20*time.Second, "bob is synced", func() bool {
		for _, r := range runs(t, s) {
			if r.User == "bob" && r.State == store.Done {
				return true
			}
		}
		return false
	})

	writeFile(t, dir, "config.yaml", strings.Replace(sampleConfig(dsn, url, ""), "alice", "bob", 1))
	p.until(20*time.Second, "alice is paused", func() bool {
		for _, src := range sources(t, s) {
			if src.User == "alice" && len(src.Paused) == 1 && src.Paused[0] == store.PausedRemoved {
				return true
			}
		}
		return false
	})
	if n := len(rows(t, s, store.Key{User: "alice", Provider: "shop"}, "")); n == 0 {
		t.Error("the records of a source that was taken out are gone")
	}
	p.signal(syscall.SIGTERM)
	p.ended(10 * time.Second)
}

func sources(t *testing.T, s store.Store) []store.Source {
	t.Helper()
	all, err := s.Sources(t.Context(), store.SourceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
