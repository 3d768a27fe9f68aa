package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) cursorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cursor",
		Short: "Show or reset how far a source was read",
		Example: `  syncd cursor show alice github
  syncd cursor reset alice github --stream issues`,
	}
	c.AddCommand(a.cursorShow(), a.cursorReset())
	return c
}

// A cursorRow is a cursor for programs; State is as it is stored, byte for byte.
type cursorRow struct {
	Stream    string     `json:"stream"`
	Part      string     `json:"part,omitempty"`
	Watermark int64      `json:"watermark"`
	Time      *time.Time `json:"watermark_time,omitempty"` // what the watermark says if it is a time
	State     string     `json:"state"`
	Run       string     `json:"run"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func (a *app) cursorShow() *cobra.Command {
	var l listing
	var stream string
	c := &cobra.Command{
		Use:   "show USER PROVIDER",
		Short: "Show how far each stream of a source was read",
		Long: `Show how far each stream of a source was read and committed: the watermark (all
changes up to it are there), the beginning of the provider's sync token if it has
one, and the walk that is under way. How many pages a walk has left nobody knows
before its end. -o json has the stored state as it is.`,
		Example: `  syncd cursor show alice github
  syncd cursor show alice github --stream issues -o json`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.showCursors(c.Context(), store.Key{User: args[0], Provider: args[1]}, stream, &l)
		},
	}
	c.Flags().StringVar(&stream, "stream", "", "only this `STREAM`")
	complete(c, "stream", a.completeStream)
	l.flags(c)
	return c
}

func (a *app) showCursors(ctx context.Context, key store.Key, stream string, l *listing) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	rows, err := cursorsOf(ctx, cfg, s, key, stream)
	if err != nil {
		return err
	}
	src, err := find(ctx, cfg, s, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	m := marksOf(src)
	none := oneLine(key.String()) + ": nothing has been read yet, or the cursors were reset"
	return list(l, a.Out, each(rows), func(c store.Cursor) any {
		return cursorRow{c.Stream, c.Part, c.Watermark, m.time(c), c.State, c.RunID, c.UpdatedAt}
	}, none,
		column[store.Cursor]{"STREAM", func(c store.Cursor) string { return c.Stream }},
		column[store.Cursor]{"PART", func(c store.Cursor) string { return or(clip(c.Part, 32), "-") }},
		column[store.Cursor]{"READ UP TO", func(c store.Cursor) string { return m.watermark(c) }},
		column[store.Cursor]{"SYNC TOKEN", func(c store.Cursor) string { return token(c) }},
		column[store.Cursor]{"WALK", func(c store.Cursor) string { return underWay(c, now) }},
		column[store.Cursor]{"SAVED", func(c store.Cursor) string { return when(c.UpdatedAt) }},
	)
}

// cursorsOf returns the cursors of a source, or of one stream of it. A stream
// that the source has no cursor of is an error that says which it has.
func cursorsOf(ctx context.Context, cfg *config.Config, s store.Store, key store.Key, stream string) ([]store.Cursor, error) {
	if _, err := oneSource(ctx, s, key); err != nil {
		return nil, unknown(cfg, key, err)
	}
	all, err := s.Cursors(ctx, key)
	if err != nil || stream == "" || len(all) == 0 {
		return all, err
	}
	var rows []store.Cursor
	var names []string
	for _, c := range all {
		if c.Stream == stream {
			rows = append(rows, c)
		}
		names = append(names, c.Stream)
	}
	if len(rows) == 0 {
		slices.Sort(names)
		return nil, fmt.Errorf("source %s has no cursor of a stream %q: it has %s", key, stream, strings.Join(slices.Compact(names), ", "))
	}
	return rows, nil
}

// marks tells of the streams of a source whether their marks are sequence
// numbers. It knows nothing of a source that is not configured any more.
type marks map[string]bool

func marksOf(src *config.Source) marks {
	if src == nil {
		return nil
	}
	streams, err := streamsOf(src)
	if err != nil {
		return nil // what is shown is guessed then
	}
	m := marks{}
	for _, s := range streams {
		m[s.Name] = s.Sequence
	}
	return m
}

// time returns the time that a watermark stands for, nil if it is a sequence
// number. Of a stream that is not known, a number that would be a time of the
// first year after 1970 is more likely a sequence number.
func (m marks) time(c store.Cursor) *time.Time {
	sequence, known := m[c.Stream]
	if !known {
		sequence = c.Watermark < int64(365*24*time.Hour)
	}
	if sequence || c.Watermark == 0 {
		return nil
	}
	t := syncd.Mark(c.Watermark).Time()
	return &t
}

func (m marks) watermark(c store.Cursor) string {
	if t := m.time(c); t != nil {
		return t.Format("2006-01-02 15:04:05.999 MST")
	}
	return or(syncd.Mark(c.Watermark).Format(true), "-")
}

func token(c store.Cursor) string {
	s, err := cursor.Parse(c.State)
	if err != nil {
		return "?"
	}
	return or(clip(s.Sync, 24), "-")
}

// underWay says what is known of a walk that has not ended.
func underWay(c store.Cursor, now time.Time) string {
	s, err := cursor.Parse(c.State)
	switch {
	case err != nil:
		return clip("unreadable: "+err.Error(), 60)
	case s.Walk == nil:
		return "-"
	}
	if s.Walk.Again {
		return "ended, begun " + ago(s.Walk.Began, now) + ", what is gone is not deleted yet"
	}
	said := "under way"
	if s.Walk.Full {
		said = "reading everything"
	}
	return said + ", begun " + ago(s.Walk.Began, now) + ", pages left unknown"
}

// completeStream completes the streams of the source that is named, from the
// configuration.
func (a *app) completeStream(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if cfg, err := a.load(); err == nil && len(args) == 2 {
		for _, name := range slices.Sorted(maps.Keys(marksOf(configured(cfg)[store.Key{User: args[0], Provider: args[1]}]))) {
			out = appendCompletion(out, []string{begun}, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) cursorReset() *cobra.Command {
	var stream string
	c := &cobra.Command{
		Use:   "reset USER PROVIDER",
		Short: "Have a source read from its beginning once more",
		Long: `Forget how far a source, or one stream of it, was read. The next run reads all of
it once more. Records that are there already are not inserted again, and the
reset itself deletes nothing.`,
		Example: `  syncd cursor reset alice github
  syncd cursor reset alice github --stream issues && syncd sync alice github`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if err := given(c, "stream", stream); err != nil {
				return err
			}
			return a.resetCursors(c.Context(), store.Key{User: args[0], Provider: args[1]}, stream)
		},
	}
	c.Flags().StringVar(&stream, "stream", "", "only this `STREAM`")
	complete(c, "stream", a.completeStream)
	return c
}

func (a *app) resetCursors(ctx context.Context, key store.Key, stream string) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	cursors, err := cursorsOf(ctx, cfg, s, key, stream)
	if err != nil {
		return err
	}
	name := oneLine(key.String())
	if len(cursors) == 0 {
		fmt.Fprintf(a.Out, "%s: nothing has been read yet, so there is nothing to reset\n", name)
		return nil
	}
	err = underLease(ctx, s, key, func(ctx context.Context, tx store.Tx) error { return tx.DropCursors(ctx, stream) })
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
	next := "due " + soon(row.DueAt, now)
	if len(row.Paused) > 0 {
		next = "which is paused: " + reasons(row.Paused)
	}
	what := "everything"
	if stream != "" {
		what = "all of " + oneLine(stream)
	}
	fmt.Fprintf(a.Out, `%s of %s dropped
The next run (%s) reads %s once more. What is there already is found
equal and stays as it is: nothing is inserted twice. Now: syncd sync %s
`, count(len(cursors), "cursor"), name, oneLine(next), what, name)
	return nil
}
