package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

func TestRuns(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "runs", "list"), "no run")
	tick := time.Date(2026, 6, 1, 6, 30, 0, 0, time.UTC)
	first := w.ran(past{key: alice, tick: tick, counts: store.Counters{Inserted: 12, Rejected: 2}, outcome: done()})
	second := w.ran(past{key: bob, outcome: store.Outcome{State: store.Failed, Error: "GET /v1/customers: 503\nthe answer was: busy", Notes: "one\ntwo", DueAt: time.Now()}})
	third := w.ran(past{key: alice, counts: store.Counters{Unchanged: 3}})

	out := w.run(exitDone, "runs", "list")
	contains(t, out, third, "alice", "running", "3 unchanged", second, "bob", "failed", "503", first, "done", "12 inserted, 2 rejected")
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"runs list", []string{third, second, first}},
		{"runs list --limit 2", []string{third, second}},
		{"runs list alice", []string{third, first}},
		{"runs list --provider desk", []string{second}},
		{"runs list alice shop --state done", []string{first}},
		{"runs list --state lost", nil},
	} {
		var rows []runRow
		w.json(&rows, strings.Fields(tt.args)...)
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("%s: got %q, want %q", tt.args, got, tt.want)
		}
	}

	contains(t, w.run(exitDone, "runs", "show", first), first, "alice shop", "done", "schedule, for the tick of", "and 2 more ticks before it",
		"daemon/1", "customers at 2026-06-01T00:00:00Z", "inserted 12, updated 0, unchanged 0, stale 0", "rejected 2", "pages       2", "requests    7", "rejects list --run "+first)
	contains(t, w.run(exitDone, "runs", "show", second), "GET /v1/customers: 503\n            the answer was: busy", "one\n            two")
	var row runRow
	w.json(&row, "runs", "show", first)
	if row.ID != first || row.Counters.Inserted != 12 || row.Folded != 2 || row.Tick == nil || !row.Tick.Equal(tick) || row.EndedAt == nil || row.Token == 0 {
		t.Errorf("got %+v", row)
	}
	w.json(&row, "runs", "show", second)
	if row.Error != "GET /v1/customers: 503\nthe answer was: busy" || len(row.Notes) != 2 {
		t.Errorf("got %+v", row)
	}
}

func TestRunByTheBeginningOfItsID(t *testing.T) {
	w := filledWorld(t)
	first := w.ran(past{key: alice, outcome: done()})
	second := w.ran(past{key: bob, outcome: done()})
	common := 0
	for first[common] == second[common] {
		common++
	}
	var row runRow
	for _, id := range []string{first, second} {
		w.json(&row, "runs", "show", strings.ToUpper(id[:common+1]))
		if row.ID != id {
			t.Errorf("%s: got %s, want %s", id[:common+1], row.ID, id)
		}
	}
	contains(t, w.run(exitUsage, "runs", "show", first[:common]), "several runs begin with", second, first)
	contains(t, w.run(exitFailed, "runs", "show", "ffff"), "there is no run ffff")
	contains(t, w.run(exitFailed, "runs", "show", first+"0"), "there is no run")
}
