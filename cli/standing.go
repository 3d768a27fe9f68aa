package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// A standing is how a source stands.
type standing struct {
	User        string          `json:"user"`
	Provider    string          `json:"provider"`
	State       string          `json:"state"` // failing, late, paused, parked, running, new, waiting
	Said        string          `json:"said"`  // the same in plain words
	DueAt       *time.Time      `json:"due_at,omitempty"`
	Owner       string          `json:"owner,omitempty"` // who runs it
	Paused      []string        `json:"paused,omitempty"`
	Failures    int             `json:"failures"` // failed runs in a row
	Error       string          `json:"error,omitempty"`
	OpenRejects int64           `json:"open_rejects"`
	LastRun     string          `json:"last_run,omitempty"`
	LastState   string          `json:"last_state,omitempty"`
	LastEndedAt *time.Time      `json:"last_ended_at,omitempty"`
	LastDoneAt  *time.Time      `json:"last_done_at,omitempty"`  // when a run last ended well
	Counters    *store.Counters `json:"last_counters,omitempty"` // of the last run

	late bool
}

// The states of a source.
const (
	sourceFailing = "failing" // its last runs failed
	sourceLate    = "late"    // it is overdue
	sourcePaused  = "paused"
	sourceParked  = "parked" // it waits for quota
	sourceRunning = "running"
	sourceNew     = "new" // it has never been run
	sourceWaiting = "waiting"
)

// lateAfter is how long a source may wait for a worker before it counts as late.
const lateAfter = time.Minute

// stand says how a source stands at now, by the database's clock.
func stand(src store.Source, now time.Time) standing {
	s := standing{
		User: src.User, Provider: src.Provider, LastRun: src.LastRunID, LastState: src.LastState,
		LastEndedAt: maybe(src.LastEndedAt), LastDoneAt: maybe(src.LastDoneAt), DueAt: maybe(src.DueAt), Owner: src.Owner,
		Failures: src.Failures, OpenRejects: src.OpenRejects, Paused: src.Paused,
	}
	if src.Failures > 0 {
		s.Error = src.LastError
	}
	held := src.LeaseUntil.After(now)
	lapsed := !src.LeaseUntil.IsZero() && !held
	s.late = !held && len(src.Paused) == 0 && (lapsed || !src.DueAt.IsZero() && now.Sub(src.DueAt) > lateAfter)
	switch {
	case held:
		s.State, s.Said = sourceRunning, "taken by "+src.Owner
	case len(src.Paused) > 0:
		s.State, s.Said = sourcePaused, "paused: "+reasons(src.Paused)
	case src.Failures > 0:
		s.State, s.Said = sourceFailing, failing(src, now)
	case lapsed:
		s.State, s.Said = sourceLate, "its daemon died "+ago(src.LeaseUntil, now)+", another goes on with it"
	case s.late:
		s.State, s.Said = sourceLate, "late by "+span(now.Sub(src.DueAt))
	case src.Resume == store.ResumeParked:
		s.State, s.Said = sourceParked, fmt.Sprintf("parked until %s (%s)", when(src.DueAt), soon(src.DueAt, now))
	case src.Resume == store.ResumeNew:
		s.State, s.Said = sourceNew, "never run, due "+soon(src.DueAt, now)
	case src.Resume == store.ResumePartial || src.Resume == store.ResumeAbandoned:
		s.State, s.Said = sourceWaiting, "goes on "+soon(src.DueAt, now)
	case src.DueAt.IsZero():
		s.State, s.Said = sourceWaiting, "never due"
	default:
		s.State, s.Said = sourceWaiting, "due "+soon(src.DueAt, now)
	}
	return s
}

// failing says how long a source has been failing, and what becomes of it. The
// error is shown beside it.
func failing(src store.Source, now time.Time) string {
	well := "never well"
	if !src.LastDoneAt.IsZero() {
		well = "last well " + ago(src.LastDoneAt, now)
	}
	return fmt.Sprintf("failing, %d in a row, %s, next try %s", src.Failures, well, soon(src.DueAt, now))
}

// reasons spells why a source is paused.
func reasons(list []string) string {
	var out []string
	for _, r := range list {
		if r == store.PausedRemoved {
			r = "not in the configuration"
		}
		out = append(out, r)
	}
	return strings.Join(out, ", ")
}

// soon spells when something is due: "in 5m", "now".
func soon(at, now time.Time) string {
	if !at.After(now) {
		return "now"
	}
	return ago(at, now)
}

// ran adds what is known of the last run.
func (s *standing) ran(r store.Run, now time.Time) {
	s.Counters = &r.Counters
	if s.State == sourceRunning && r.State == store.Running {
		s.Said = "running for " + span(now.Sub(r.StartedAt))
		if s.Failures > 0 {
			s.Said += fmt.Sprintf(", after %s", count(s.Failures, "failed run"))
		}
	}
}

// compareStandings orders standings: trouble first, then by when they are due.
func compareStandings(x, y standing) int {
	due := func(s standing) time.Time {
		if s.DueAt == nil {
			return time.Unix(1<<40, 0)
		}
		return *s.DueAt
	}
	return cmp.Or(cmp.Compare(x.rank(), y.rank()), due(x).Compare(due(y)))
}

func (s *standing) rank() int {
	switch {
	case s.State == sourceFailing:
		return 0
	case s.State == sourceLate:
		return 1
	case s.State != sourcePaused && s.OpenRejects > 0:
		return 2
	case s.State == sourcePaused:
		return 3
	case s.State == sourceParked:
		return 4
	case s.State == sourceRunning:
		return 5
	case s.State == sourceNew:
		return 6
	}
	return 7
}

func (s *standing) lastRun(now time.Time) string {
	if s.LastEndedAt == nil {
		return or(s.LastState, "never")
	}
	return s.LastState + " " + ago(*s.LastEndedAt, now)
}

func (s *standing) did() string {
	if s.Counters == nil {
		return "-"
	}
	return counted(*s.Counters)
}

// maybe returns nil for the zero time, which JSON would spell.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
