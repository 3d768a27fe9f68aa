package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

// A standing is how a source stands.
type standing struct {
	User        string     `json:"user"`
	Provider    string     `json:"provider"`
	State       string     `json:"state"` // running, paused, failing, late, parked, waiting, new
	Said        string     `json:"said"`  // the same in plain words
	LastRun     string     `json:"last_run,omitempty"`
	LastState   string     `json:"last_state,omitempty"`
	LastEndedAt *time.Time `json:"last_ended_at,omitempty"`
	LastDoneAt  *time.Time `json:"last_done_at,omitempty"`
	DueAt       *time.Time `json:"due_at,omitempty"`
	Failures    int        `json:"failures,omitempty"`
	Error       string     `json:"error,omitempty"`
	OpenRejects int64      `json:"open_rejects"`
	Paused      []string   `json:"paused,omitempty"`
}

// trouble orders the states, the worst first.
var trouble = map[string]int{"failing": 0, "late": 1, "paused": 2, "parked": 3, "running": 4, "new": 5, "waiting": 6}

// lateAfter is how long a source may wait for a worker before it counts as late.
const lateAfter = time.Minute

type statusRequest struct {
	listing
	selection
	failing, late bool
}

func (a *app) statusCommand() *cobra.Command {
	var req statusRequest
	c := &cobra.Command{
		Use:   "status [USER [PROVIDER]]",
		Short: "Show how each source stands, trouble first",
		Long: `Show how each source stands, trouble first: what is failing and why, what is
late, what is paused, what runs and what is due next.`,
		Example: `  syncd status
  syncd status --failing
  syncd status alice -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context(), req) },
	}
	req.listing.flags(c)
	req.selection.flags(a, c)
	c.Flags().BoolVar(&req.failing, "failing", false, "only sources whose last run failed")
	c.Flags().BoolVar(&req.late, "late", false, "only sources that are overdue")
	return c
}

func (a *app) status(ctx context.Context, req statusRequest) error {
	_, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	over, err := s.Overview(ctx)
	if err != nil {
		return err
	}
	standings := []standing{}
	for src, err := range sourcesOf(ctx, s, req.filter()) {
		if err != nil {
			return err
		}
		st := stand(src, over.Now)
		if req.failing && st.State != "failing" || req.late && st.State != "late" {
			continue
		}
		standings = append(standings, st)
	}
	slices.SortStableFunc(standings, func(x, y standing) int { return cmp.Compare(trouble[x.State], trouble[y.State]) })
	if req.format != "json" {
		printOverview(a.Out, over)
	}
	return list(&req.listing, a.Out, each(standings), func(s standing) any { return s }, "no source"+req.selection.String()+" to show",
		column[standing]{"USER", func(s standing) string { return clip(s.User, 32) }},
		column[standing]{"PROVIDER", func(s standing) string { return s.Provider }},
		column[standing]{"STATE", func(s standing) string { return clip(s.Said, 90) }},
		column[standing]{"LAST RUN", func(s standing) string { return lastRun(s, over.Now) }},
		column[standing]{"REJECTS", func(s standing) string { return fmt.Sprint(s.OpenRejects) }},
	)
}

func lastRun(s standing, now time.Time) string {
	if s.LastEndedAt == nil {
		return or(s.LastState, "never")
	}
	return s.LastState + " " + ago(*s.LastEndedAt, now)
}

func printOverview(w io.Writer, o store.Overview) {
	parts := []string{count(o.Sources, "source")}
	for _, one := range []struct {
		n    int64
		word string
	}{{o.Running, "running"}, {o.Due, "due"}, {o.Failing, "failing"}, {o.Paused, "paused"}, {o.Never, "never run"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.word))
		}
	}
	if o.OpenRejects > 0 {
		parts = append(parts, count(o.OpenRejects, "open reject"))
	}
	fmt.Fprintln(w, strings.Join(parts, ", "))
}

// stand says how a source stands at now, by the database's clock.
func stand(src store.Source, now time.Time) standing {
	s := standing{
		User: src.User, Provider: src.Provider, LastRun: src.LastRunID, LastState: src.LastState,
		LastEndedAt: maybe(src.LastEndedAt), LastDoneAt: maybe(src.LastDoneAt), DueAt: maybe(src.DueAt),
		Failures: src.Failures, OpenRejects: src.OpenRejects, Paused: src.Paused,
	}
	if src.Failures > 0 {
		s.Error = src.LastError
	}
	s.State, s.Said = states(src, now)
	return s
}

func states(src store.Source, now time.Time) (state, said string) {
	held := src.Owner != "" && src.LeaseUntil.After(now)
	switch {
	case held && src.LastState == store.Running:
		return "running", "running on " + src.Owner
	case held:
		return "running", "taken by " + src.Owner
	case len(src.Paused) > 0:
		return "paused", "paused: " + strings.Join(src.Paused, ", ")
	case src.Failures > 0:
		return "failing", fmt.Sprintf("failing (%d in a row), next try %s: %s", src.Failures, ago(src.DueAt, now), firstLine(src.LastError))
	case src.Owner != "":
		return "late", "its daemon died; another goes on with it"
	case src.Resume == store.ResumeParked:
		return "parked", "waits for quota, goes on " + ago(src.DueAt, now)
	case now.Sub(src.DueAt) > lateAfter:
		return "late", "late: due " + ago(src.DueAt, now)
	case src.Resume == store.ResumeNew:
		return "new", "never run, due " + dueIn(src.DueAt, now)
	}
	return "waiting", "due " + dueIn(src.DueAt, now)
}

func dueIn(at, now time.Time) string {
	if !at.After(now) {
		return "now"
	}
	return ago(at, now)
}

// maybe returns nil for the zero time, which JSON would spell.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
