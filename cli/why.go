package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

// A cause is one thing that keeps a source from being up to date.
type cause struct {
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"` // a command, or what else to do
}

// A whyAnswer says why a source is as it is, for programs.
type whyAnswer struct {
	User     string     `json:"user"`
	Provider string     `json:"provider"`
	State    string     `json:"state"`
	Said     string     `json:"said"`
	Causes   []cause    `json:"causes"`
	DueAt    *time.Time `json:"due_at"`
	LastDone *time.Time `json:"last_done_at"`
}

func (a *app) whyCommand() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "why USER PROVIDER",
		Short: "Say why a source is late, paused or failing, and what to do about it",
		Example: `  syncd why alice google_calendar
  syncd why alice github -o json`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.why(c.Context(), store.Key{User: args[0], Provider: args[1]}, out)
		},
	}
	out.flag(c)
	return c
}

func (a *app) why(ctx context.Context, key store.Key, out output) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	row, err := oneSource(ctx, s, key)
	if err != nil {
		return unknown(cfg, key, err)
	}
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	credential, err := s.Credential(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, unfit := find(ctx, cfg, s, key)
	st := stand(row, now)
	answer := whyAnswer{
		User: key.User, Provider: key.Provider, State: st.State, Said: st.Said,
		Causes: causes(row, credential, unfit, now), DueAt: st.DueAt, LastDone: st.LastDoneAt,
	}
	return out.print(a.Out, answer, func(w io.Writer) { printWhy(w, answer, now) })
}

func printWhy(w io.Writer, a whyAnswer, now time.Time) {
	well := "it has never been run to its end"
	if a.LastDone != nil {
		well = "last run to its end " + ago(*a.LastDone, now)
	}
	fmt.Fprintf(w, "%s %s: %s; %s\n", oneLine(a.User), oneLine(a.Provider), oneLine(a.Said), well)
	for _, c := range a.Causes {
		fmt.Fprintf(w, "  %s\n", oneLine(c.Why))
		if c.Remedy != "" {
			fmt.Fprintf(w, "    %s\n", oneLine(c.Remedy))
		}
	}
	if len(a.Causes) == 0 {
		fmt.Fprintln(w, "  nothing keeps it from being run")
	}
}

// causes lists what keeps a source from being up to date, what must be done
// about first. unfit is why it does not fit the configuration, nil if it does.
func causes(row store.Source, credential store.Credential, unfit error, now time.Time) []cause {
	out := []cause{}
	for _, reason := range row.Paused {
		out = append(out, paused(row, credential, reason))
	}
	gone, missing := errors.AsType[noSource](unfit)
	switch {
	case unfit == nil || missing && len(row.Paused) > 0:
	case missing:
		out = append(out, cause{fmt.Sprintf("%s does not have it", gone.path), "put it there, or: syncd sources remove " + row.Key.String()})
	default:
		out = append(out, cause{unfit.Error(), "mend the provider in the configuration, or: syncd sources add " + row.Key.String() + " ..."})
	}
	if len(row.Paused) > 0 {
		return out
	}
	switch {
	case row.LeaseUntil.After(now):
		out = append(out, cause{Why: "it is being run by " + row.Owner})
	case row.Failures > 0:
		out = append(out, cause{fmt.Sprintf("its last %s failed: %s", count(row.Failures, "run"), row.LastError), "it is tried again " + soon(row.DueAt, now) + "; at once: syncd sync " + row.Key.String()})
	case row.Resume == store.ResumeParked:
		out = append(out, cause{Why: fmt.Sprintf("the provider's quota is used up: it goes on %s (%s)", soon(row.DueAt, now), when(row.DueAt))})
	case row.Resume == store.ResumePartial:
		out = append(out, cause{Why: "there was more than one run's budget: it goes on " + soon(row.DueAt, now)})
	case row.Resume == store.ResumeAbandoned:
		out = append(out, cause{Why: "the daemon that ran it died: another goes on " + soon(row.DueAt, now)})
	case !row.DueAt.IsZero() && now.Sub(row.DueAt) > lateAfter:
		out = append(out, cause{"it has been due for " + span(now.Sub(row.DueAt)) + ", and no daemon has taken it", "is one running (syncd run), with a free worker? syncd status says who runs what"})
	}
	if row.OpenRejects > 0 {
		out = append(out, cause{count(int(row.OpenRejects), "record") + " could not be ingested and wait", fmt.Sprintf("syncd rejects list %s", row.Key)})
	}
	return out
}

// paused says what a reason to be paused means.
func paused(row store.Source, credential store.Credential, reason string) cause {
	key := row.Key.String()
	switch reason {
	case store.PausedOperator:
		return cause{"an operator has paused it", "syncd sources resume " + key}
	case store.PausedRemoved:
		return cause{"it is no longer in the configuration", "put it back there, or: syncd sources remove " + key}
	case store.PausedAuth:
		why := "it waits for its user to connect an account"
		if credential.Refused != "" {
			why = "the provider wants its user to connect the account again: " + credential.Refused
		}
		return cause{why, "syncd connect " + key}
	case store.PausedAccount:
		return cause{
			fmt.Sprintf("another account was connected (%s) than the one that its records are of (%s)", credential.Identity, row.Account),
			"connect the former one (syncd connect " + key + "), or: syncd sources confirm " + key + " --records keep|purge",
		}
	case store.PausedFailing:
		return cause{"it has failed for so long that it is no longer tried: " + row.LastError, "syncd sources resume " + key + " --reason failing"}
	case store.PausedQuota:
		return cause{"the provider's quota is used up for long", "syncd sources resume " + key + " --reason quota"}
	}
	return cause{"it is paused for " + reason, "syncd sources resume " + key + " --reason " + reason}
}
