package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

// A statusRequest is what `syncd status` was asked for.
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
late, what has open rejects, what is paused or waits for quota, what runs, and
when the rest is due. LAST RUN and DID are of the last run.`,
		Example: `  syncd status
  syncd status --failing                     what failed the last time it ran
  syncd status --late --failing              trouble only
  syncd status alice -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context(), req) },
	}
	req.listing.flags(c)
	req.selection.flags(a, c)
	c.Flags().BoolVar(&req.failing, "failing", false, "only sources that are failing")
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
	var standings []standing
	for src, err := range sourcesOf(ctx, s, req.filter()) {
		if err != nil {
			return err
		}
		if st := stand(src, over.Now); req.wants(st) {
			standings = append(standings, st)
		}
	}
	slices.SortStableFunc(standings, compareStandings)
	req.total = len(standings)
	if req.format != "json" && req.selection == (selection{}) {
		printOverview(a.Out, over)
	}
	columns := []column[standing]{
		{"USER", func(s standing) string { return clip(s.User, 32) }},
		{"PROVIDER", func(s standing) string { return s.Provider }},
		{"STATE", func(s standing) string { return clip(s.Said, 72) }},
		{"LAST RUN", func(s standing) string { return s.lastRun(over.Now) }},
		{"DID", func(s standing) string { return s.did() }},
		{"REJECTS", func(s standing) string { return strconv.FormatInt(s.OpenRejects, 10) }},
	}
	if len(standings) > 0 && standings[0].Error != "" { // those that fail come first
		columns = append(columns, column[standing]{"ERROR", func(s standing) string { return clip(s.Error, 100) }})
	}
	none := "no source" + req.selection.String()
	if req.failing || req.late {
		none += " is in trouble"
	}
	return list(&req.listing, a.Out, withRuns(ctx, s, standings, over), func(s standing) any { return s }, none, columns...)
}

// wants reports whether a source is asked for: with both flags, either will do.
func (r *statusRequest) wants(s standing) bool {
	return !r.failing && !r.late || r.failing && s.Failures > 0 || r.late && s.late
}

// withRuns looks up the last run of each source that is shown, and of no other.
func withRuns(ctx context.Context, s store.Catalog, standings []standing, over store.Overview) iter.Seq2[standing, error] {
	return func(yield func(standing, error) bool) {
		for _, st := range standings {
			if st.LastRun != "" {
				r, err := s.Run(ctx, st.LastRun)
				switch {
				case err == nil:
					st.ran(r, over.Now)
				case !errors.Is(err, store.ErrNotFound):
					yield(st, err)
					return
				}
			}
			if !yield(st, nil) {
				return
			}
		}
	}
}

func printOverview(w io.Writer, o store.Overview) {
	parts := []string{count(o.Sources, "source")}
	for _, one := range []struct {
		n    int64
		word string
	}{{o.Failing, "failing"}, {o.Due, "due"}, {o.Running, "running"}, {o.Paused, "paused"}, {o.Never, "never run"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.word))
		}
	}
	if o.OpenRejects > 0 {
		parts = append(parts, count(o.OpenRejects, "open reject"))
	}
	if late := o.Now.Sub(o.Oldest); !o.Oldest.IsZero() && late > lateAfter {
		parts = append(parts, "late by up to "+span(late))
	}
	fmt.Fprintln(w, strings.Join(parts, ", "))
}
