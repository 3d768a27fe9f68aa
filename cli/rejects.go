package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) rejectsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rejects",
		Short: "Look at records that could not be ingested, and settle them",
		Example: `  syncd rejects list
  syncd rejects show 7
  syncd rejects replay 7
  syncd rejects discard 7`,
	}
	c.AddCommand(a.rejectsList(), a.rejectsShow(), a.replayCommand(), a.rejectsDiscard())
	return c
}

// A rejectRow is a reject for programs. Raw is base64, as JSON has no bytes.
type rejectRow struct {
	ID         int64     `json:"id"`
	User       string    `json:"user"`
	Provider   string    `json:"provider"`
	Stream     string    `json:"stream"`
	Part       string    `json:"part,omitempty"`
	RecordID   string    `json:"record_id,omitempty"`
	Reason     string    `json:"reason"`
	Detail     string    `json:"detail"`
	Place      string    `json:"place,omitempty"`
	Run        string    `json:"run"`
	FirstAt    time.Time `json:"first_at"`
	LastAt     time.Time `json:"last_at"`
	Times      int64     `json:"times"`
	Resolution string    `json:"resolution,omitempty"`
	RawSize    int64     `json:"raw_size"`
	Raw        []byte    `json:"raw,omitempty"`
}

func rejectRowOf(r store.Reject) rejectRow {
	return rejectRow{
		ID: r.ID, User: r.User, Provider: r.Provider, Stream: r.Stream, Part: r.Part, RecordID: r.RecordID, Reason: r.Reason,
		Detail: r.Detail, Place: r.Place, Run: r.RunID, FirstAt: r.FirstAt, LastAt: r.LastAt, Times: r.Times,
		Resolution: r.Resolution, RawSize: r.RawSize, Raw: r.Raw,
	}
}

func (a *app) rejectsList() *cobra.Command {
	var l listing
	var sel selection
	var f store.RejectFilter
	c := &cobra.Command{
		Use:   "list [USER [PROVIDER]]",
		Short: "List rejects, newest first",
		Example: `  syncd rejects list
  syncd rejects list acme orders --reason wrong_field_count
  syncd rejects list --all -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			f.User, f.Provider = sel.user, sel.provider
			return list(&l, a.Out, rejectsOf(c.Context(), s, f), func(r store.Reject) any { return rejectRowOf(r) }, "no reject"+sel.String(), rejectColumns...)
		},
	}
	l.flags(c)
	sel.flags(a, c)
	c.Flags().StringVar(&f.Stream, "stream", "", "only of this `stream`")
	c.Flags().StringVar(&f.Reason, "reason", "", "only for this `reason`")
	c.Flags().StringVar(&f.RunID, "run", "", "only those that this `run` set aside last")
	c.Flags().BoolVar(&f.Resolved, "all", false, "also those that were replayed or discarded")
	return c
}

var rejectColumns = []column[store.Reject]{
	{"ID", func(r store.Reject) string { return strconv.FormatInt(r.ID, 10) }},
	{"USER", func(r store.Reject) string { return clip(r.User, 24) }},
	{"PROVIDER", func(r store.Reject) string { return r.Provider }},
	{"STREAM", func(r store.Reject) string { return r.Stream }},
	{"PLACE", func(r store.Reject) string { return or(clip(r.Place, 30), "-") }},
	{"REASON", func(r store.Reject) string { return r.Reason }},
	{"LAST", func(r store.Reject) string { return when(r.LastAt) }},
	{"TIMES", func(r store.Reject) string { return strconv.FormatInt(r.Times, 10) }},
	{"DETAIL", func(r store.Reject) string { return clip(or(r.Resolution, r.Detail), 60) }},
}

func (a *app) rejectsShow() *cobra.Command {
	var out output
	var raw bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of one reject, with its bytes",
		Example: `  syncd rejects show 7
  syncd rejects show 7 --raw > record.json`,
		Args: takes("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := findReject(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if raw {
				_, err := a.Out.Write(r.Raw)
				return err
			}
			return out.print(a.Out, rejectRowOf(r), func(w io.Writer) { printReject(w, r) })
		},
	}
	c.Flags().BoolVar(&raw, "raw", false, "write the bytes as they came, and nothing else")
	out.flag(c)
	return c
}

func findReject(ctx context.Context, s store.Store, text string) (store.Reject, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return store.Reject{}, usageError{fmt.Errorf("%q is not the id of a reject (see: syncd rejects list)", text)}
	}
	r, err := s.Reject(ctx, id)
	if err != nil {
		return r, fmt.Errorf("reject %d: %w", id, err)
	}
	return r, nil
}

func printReject(w io.Writer, r store.Reject) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s%s\n", name, block(value, strings.Repeat(" ", 12)))
		}
	}
	line("reject", strconv.FormatInt(r.ID, 10))
	line("source", r.Key.String())
	line("stream", r.Stream)
	line("part", r.Part)
	line("record", r.RecordID)
	line("place", r.Place)
	line("reason", r.Reason)
	line("detail", r.Detail)
	line("times", fmt.Sprintf("%d, first %s, last %s", r.Times, when(r.FirstAt), when(r.LastAt)))
	line("run", r.RunID)
	line("resolution", r.Resolution)
	size := count(r.RawSize, "byte")
	if int64(len(r.Raw)) < r.RawSize {
		size += fmt.Sprintf(", of which %d were kept", len(r.Raw))
	}
	line("raw", size)
	fmt.Fprintln(w)
	if printable(r.Raw) {
		fmt.Fprintln(w, strings.TrimRight(string(r.Raw), "\n"))
	} else {
		fmt.Fprint(w, hex.Dump(r.Raw[:min(len(r.Raw), 4096)]))
	}
	if r.Resolution == "" {
		fmt.Fprintf(w, "\ntry again: syncd rejects replay %d    corrected: syncd rejects replay %d --data '...'    give up: syncd rejects discard %d\n", r.ID, r.ID, r.ID)
	}
}

func (a *app) rejectsDiscard() *cobra.Command {
	return &cobra.Command{
		Use:     "discard ID...",
		Short:   "Close rejects without ingesting them",
		Long:    "Close rejects without ingesting them. Their bytes stay; list --all shows them.",
		Example: "  syncd rejects discard 7 8 9",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var errs []error
			for _, text := range args {
				errs = append(errs, a.discard(c.Context(), s, text))
			}
			return errors.Join(errs...)
		},
	}
}

func (a *app) discard(ctx context.Context, s store.Store, text string) error {
	r, err := findReject(ctx, s, text)
	if err != nil {
		return err
	}
	if r.Resolution != "" {
		fmt.Fprintf(a.Out, "reject %d was %s already\n", r.ID, r.Resolution)
		return nil
	}
	err = underLease(ctx, s, r.Key, func(ctx context.Context, tx store.Tx) error {
		return tx.Resolve(ctx, r.ID, store.Discarded, "")
	})
	if err != nil {
		return fmt.Errorf("reject %d: %w", r.ID, err)
	}
	fmt.Fprintf(a.Out, "reject %d is discarded\n", r.ID)
	return nil
}
