package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// The schedule of full walks counts one by hand, if it was of all streams.
func TestAFullWalkByHandCounts(t *testing.T) {
	dsn := "sqlite:" + t.TempDir() + "/syncd.db"
	dir := t.TempDir()
	writeFile(t, dir, "feed.csv", feed(3))
	sh := &shell{t, writeFile(t, dir, "config.yaml", fmt.Sprintf(`store: %q
providers:
  feed: { connector: csv, schedule: "@daily", full: "@every 1h", options: { path: feed.csv, key: [id] } }
sources:
  - { user: acme, provider: feed }
`, dsn))}
	sh.run(0, "sync", "acme", "feed")
	s := open(t, dsn)
	fullAt := func() time.Time {
		t.Helper()
		all, err := s.Sources(t.Context(), store.SourceFilter{})
		if err != nil || len(all) != 1 || all[0].FullAt.IsZero() {
			t.Fatalf("sources %+v, %v", all, err)
		}
		return all[0].FullAt
	}
	first := fullAt()
	sh.has(sh.run(0, "sync", "acme", "feed", "--full", "--stream", "rows"), "3 unchanged")
	if got := fullAt(); !got.Equal(first) {
		t.Errorf("after a full walk of one stream the next is due at %s, want %s as before", got, first)
	}
	sh.has(sh.run(0, "sync", "acme", "feed", "--full"), "3 unchanged")
	if got := fullAt(); !got.After(first) {
		t.Errorf("after a full walk of all streams the next is due at %s, want later than %s", got, first)
	}
}
