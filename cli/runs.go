package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) runsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "runs",
		Short: "Look at the run log",
		Example: `  syncd runs list
  syncd runs list alice github --state failed
  syncd runs show 0190a5f0-7d3c-70`,
	}
	c.AddCommand(a.runsList(), a.runsShow())
	return c
}

// A runRow is a run for programs.
type runRow struct {
	ID        string         `json:"id"`
	User      string         `json:"user"`
	Provider  string         `json:"provider"`
	State     string         `json:"state"`
	Trigger   string         `json:"trigger"`
	Tick      *time.Time     `json:"tick,omitempty"`
	Folded    int            `json:"folded,omitempty"`
	Full      bool           `json:"full,omitempty"`
	StartedAt time.Time      `json:"started_at"`
	EndedAt   *time.Time     `json:"ended_at,omitempty"`
	Counters  store.Counters `json:"counters"`
	Pages     int64          `json:"pages"`
	Requests  int64          `json:"requests"`
	Input     string         `json:"input_fingerprint,omitempty"`
	Error     string         `json:"error,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
	Owner     string         `json:"owner"`
	Token     int64          `json:"lease_token"`
	Resumes   string         `json:"resumes,omitempty"`
}

func runRowOf(r store.Run) runRow {
	row := runRow{
		ID: r.ID, User: r.User, Provider: r.Provider, State: r.State, Trigger: r.Trigger, Tick: maybe(r.Tick), Folded: r.Folded,
		Full: r.Full, StartedAt: r.StartedAt, EndedAt: maybe(r.EndedAt), Counters: r.Counters, Pages: r.Pages, Requests: r.Requests,
		Input: r.Input, Error: r.Error, Owner: r.Owner, Token: r.Token, Resumes: r.Resumes,
	}
	if r.Notes != "" {
		row.Notes = strings.Split(r.Notes, "\n")
	}
	return row
}

func (a *app) runsList() *cobra.Command {
	var l listing
	var sel selection
	var state string
	c := &cobra.Command{
		Use:   "list [USER [PROVIDER]]",
		Short: "List runs, newest first",
		Example: `  syncd runs list
  syncd runs list alice --state failed --limit 10
  syncd runs list -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := oneOf("state", state, runStates...); err != nil {
				return err
			}
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			now, err := s.Now(c.Context())
			if err != nil {
				return err
			}
			f := store.RunFilter{User: sel.user, Provider: sel.provider, State: state}
			return list(&l, a.Out, runsOf(c.Context(), s, f), func(r store.Run) any { return runRowOf(r) }, "no run"+sel.String(), runColumns(now)...)
		},
	}
	l.flags(c)
	sel.flags(a, c)
	c.Flags().StringVar(&state, "state", "", "only runs in this `STATE`: "+strings.Join(runStates, ", "))
	complete(c, "state", words(runStates...))
	return c
}

var runStates = []string{store.Running, store.Done, store.Partial, store.Parked, store.Failed, store.Abandoned, store.Lost}

func runColumns(now time.Time) []column[store.Run] {
	return []column[store.Run]{
		{"RUN", func(r store.Run) string { return r.ID }},
		{"USER", func(r store.Run) string { return clip(r.User, 24) }},
		{"PROVIDER", func(r store.Run) string { return r.Provider }},
		{"STATE", func(r store.Run) string { return r.State }},
		{"TRIGGER", func(r store.Run) string { return r.Trigger }},
		{"STARTED", func(r store.Run) string { return when(r.StartedAt) }},
		{"TOOK", func(r store.Run) string { return took(r, now) }},
		{"DID", func(r store.Run) string { return clip(did(r), 100) }},
	}
}

// allCounters spells every counter, also those that are zero.
func allCounters(c store.Counters) string {
	return fmt.Sprintf("inserted %d, updated %d, unchanged %d, stale %d,\ndeleted %d, restored %d, rejected %d, duplicate %d",
		c.Inserted, c.Updated, c.Unchanged, c.Stale, c.Deleted, c.Restored, c.Rejected, c.Duplicate)
}

// did says in a few words what a run did, or why it did not.
func did(r store.Run) string {
	switch {
	case r.Error != "" && r.Counters.Records() == 0:
		return firstLine(r.Error)
	case r.Error != "":
		return firstLine(r.Error) + " (after " + counted(r.Counters) + ")"
	case r.Counters.Records() == 0 && strings.Contains(r.Notes, "unchanged"):
		return "unchanged"
	}
	return counted(r.Counters)
}

func (a *app) runsShow() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Show all of one run",
		Long:  "Show all of one run. The beginning of its id is enough where no other begins so.",
		Example: `  syncd runs show 0190a5f0-7d3c-7000-8000-000000000000
  syncd runs show 0190a5f0-7d3c-70 -o json`,
		Args: takes("RUN"), ValidArgsFunction: a.completeRun,
		RunE: func(c *cobra.Command, args []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := findRun(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			now, err := s.Now(c.Context())
			if err != nil {
				return err
			}
			return out.print(a.Out, runRowOf(r), func(w io.Writer) { printRun(w, r, now) })
		},
	}
	out.flag(c)
	return c
}

// afterIDs sorts after every character of an id.
const afterIDs = "~"

// findRun returns the run whose id begins with text. It reads no more of the
// run log than the rows that do, and the next.
func findRun(ctx context.Context, s store.Catalog, text string) (store.Run, error) {
	prefix := strings.ToLower(text)
	if strings.Trim(prefix, "0123456789abcdef-") != "" {
		return store.Run{}, usageError{fmt.Errorf("%q is not the id of a run (see: syncd runs list)", text)}
	}
	runs, err := s.Runs(ctx, store.RunFilter{Before: prefix + afterIDs, Limit: 3})
	if err != nil {
		return store.Run{}, err
	}
	var found []store.Run
	var ids []string
	for _, r := range runs {
		if strings.HasPrefix(r.ID, prefix) {
			found, ids = append(found, r), append(ids, r.ID)
		}
	}
	switch len(found) {
	case 0:
		return store.Run{}, fmt.Errorf("there is no run %s (see: syncd runs list)", text)
	case 1:
		return found[0], nil
	}
	return store.Run{}, usageError{fmt.Errorf("several runs begin with %s, such as %s", text, strings.Join(ids, " and "))}
}

// completeRun completes the ids of the newest runs.
func (a *app) completeRun(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const keepOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	_, s, err := a.look(c.Context())
	if err != nil || len(args) > 0 {
		return nil, keepOrder
	}
	defer s.Close()
	runs, _ := s.Runs(c.Context(), store.RunFilter{Limit: 100}) // no completion is better than an error
	var out []cobra.Completion
	for _, r := range runs {
		if strings.HasPrefix(r.ID, begun) {
			out = append(out, cobra.CompletionWithDesc(r.ID, oneLine(r.State+" "+r.Key.String()+" "+when(r.StartedAt))))
		}
	}
	return out, keepOrder
}

func printRun(w io.Writer, r store.Run, now time.Time) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s%s\n", name, block(value, strings.Repeat(" ", 12)))
		}
	}
	line("run", r.ID)
	line("source", r.Key.String())
	line("state", r.State)
	trigger := r.Trigger
	if !r.Tick.IsZero() {
		trigger += ", for the tick of " + when(r.Tick)
	}
	if r.Folded > 0 {
		trigger += fmt.Sprintf(", and %s before it", count(r.Folded, "more tick"))
	}
	line("trigger", trigger)
	line("started", when(r.StartedAt))
	line("took", took(r, now))
	line("ended", when(r.EndedAt))
	line("daemon", fmt.Sprintf("%s, lease token %d", r.Owner, r.Token))
	if r.Resumes != "" {
		line("resumes", "run "+r.Resumes+", whose daemon died")
	}
	if r.Full {
		line("full", "it was asked to read everything")
	}
	line("input", strings.ReplaceAll(r.Input, "; ", "\n"))
	line("records", allCounters(r.Counters))
	line("pages", fmt.Sprint(r.Pages))
	line("requests", fmt.Sprint(r.Requests))
	line("error", r.Error)
	line("notes", r.Notes)
	if r.Counters.Rejected > 0 {
		line("see", "syncd rejects list --run "+r.ID)
	}
}
