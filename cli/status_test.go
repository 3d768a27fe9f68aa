package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/web"
)

func TestStand(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, tt := range []struct {
		name  string
		src   store.Source
		state string
		said  string
		late  bool
	}{
		{"due", store.Source{DueAt: in(12 * time.Minute)}, sourceWaiting, "due in 12m", false},
		{"due now", store.Source{DueAt: in(-30 * time.Second)}, sourceWaiting, "due now", false},
		{"late", store.Source{DueAt: in(-5 * time.Minute)}, sourceLate, "late by 5m", true},
		{"never run", store.Source{DueAt: in(time.Minute), Resume: store.ResumeNew}, sourceNew, "never run, due in 1m", false},
		{"parked", store.Source{DueAt: in(9 * time.Minute), Resume: store.ResumeParked}, sourceParked, "parked until", false},
		{"partial", store.Source{DueAt: in(0), Resume: store.ResumePartial}, sourceWaiting, "goes on now", false},
		{"failing", store.Source{DueAt: in(4 * time.Minute), Failures: 3, LastError: "no", LastDoneAt: in(-2 * time.Hour), Resume: store.ResumeFailed},
			sourceFailing, "failing, 3 in a row, last well 2h ago, next try in 4m", false},
		{"failing for ever", store.Source{DueAt: in(-4 * time.Minute), Failures: 1}, sourceFailing, "failing, 1 in a row, never well, next try now", true},
		{"paused", store.Source{DueAt: in(-time.Hour), Paused: []string{"operator", "removed"}}, sourcePaused, "paused: operator, not in the configuration", false},
		{"running", store.Source{DueAt: in(-time.Hour), Owner: "a/1", LeaseUntil: in(time.Minute)}, sourceRunning, "taken by a/1", false},
		{"running though paused", store.Source{Paused: []string{"operator"}, Owner: "a/1", LeaseUntil: in(time.Minute)}, sourceRunning, "taken by a/1", false},
		{"its daemon died", store.Source{DueAt: in(time.Hour), Owner: "a/1", LeaseUntil: in(-10 * time.Second)}, sourceLate, "its daemon died 10s ago", true},
		{"no schedule", store.Source{}, sourceWaiting, "never due", false},
	} {
		s := stand(tt.src, now)
		if s.State != tt.state || !strings.HasPrefix(s.Said, tt.said) || s.late != tt.late {
			t.Errorf("%s: got %s %q late %v, want %s %q late %v", tt.name, s.State, s.Said, s.late, tt.state, tt.said, tt.late)
		}
	}
}

func TestStatus(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "status"), "3 sources, 3 due, 3 never run", "never run, due now")
	w.ran(past{key: alice, counts: store.Counters{Inserted: 12, Unchanged: 3}, outcome: done()})
	w.ran(past{key: bob, counts: store.Counters{Rejected: 1}, rejects: []store.Reject{{Stream: "tickets", Reason: "missing_external_id", Raw: []byte("{}")}},
		outcome: store.Outcome{State: store.Failed, Error: "GET /v1: 503\nmore", Failures: 2, Resume: store.ResumeFailed, DueAt: time.Now().Add(4*time.Minute + 30*time.Second)}})
	w.ran(past{key: carol, counts: store.Counters{Inserted: 5}})

	out := w.run(exitDone, "status")
	contains(t, out, "3 sources, 1 failing, 1 running, 1 open reject",
		"bob", "failing, 2 in a row, never well, next try in 4m", "failed 0s ago", "1 rejected", "GET /v1: 503 more",
		"carol", "running for 0s", "5 inserted",
		"alice", "due in 59m", "done 0s ago", "12 inserted, 3 unchanged")
	if out := w.run(exitDone, "status", "--failing"); strings.Contains(out, "alice") || !strings.Contains(out, "bob") {
		t.Errorf("--failing: got %s, want bob alone", out)
	}
	contains(t, w.run(exitDone, "status", "--late"), "no source is in trouble")
	contains(t, w.run(exitDone, "status", "dave"), "no source of dave")
	if out := w.run(exitDone, "status", "--provider", "shop"); strings.Contains(out, "bob") || !strings.Contains(out, "carol") {
		t.Errorf("--provider shop: got %s", out)
	}

	var got []standing
	w.json(&got, "status")
	if len(got) != 3 || got[0].User != "bob" || got[0].Failures != 2 || got[0].OpenRejects != 1 || got[0].Error != "GET /v1: 503\nmore" || got[0].Counters.Rejected != 1 {
		t.Errorf("got %+v", got)
	}
	if got[2].State != sourceWaiting || got[2].Counters.Inserted != 12 || got[2].LastDoneAt == nil {
		t.Errorf("got %+v", got[2])
	}
}

func TestStatusOfMany(t *testing.T) {
	w := filledWorld(t)
	var b strings.Builder
	for i := range 2500 { // more than two pages of rows
		fmt.Fprintf(&b, "  - { user: u%04d, provider: desk }\n", i)
	}
	w.configure(providers + sources + b.String())
	w.apply()
	last := store.Key{User: "u2499", Provider: "desk"}
	w.ran(past{key: last, outcome: store.Outcome{State: store.Failed, Error: "no", Failures: 1, Resume: store.ResumeFailed, DueAt: time.Now().Add(time.Hour)}})
	out := w.run(exitDone, "status")
	contains(t, out, "2503 sources", "u2499", "... and 2453 more")
	var got []standing
	w.json(&got, "status")
	if len(got) != 2503 || got[0].User != "u2499" {
		t.Errorf("got %d, the first %+v", len(got), got[0])
	}
	users := map[string]bool{}
	for _, s := range got {
		users[s.User+" "+s.Provider] = true
	}
	if len(users) != 2503 {
		t.Errorf("got %d sources, want each once", len(users))
	}
	var rows []web.Source
	w.json(&rows, "sources", "list", "--limit", "1200")
	if len(rows) != 1200 || !slices.IsSortedFunc(rows, func(x, y web.Source) int { return strings.Compare(x.User, y.User) }) {
		t.Errorf("got %d rows", len(rows))
	}
	contains(t, w.run(exitDone, "sources", "list"), "... and more (--limit 0 lists all)")
}

func TestNoStore(t *testing.T) {
	w := newWorld(t, providers+sources)
	for _, args := range []string{"status", "sources list", "runs list", "rejects list", "cursor show alice shop", "migrate --status", "sources pause alice shop"} {
		contains(t, w.run(exitFailed, strings.Fields(args)...), "there is no store yet", "syncd run --config")
	}
	contains(t, w.run(exitDone, "migrate"), "init", "applied now")
	contains(t, w.run(exitDone, "migrate"), "0 migrations applied now")
	contains(t, w.run(exitDone, "migrate", "--status"), "0001", "init")
	contains(t, w.run(exitDone, "status"), "0 sources")
	contains(t, w.run(exitDone, "sources", "list"), "no source yet: the daemon adds the 3")
	contains(t, w.run(exitFailed, "cursor", "show", "alice", "shop"), "in the configuration, but the store does not have it yet")
}
