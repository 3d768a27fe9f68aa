package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) cursorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "cursor",
		Short:   "Show or reset how far a source was read",
		Example: "  syncd cursor show alice github\n  syncd cursor reset alice github --stream issues",
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
changes up to it are there), the provider's sync token if it has one, and the walk
that is under way. -o json has the stored state as it is.`,
		Example: "  syncd cursor show alice github\n  syncd cursor show alice github --stream issues -o json",
		Args:    takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.showCursors(c.Context(), store.Key{User: args[0], Provider: args[1]}, stream, &l)
		},
	}
	c.Flags().StringVar(&stream, "stream", "", "only this `stream`")
	l.flags(c)
	return c
}

func (a *app) showCursors(ctx context.Context, key store.Key, stream string, l *listing) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := oneSource(ctx, s, key); err != nil {
		return unknown(cfg, key, err)
	}
	all, err := s.Cursors(ctx, key)
	if err != nil {
		return err
	}
	var rows []store.Cursor
	for _, c := range all {
		if stream == "" || c.Stream == stream {
			rows = append(rows, c)
		}
	}
	return list(l, a.Out, each(rows), func(c store.Cursor) any {
		return cursorRow{c.Stream, c.Part, c.Watermark, markTime(c.Watermark), c.State, c.RunID, c.UpdatedAt}
	}, oneLine(key.String())+" has no cursor: it has not been read, or its cursors were reset",
		column[store.Cursor]{"STREAM", func(c store.Cursor) string { return c.Stream }},
		column[store.Cursor]{"PART", func(c store.Cursor) string { return or(clip(c.Part, 32), "-") }},
		column[store.Cursor]{"WATERMARK", func(c store.Cursor) string { return watermark(c.Watermark) }},
		column[store.Cursor]{"TOKEN", func(c store.Cursor) string { return token(c) }},
		column[store.Cursor]{"WALK", func(c store.Cursor) string { return underWay(c) }},
		column[store.Cursor]{"SAVED", func(c store.Cursor) string { return when(c.UpdatedAt) }},
	)
}

// markTime returns the time that a watermark stands for, nil where it is more
// likely a sequence number: a time of the first year after 1970.
func markTime(m int64) *time.Time {
	if m < int64(365*24*time.Hour) {
		return nil
	}
	t := time.Unix(0, m).UTC()
	return &t
}

func watermark(m int64) string {
	if t := markTime(m); t != nil {
		return t.Format("2006-01-02 15:04:05.999 MST")
	}
	if m == 0 {
		return "-"
	}
	return fmt.Sprint(m)
}

func token(c store.Cursor) string {
	s, err := cursor.Parse(c.State)
	if err != nil {
		return "?"
	}
	return or(clip(s.Sync, 24), "-")
}

// underWay says what is left of a walk.
func underWay(c store.Cursor) string {
	s, err := cursor.Parse(c.State)
	switch {
	case err != nil:
		return "unreadable: " + err.Error()
	case s.Walk == nil:
		return "-"
	case s.Walk.Full:
		return "under way, reading everything"
	}
	return "under way"
}

func (a *app) cursorReset() *cobra.Command {
	var stream string
	c := &cobra.Command{
		Use:   "reset USER PROVIDER",
		Short: "Have a source read from its beginning once more",
		Long: `Forget how far a source, or one stream of it, was read. The next run reads all of
it once more. Records that are there already are not inserted again, and nothing
is deleted.`,
		Example: "  syncd cursor reset alice github\n  syncd cursor reset alice github --stream issues && syncd sync alice github",
		Args:    takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			return a.resetCursors(c.Context(), store.Key{User: args[0], Provider: args[1]}, stream)
		},
	}
	c.Flags().StringVar(&stream, "stream", "", "only this `stream`")
	return c
}

func (a *app) resetCursors(ctx context.Context, key store.Key, stream string) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	cursors, err := s.Cursors(ctx, key)
	if err != nil {
		return err
	}
	n := 0
	for _, c := range cursors {
		if stream == "" || c.Stream == stream {
			n++
		}
	}
	if n == 0 {
		if _, err := oneSource(ctx, s, key); err != nil {
			return unknown(cfg, key, err)
		}
		fmt.Fprintf(a.Out, "%s has no such cursor: there is nothing to reset\n", oneLine(key.String()))
		return nil
	}
	err = underLease(ctx, s, key, func(ctx context.Context, tx store.Tx) error { return tx.DropCursors(ctx, stream) })
	if err != nil {
		return unknown(cfg, key, err)
	}
	fmt.Fprintf(a.Out, "%s of %s dropped: the next run reads all of it once more, and inserts nothing twice (now: syncd sync %s)\n",
		count(n, "cursor"), oneLine(key.String()), oneLine(key.String()))
	return nil
}
