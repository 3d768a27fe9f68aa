package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/internal/store"
)

// What is asked, stored and remembered does not depend on the zone of the host.
func TestTheHostsZoneChangesNothing(t *testing.T) {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	var asked []string
	provider := &sample.Server{Now: func() time.Time { return noon }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.String())
		mu.Unlock()
		provider.ServeHTTP(w, r)
	}))
	defer server.Close()
	type result struct {
		asked   []string
		rows    []row
		cursors []store.Cursor
	}
	var first result
	for i, zone := range []string{"UTC", "America/Los_Angeles", "Asia/Tokyo"} {
		t.Setenv("TZ", zone)
		asked = nil
		dsn := "sqlite:" + t.TempDir() + "/syncd.db"
		cfg := writeFile(t, t.TempDir(), "config.yaml", sampleConfig(dsn, server.URL, ""))
		for range 2 {
			if out, code := runCommand(t, "sync", "alice", "shop", "--config", cfg); code != 0 && code != 3 {
				t.Fatalf("%s: exit %d\n%s", zone, code, out)
			}
		}
		s := open(t, dsn)
		key := store.Key{User: "alice", Provider: "shop"}
		cursors, err := s.Cursors(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		got := result{asked, rows(t, s, key, ""), cursors}
		if i == 0 {
			first = got
			continue
		}
		if !slices.Equal(got.asked, first.asked) {
			t.Errorf("%s: asked\n%q, in UTC\n%q", zone, got.asked, first.asked)
		}
		if len(got.rows) == 0 || !slices.Equal(got.rows, first.rows) {
			t.Errorf("%s: %d rows that differ from the %d in UTC", zone, len(got.rows), len(first.rows))
		}
		for j, c := range got.cursors {
			if c.Watermark != first.cursors[j].Watermark {
				t.Errorf("%s: watermark of %s is %d, in UTC %d", zone, c.Stream, c.Watermark, first.cursors[j].Watermark)
			}
		}
	}
}
