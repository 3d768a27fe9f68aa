package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/outfile"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) usersExport() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "export USER",
		Short: "Write all that there is about a user as JSON lines",
		Long: `Write all that there is about a user as JSON lines (NDJSON): first what the file is,
then a line for each row of sources, credentials (without what they hold), cursors,
records, rejects, runs, changes and events, and last how many lines there are of
each, so that a file that was cut is noticed. A record's data is the provider's
JSON as it came, with spaces for line ends.

It is written while sources are run, and is then not of one moment: pause them
first if that matters (syncd sources pause).`,
		Example: `  syncd users export alice --file alice.ndjson
  syncd users export alice | gzip > alice.ndjson.gz
  syncd users export alice | jq -c 'select(.table == "records") | .data'`,
		Args: takes("USER"), ValidArgsFunction: a.completeStored,
		RunE: func(c *cobra.Command, args []string) error {
			if err := given(c, "file", name); err != nil {
				return err
			}
			return a.exportUser(c.Context(), args[0], name)
		},
	}
	c.Flags().StringVar(&name, "file", "", "write to this `file`, which only you can read, instead of standard output")
	return c
}

func (a *app) exportUser(ctx context.Context, user, name string) error {
	_, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := tracesOf(ctx, s, user)
	if err != nil {
		return err
	}
	e := newExport(s, user, found)
	if name == "" {
		e.terminal = isTerminal(a.Out)
		return e.write(ctx, a.Out)
	}
	file, err := outfile.Create("export to", name, false)
	if errors.Is(err, fs.ErrExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer file.Drop()
	if isTerminal(a.Err) {
		bar := progressbar.NewOptions64(rowsOf(found, ""), progressbar.OptionSetWriter(a.Err), progressbar.OptionSetDescription("export "+oneLine(user)),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"),
			progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		e.moved = func(n int64) { _ = bar.Set64(n) } // what a bar shows is for the eye alone
		defer bar.Finish()
	}
	if err := file.Write(func(w io.Writer) error { return e.write(ctx, w) }); err != nil {
		return err
	}
	var total int64
	for _, n := range e.lines {
		total += n
	}
	fmt.Fprintf(a.Out, "exported %s about %s to %s\n", count(total, "row"), oneLine(user), oneLine(name))
	return nil
}

// newExport returns an export of what was found about a user.
func newExport(s store.Store, user string, found []store.Trace) *export {
	return &export{s: s, user: user, providers: providersOf(found), lines: map[string]int64{}, moved: func(int64) {}}
}

// providersOf returns the providers of traces, each once, in their order.
func providersOf(traces []store.Trace) []string {
	var all []string
	for _, t := range traces {
		if t.Provider != "" && (len(all) == 0 || all[len(all)-1] != t.Provider) {
			all = append(all, t.Provider)
		}
	}
	return all
}
