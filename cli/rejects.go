package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
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
			if f.RunID != "" {
				r, err := findRun(c.Context(), s, f.RunID)
				if err != nil {
					return err
				}
				f.RunID = r.ID
			}
			f.User, f.Provider = sel.user, sel.provider
			return list(&l, a.Out, rejectsOf(c.Context(), s, f), func(r store.Reject) any { return rejectRowOf(r) }, "no reject"+sel.String(), rejectColumns()...)
		},
	}
	l.flags(c)
	sel.flags(a, c)
	c.Flags().StringVar(&f.Stream, "stream", "", "only of this `STREAM`")
	c.Flags().StringVar(&f.Reason, "reason", "", "only for this `REASON`")
	c.Flags().StringVar(&f.RunID, "run", "", "only those that this `RUN` set aside last")
	complete(c, "run", func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeRun(c, nil, begun)
	})
	c.Flags().BoolVar(&f.Resolved, "all", false, "also those that were replayed or discarded")
	return c
}

func rejectColumns() []column[store.Reject] {
	return []column[store.Reject]{
		{"ID", func(r store.Reject) string { return strconv.FormatInt(r.ID, 10) }},
		{"USER", func(r store.Reject) string { return clip(r.User, 24) }},
		{"PROVIDER", func(r store.Reject) string { return r.Provider }},
		{"STREAM", func(r store.Reject) string { return r.Stream }},
		{"RECORD", func(r store.Reject) string { return or(clip(r.RecordID, 24), "-") }},
		{"PLACE", func(r store.Reject) string { return or(clip(r.Place, 30), "-") }},
		{"REASON", func(r store.Reject) string { return resolved(r) }},
		{"LAST", func(r store.Reject) string { return when(r.LastAt) }},
		{"TIMES", func(r store.Reject) string { return strconv.FormatInt(r.Times, 10) }},
		{"DETAIL", func(r store.Reject) string { return clip(r.Detail, 60) }},
	}
}

// resolved is a reject's reason, with what became of it if it is closed.
func resolved(r store.Reject) string {
	if r.Resolution == "" {
		return r.Reason
	}
	return r.Reason + " (" + r.Resolution + ")"
}

func (a *app) rejectsShow() *cobra.Command {
	var out output
	var raw bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of one reject, with its bytes",
		Long: `Show all of one reject, with its bytes: as text where they are text that a
terminal can show, else in hexadecimal. --raw writes them as they came.`,
		Example: `  syncd rejects show 7
  syncd rejects show 7 --raw > record.json`,
		Args: takes("ID"), ValidArgsFunction: a.completeReject,
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

func findReject(ctx context.Context, s store.Catalog, text string) (store.Reject, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return store.Reject{}, usageError{fmt.Errorf("%q is not the id of a reject (see: syncd rejects list)", text)}
	}
	r, err := s.Reject(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return r, fmt.Errorf("there is no reject %d (see: syncd rejects list)", id)
	}
	return r, err
}

// completeReject completes the ids of the newest open rejects.
func (a *app) completeReject(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const keepOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	_, s, err := a.look(c.Context())
	if err != nil {
		return nil, keepOrder
	}
	defer s.Close()
	rejects, _ := s.Rejects(c.Context(), store.RejectFilter{Limit: 100}) // no completion is better than an error
	var out []cobra.Completion
	for _, r := range rejects {
		id := strconv.FormatInt(r.ID, 10)
		if strings.HasPrefix(id, begun) && !slices.Contains(args, id) {
			out = append(out, cobra.CompletionWithDesc(id, oneLine(r.Key.String()+": "+r.Reason)))
		}
	}
	return out, keepOrder
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
	printRaw(w, r.Raw)
	if r.Resolution == "" {
		fmt.Fprintf(w, `
after its cause was mended   syncd rejects replay %d
with corrected bytes         syncd rejects replay %d --file corrected
to give it up                syncd rejects discard %d
`, r.ID, r.ID, r.ID)
	}
}

// dumped is how many bytes are shown in hexadecimal.
const dumped = 4096

// printRaw shows bytes so that a terminal obeys none of them.
func printRaw(w io.Writer, raw []byte) {
	switch {
	case len(raw) == 0:
		fmt.Fprintln(w, "(no bytes)")
	case printable(raw):
		fmt.Fprintln(w, strings.TrimRight(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n"))
	default:
		fmt.Fprint(w, hex.Dump(raw[:min(len(raw), dumped)]))
		if len(raw) > dumped {
			fmt.Fprintf(w, "... and %s more (--raw writes all)\n", count(len(raw)-dumped, "byte"))
		}
	}
}

func (a *app) rejectsDiscard() *cobra.Command {
	return &cobra.Command{
		Use:   "discard ID...",
		Short: "Close rejects without ingesting them",
		Long: `Close rejects without ingesting them. Their bytes stay: "rejects list --all" has
them. The same bytes refused again for the same reason stay closed.`,
		Example: `  syncd rejects discard 7
  syncd rejects discard 7 8 9`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeReject,
		RunE: func(c *cobra.Command, args []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var rejects []store.Reject
			for _, text := range args { // all are looked up before any is closed
				r, err := findReject(c.Context(), s, text)
				if err != nil {
					return err
				}
				rejects = append(rejects, r)
			}
			var errs []error
			for _, r := range rejects {
				errs = append(errs, a.discard(c.Context(), s, r))
			}
			return errors.Join(errs...)
		},
	}
}

func (a *app) discard(ctx context.Context, s store.Store, r store.Reject) error {
	if r.Resolution != "" {
		fmt.Fprintf(a.Out, "reject %d was %s already\n", r.ID, r.Resolution)
		return nil
	}
	err := underLease(ctx, s, r.Key, func(ctx context.Context, tx store.Tx) error {
		return tx.Resolve(ctx, r.ID, store.Discarded, "")
	})
	if err != nil {
		return fmt.Errorf("reject %d: %w", r.ID, err)
	}
	fmt.Fprintf(a.Out, "reject %d is discarded\n", r.ID)
	return nil
}
