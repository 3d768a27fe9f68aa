package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// What an application reads, by SQL alone.
func TestViews(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 30, 15, 250_000_000, time.UTC)
	l := loadFile(t, t.TempDir()+"/syncd.db", Options{Clock: func() time.Time { return at }})
	row := func(id string, mark int64, deleted bool) store.Row {
		return store.Row{ID: id, Stream: "issues", Data: []byte(`{"title": "A", "n": 9007199254740993}`), Mark: mark, Version: 1, Deleted: deleted, RunID: l.run}
	}
	err := l.Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error {
		return tx.Insert(ctx, []store.Row{row("issues/1", at.UnixNano(), false), row("issues/2", 17, false), row("issues/3", 0, true)})
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = l.read(t.Context(), "view", `SELECT concat_ws(' | ', user_id, provider, stream, external_id, data ->> '$.title', data ->> '$.n',
		COALESCE(marked_at, 'no time'), first_seen_at, updated_at, version) FROM live_records ORDER BY external_id`, nil,
		func(r *sql.Rows) error {
			var line string
			err := r.Scan(&line)
			got = append(got, line)
			return err
		})
	want := []string{
		"alice | github | issues | issues/1 | A | 9007199254740993 | 2026-03-01 12:30:15.250 | 2026-03-01 12:30:15.250 | 2026-03-01 12:30:15.250 | 1",
		"alice | github | issues | issues/2 | A | 9007199254740993 | no time | 2026-03-01 12:30:15.250 | 2026-03-01 12:30:15.250 | 1",
	}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	var line string
	if err := l.readers.QueryRow("SELECT concat_ws(' | ', user_id, last_state, lease_until, paused) FROM source_states").Scan(&line); err != nil {
		t.Fatal(err)
	}
	if want := "alice | running | 2026-03-02 12:30:15 | []"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
}

// Tables that were never analysed must be read by their indexes.
func TestPlans(t *testing.T) {
	s := load(t).Store
	for query, want := range map[string]string{
		headsQuery: "SEARCH r USING INDEX sqlite_autoindex_records_1 (user_id=? AND provider=? AND external_id=?)",
		dataQuery:  "SEARCH r USING INDEX sqlite_autoindex_records_1 (user_id=? AND provider=? AND external_id=?)",
		sourceQuery + "wake_at <= ? ORDER BY wake_at, user_id, provider LIMIT ? OFFSET ?":                                      "USING INDEX sources_wake (wake_at<?)",
		"SELECT wake_at FROM sources WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1":                                       "INDEX sources_wake",
		"SELECT external_id FROM records WHERE " + ofSource + " AND external_id >= ? AND external_id > ? ORDER BY external_id": "SEARCH records USING",
		"SELECT " + sourceColumns + " FROM sources s LEFT JOIN runs r ON r.id = s.last_run_id ORDER BY s.user_id, s.provider":  "rejects_open",
		"SELECT id FROM rejects WHERE " + ofSource + " AND resolution = '' ORDER BY id DESC LIMIT 10":                          "rejects_",
		"SELECT " + runColumns + " FROM runs WHERE " + ofSource + " ORDER BY id DESC LIMIT 10":                                 "runs_by_source",
	} {
		var plan []string
		args := make([]any, strings.Count(query, "?"))
		err := s.read(t.Context(), "plan", "EXPLAIN QUERY PLAN "+query, args, func(r *sql.Rows) error {
			var a, b, c int
			var line string
			err := r.Scan(&a, &b, &c, &line)
			plan = append(plan, line)
			return err
		})
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, want) || strings.Contains(text, "TEMP B-TREE FOR ORDER BY") && !strings.Contains(text, "LAST 2") {
			t.Errorf("%s\ngot plan %q, %v, want %q", query, text, err, want)
		}
	}
}
