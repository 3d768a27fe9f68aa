package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/web"
)

func (a *app) sourcesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sources",
		Short: "List, add, pause, resume and remove sources",
		Example: `  syncd sources list
  syncd sources add alice github --option repo=robfig/cron
  syncd sources pause alice github
  syncd sources resume alice github`,
	}
	c.AddCommand(a.sourcesList(), a.sourcesAdd(), a.sourcesPause(), a.sourcesResume(), a.sourcesConfirm(), a.sourcesRemove())
	return c
}

func (a *app) sourcesList() *cobra.Command {
	var l listing
	var sel selection
	c := &cobra.Command{
		Use:   "list [USER [PROVIDER]]",
		Short: "List the sources that the store has",
		Example: `  syncd sources list
  syncd sources list alice
  syncd sources list --provider github -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			none := "no source" + sel.String()
			if sel == (selection{}) && len(cfg.Sources) > 0 {
				none = fmt.Sprintf("no source yet: the daemon adds the %d of the configuration when it starts (syncd run)", len(cfg.Sources))
			}
			return list(&l, a.Out, sourcesOf(c.Context(), s, sel.filter()), func(s store.Source) any { return web.SourceOf(s) }, none,
				column[store.Source]{"USER", func(s store.Source) string { return clip(s.User, 32) }},
				column[store.Source]{"PROVIDER", func(s store.Source) string { return s.Provider }},
				column[store.Source]{"CONNECTOR", func(s store.Source) string { return s.Connector }},
				column[store.Source]{"FROM", origin},
				column[store.Source]{"SCHEDULE", func(s store.Source) string { return s.Schedule }},
				column[store.Source]{"DUE", func(s store.Source) string { return when(s.DueAt) }},
				column[store.Source]{"LAST RUN", func(s store.Source) string { return or(s.LastState, "never") }},
				column[store.Source]{"PAUSED", func(s store.Source) string { return or(reasons(s.Paused), "-") }},
			)
		},
	}
	l.flags(c)
	sel.flags(a, c)
	return c
}

// origin says where a source is declared.
func origin(s store.Source) string {
	if s.Declared != "" {
		return "added"
	}
	return "file"
}

func (a *app) sourcesPause() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "pause USER PROVIDER",
		Short: "Stop running a source until it is resumed",
		Long: `Stop running a source until it is resumed. A run that is under way ends by
itself. Reasons are a set: a source runs again when the last is taken away.`,
		Example: `  syncd sources pause alice github
  syncd sources pause alice github --reason migration`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			return a.repause(c.Context(), args, func(ctx context.Context, s store.Store, key store.Key) ([]string, error) {
				return s.Pause(ctx, key, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", store.PausedOperator, "why, as one `WORD`")
	complete(c, "reason", words())
	return c
}

func (a *app) sourcesResume() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "resume USER PROVIDER",
		Short: "Run a paused source again",
		Long: `Run a paused source again. Only the reason that is named is taken away: the one
of "sources pause" if none is. What came due meanwhile is one run.`,
		Example: `  syncd sources resume alice github
  syncd sources resume alice github --reason migration`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			return a.repause(c.Context(), args, func(ctx context.Context, s store.Store, key store.Key) ([]string, error) {
				return s.Resume(ctx, key, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", store.PausedOperator, "the `WORD` that it was paused with")
	complete(c, "reason", words())
	return c
}

// checkReason refuses what is no word, and the reason that the configuration
// alone gives and takes.
func checkReason(reason string) error {
	switch {
	case reason == store.PausedRemoved:
		return usageError{fmt.Errorf("--reason %s is for sources that are not in the configuration: put it back there, or take it out", reason)}
	case reason == "" || strings.ContainsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || obeyed(r) }):
		return usageError{fmt.Errorf("--reason %q: it is one word", reason)}
	}
	return nil
}

// repause changes a source's reasons to be paused and says how it stands then.
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
	row, err := oneSource(ctx, s, key)
	if err != nil {
		return unknown(cfg, key, err)
	}
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: %s\n", oneLine(key.String()), oneLine(pauseSaid(row, left, now)))
	return nil
}

func pauseSaid(row store.Source, left []string, now time.Time) string {
	if len(left) == 0 {
		return "not paused, due " + soon(row.DueAt, now)
	}
	said := "paused: " + reasons(left)
	if row.LeaseUntil.After(now) {
		said += "; the run that is under way ends by itself"
	}
	return said
}

func (a *app) sourcesRemove() *cobra.Command {
	var purge, yes bool
	c := &cobra.Command{
		Use:   "remove USER PROVIDER",
		Short: "Forget a source that is not in the configuration",
		Long: `Forget a source that was added, or that is no longer in the configuration: its
schedule, cursors, rejects and credential, which is given back to the provider
where it can be (see: syncd disconnect). Its records and its run log stay; with --purge they are deleted too,
which cannot be undone.`,
		Example: `  syncd sources list                         what is "not in the configuration"
  syncd sources remove alice github
  syncd sources remove alice github --purge --yes`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeRemovable,
		RunE: func(c *cobra.Command, args []string) error {
			return a.removeSource(c.Context(), store.Key{User: args[0], Provider: args[1]}, purge, yes)
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "delete its records, changes and runs too")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// completeRemovable completes the sources that the store has and the
// configuration has not.
func (a *app) completeRemovable(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, s, err := a.look(c.Context())
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	var out []cobra.Completion
	for row, err := range sourcesOf(c.Context(), s, store.SourceFilter{}) {
		if err != nil {
			break
		}
		if row.Declared != "" || slices.Contains(row.Paused, store.PausedRemoved) {
			out = appendCompletion(out, append(args, begun), row.User, row.Provider)
		}
	}
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
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
	if purge && !yes {
		if err := a.confirmPurge(ctx, s, key); err != nil {
			return err
		}
	}
	f := newFleet(s, newLog(a.Err, cfg.Log))
	defer f.close()
	if err := f.use(cfg); err != nil {
		return err
	}
	if err := f.openAccounts(ctx, a, cfg); err != nil {
		f.log.Warn("accounts can't be opened", "error", err)
	}
	said, err := f.remove(ctx, key, purge)
	if err != nil {
		return unknown(cfg, key, err)
	}
	fmt.Fprintf(a.Out, "%s is removed; %s\n", oneLine(key.String()), oneLine(said))
	return nil
}

// remove forgets a source that the configuration does not have, and says what
// became of its credential and its records. A credential that can't be given
// back is deleted all the same.
func (f *fleet) remove(ctx context.Context, key store.Key, purge bool) (said string, err error) {
	said = f.giveBack(ctx, key)
	// A source that was removed before can be purged still, so the store is to say what it has.
	if err := f.store.Remove(ctx, key, purge); err != nil {
		return "", err
	}
	if purge {
		return said + "its records are deleted, and its run log", nil
	}
	return said + "its records and its run log stay", nil
}

// giveBack gives back the credential of a source that is to be removed, and says
// how that went: "" if there is none.
func (f *fleet) giveBack(ctx context.Context, key store.Key) string {
	if _, err := f.store.Credential(ctx, key); err != nil {
		return ""
	}
	src, err := find(ctx, f.config(), f.store, key)
	if err == nil {
		var said string
		if said, err = f.disconnect(ctx, src, false); err == nil {
			return said + "; "
		}
	}
	return fmt.Sprintf("its credential is deleted, and was not given back (%v): the user can withdraw access at the provider; ", err)
}

// confirmPurge asks whether the records are to be deleted.
func (a *app) confirmPurge(ctx context.Context, s store.Catalog, key store.Key) error {
	counts, err := s.Count(ctx, key)
	if err != nil {
		return err
	}
	var n int64
	for _, c := range counts {
		n += c.Live + c.Deleted
	}
	if n == 0 {
		return nil
	}
	return a.sure(fmt.Sprintf("%s of %s", count(n, "record"), oneLine(key.String())))
}
