package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) usersCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "users",
		Short: "List users, hand over what there is about one, and erase it",
		Example: `  syncd users list
  syncd users export alice --file alice.ndjson
  syncd users erase alice --receipt alice-erased.json`,
	}
	c.AddCommand(a.usersList(), a.usersExport(), a.usersErase())
	return c
}

// A userRow is a user for programs.
type userRow struct {
	User    string `json:"user"`
	Sources int64  `json:"sources"`
	Paused  int64  `json:"paused"` // of the sources
}

func (a *app) usersList() *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:   "list",
		Short: "List everybody of whom the store has something",
		Long: `List everybody of whom the store has something, with how many sources they have:
none where only records or runs are left of sources that were removed.`,
		Example: `  syncd users list
  syncd users list -o json`,
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, s, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			return list(&l, a.Out, usersOf(c.Context(), s), func(u store.User) any { return userRow{u.ID, u.Sources, u.Paused} }, "nobody yet",
				column[store.User]{"USER", func(u store.User) string { return clip(u.ID, 60) }},
				column[store.User]{"SOURCES", func(u store.User) string { return strconv.FormatInt(u.Sources, 10) }},
				column[store.User]{"PAUSED", func(u store.User) string { return strconv.FormatInt(u.Paused, 10) }},
			)
		},
	}
	l.flags(c)
	return c
}

// usersOf returns everybody of whom the store has something, by id.
func usersOf(ctx context.Context, s store.Users) iter.Seq2[store.User, error] {
	return paged(func(last store.User) ([]store.User, error) { return s.Users(ctx, last.ID, pageRows) })
}

// completeStored completes a user of whom the store has something.
func (a *app) completeStored(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, s, err := a.look(c.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	var out []cobra.Completion
	found, _ := s.Users(c.Context(), begun, pageRows) // what can't be read completes nothing
	for _, u := range found {
		out = appendCompletion(out, []string{begun}, u.ID)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// errNothing: there is no row about a user.
var errNothing = errors.New("the store has no row about this user, or never had one (ids are compared letter by letter; see: syncd users list)")

// tracesOf returns what there is about a user; nothing is an error, and so is an
// id that nobody can have.
func tracesOf(ctx context.Context, s store.Users, user string) ([]store.Trace, error) {
	found, err := s.Traces(ctx, user)
	if _, wrong := errors.AsType[*store.DataError](err); wrong {
		return nil, usageError{fmt.Errorf("nobody can have the id %q: %w", user, err)}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("nothing is left of %s: %w", oneLine(user), errNothing)
	}
	return found, err
}

// rowsOf is how many rows there are of a table, of all if it is "".
func rowsOf(traces []store.Trace, table string) (n int64) {
	for _, t := range traces {
		if table == "" || t.Table == table {
			n += t.Rows
		}
	}
	return n
}
