package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) sourcesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sources",
		Short: "List, pause, resume and remove sources",
		Example: `  syncd sources list
  syncd sources pause alice github
  syncd sources resume alice github`,
	}
	c.AddCommand(a.sourcesList(), a.sourcesPause(), a.sourcesResume(), a.sourcesRemove())
	return c
}

// A sourceRow is a source for programs.
type sourceRow struct {
	User      string     `json:"user"`
	Provider  string     `json:"provider"`
	Connector string     `json:"connector"`
	Schedule  string     `json:"schedule"`
	Paused    []string   `json:"paused"`
	NextAt    *time.Time `json:"next_at"`
	DueAt     *time.Time `json:"due_at"`
	FullAt    *time.Time `json:"full_at,omitempty"`
	Resume    string     `json:"resume,omitempty"`
	Failures  int        `json:"failures"`
	Owner     string     `json:"owner,omitempty"`
	LastRun   string     `json:"last_run,omitempty"`
	LastState string     `json:"last_state,omitempty"`
	LastDone  *time.Time `json:"last_done_at,omitempty"`
	Rejects   int64      `json:"open_rejects"`
	CreatedAt time.Time  `json:"created_at"`
}

func (a *app) sourcesList() *cobra.Command {
	var l listing
	var sel selection
	c := &cobra.Command{
		Use:     "list [USER [PROVIDER]]",
		Short:   "List the sources that the store has",
		Example: "  syncd sources list\n  syncd sources list --provider github -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			return list(&l, a.Out, sourcesOf(c.Context(), s, sel.filter()), func(s store.Source) any { return rowOf(s) }, "no source"+sel.String(),
				column[store.Source]{"USER", func(s store.Source) string { return clip(s.User, 32) }},
				column[store.Source]{"PROVIDER", func(s store.Source) string { return s.Provider }},
				column[store.Source]{"CONNECTOR", func(s store.Source) string { return s.Connector }},
				column[store.Source]{"SCHEDULE", func(s store.Source) string { return s.Schedule }},
				column[store.Source]{"DUE", func(s store.Source) string { return when(s.DueAt) }},
				column[store.Source]{"LAST RUN", func(s store.Source) string { return or(s.LastState, "never") }},
				column[store.Source]{"PAUSED", func(s store.Source) string { return or(strings.Join(s.Paused, ", "), "-") }},
			)
		},
	}
	l.flags(c)
	sel.flags(a, c)
	return c
}

func rowOf(s store.Source) sourceRow {
	return sourceRow{
		User: s.User, Provider: s.Provider, Connector: s.Connector, Schedule: s.Schedule, Paused: append([]string{}, s.Paused...),
		NextAt: maybe(s.NextAt), DueAt: maybe(s.DueAt), FullAt: maybe(s.FullAt), Resume: s.Resume, Failures: s.Failures, Owner: s.Owner,
		LastRun: s.LastRunID, LastState: s.LastState, LastDone: maybe(s.LastDoneAt), Rejects: s.OpenRejects, CreatedAt: s.CreatedAt,
	}
}

func (a *app) sourcesPause() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "pause USER PROVIDER",
		Short: "Stop running a source until it is resumed",
		Long: `Stop running a source until it is resumed. A run that is under way ends by
itself. Reasons are a set: a source goes on when the last is taken away.`,
		Example: "  syncd sources pause alice github\n  syncd sources pause alice github --reason migration",
		Args:    takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" || reason == store.PausedRemoved || strings.ContainsFunc(reason, func(r rune) bool { return r <= ' ' || r == ',' }) {
				return usageError{fmt.Errorf("--reason %q: it is one word, other than %s", reason, store.PausedRemoved)}
			}
			return a.repause(c.Context(), args, func(ctx context.Context, s store.Store, key store.Key) ([]string, error) {
				return s.Pause(ctx, key, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", store.PausedOperator, "why, as one `word`")
	return c
}

func (a *app) sourcesResume() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:     "resume USER PROVIDER",
		Short:   "Run a paused source again",
		Example: "  syncd sources resume alice github\n  syncd sources resume alice github --reason migration",
		Args:    takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.repause(c.Context(), args, func(ctx context.Context, s store.Store, key store.Key) ([]string, error) {
				return s.Resume(ctx, key, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", store.PausedOperator, "the `word` that it was paused with")
	return c
}

// repause changes a source's reasons to be paused and says which are left.
func (a *app) repause(ctx context.Context, args []string, change func(context.Context, store.Store, store.Key) ([]string, error)) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	key := store.Key{User: args[0], Provider: args[1]}
	left, err := change(ctx, s, key)
	if err != nil {
		return unknown(cfg, key, err)
	}
	said := "not paused: it runs when it is due"
	if len(left) > 0 {
		said = "paused: " + strings.Join(left, ", ")
		if slices.Contains(left, store.PausedRemoved) {
			said += " (it is not in the configuration)"
		}
	}
	fmt.Fprintf(a.Out, "%s is %s\n", oneLine(key.String()), said)
	return nil
}

func (a *app) sourcesRemove() *cobra.Command {
	var purge, yes bool
	c := &cobra.Command{
		Use:   "remove USER PROVIDER",
		Short: "Forget a source that is no longer in the configuration",
		Long: `Forget a source that is no longer in the configuration: its schedule, cursors
and rejects. Its records and its run log stay; with --purge they are deleted too,
which cannot be undone.`,
		Example: "  syncd sources remove alice github\n  syncd sources remove alice github --purge --yes",
		Args:    takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.removeSource(c.Context(), store.Key{User: args[0], Provider: args[1]}, purge, yes)
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "delete its records, changes and runs too")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *app) removeSource(ctx context.Context, key store.Key, purge, yes bool) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, ok := configured(cfg)[key]; ok {
		return fmt.Errorf("source %s is in %s: take it out there first, or the daemon adds it again", key, cfg.Path)
	}
	if _, err := oneSource(ctx, s, key); err != nil {
		return unknown(cfg, key, err)
	}
	if purge && !yes {
		counts, err := s.Count(ctx, key)
		if err != nil {
			return err
		}
		var n int64
		for _, c := range counts {
			n += c.Live + c.Deleted
		}
		if err := a.confirm(fmt.Sprintf("delete %s of %s for good?", count(n, "record"), oneLine(key.String()))); err != nil {
			return err
		}
	}
	if err := s.Remove(ctx, key, purge); err != nil {
		return unknown(cfg, key, err)
	}
	said := "its records stay"
	if purge {
		said = "its records are deleted"
	}
	fmt.Fprintf(a.Out, "%s is removed; %s\n", oneLine(key.String()), said)
	return nil
}

// confirm asks on the terminal; where nobody can answer it says how to say yes.
func (a *app) confirm(question string) error {
	if !isTerminal(a.In) {
		return usageError{fmt.Errorf("%s Say so with --yes", question)}
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.In).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}
