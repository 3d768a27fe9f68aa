package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/postgres"
	"github.com/syncdhq/syncd/internal/store/sqlite"
)

// onEachStore runs a test on SQLite and on PostgreSQL, with the `store:` setting
// of an empty database.
func onEachStore(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "syncd.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.Database(t)) })
}

// open opens a store for looking.
func open(t *testing.T, dsn string) store.Store {
	t.Helper()
	var s store.Store
	var err error
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		s, err = sqlite.Open(t.Context(), path)
	} else {
		s, err = postgres.Open(t.Context(), dsn)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A row is what must be equal whatever happened on the way.
type row struct {
	id, data string
	mark     int64
	version  int64
	deleted  bool
}

// rows returns a source's records as they are stored.
func rows(t *testing.T, s store.Store, key store.Key, prefix string) []row {
	t.Helper()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	after := ""
	for {
		heads, err := s.Live(t.Context(), key, prefix, after, now.AddDate(1, 0, 0), 5000)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, len(heads))
		for i, h := range heads {
			ids[i] = h.ID
		}
		data := dataOf(t, s, key, ids)
		for i, h := range heads {
			out = append(out, row{h.ID, string(data[i]), h.Mark, h.Version, h.Deleted})
		}
		if len(heads) < 5000 {
			return out
		}
		after = heads[len(heads)-1].ID
	}
}

// dataOf reads records' bytes, under a lease that it takes and gives back.
func dataOf(t *testing.T, s store.Store, key store.Key, ids []string) (data [][]byte) {
	t.Helper()
	if len(ids) == 0 {
		return nil
	}
	ctx := t.Context()
	claim, err := s.Acquire(ctx, key, "test", 30e9)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release(ctx, claim.Lease)
	err = s.Update(ctx, claim.Lease, func(ctx context.Context, tx store.Tx) error {
		data, err = tx.Data(ctx, ids)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runs returns the run log, newest first.
func runs(t *testing.T, s store.Store) []store.Run {
	t.Helper()
	all, err := s.Runs(t.Context(), store.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// total is the sum of all runs' counters.
func total(runs []store.Run) (c store.Counters) {
	for _, r := range runs {
		c = c.Add(r.Counters)
	}
	return c
}
