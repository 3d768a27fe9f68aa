package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/outfile"
	"github.com/syncdhq/syncd/internal/store"
)

// An eraseRequest is what `syncd users erase` was asked for.
type eraseRequest struct {
	user    string
	yes     bool
	rewrite bool   // write an SQLite file anew
	again   bool   // that was asked for by name: also if no row is left
	receipt string // the file for it, if any
}

func (a *app) usersErase() *cobra.Command {
	var req eraseRequest
	var out output
	c := &cobra.Command{
		Use:   "erase USER",
		Short: "Erase every trace of a user",
		Long: `Erase every trace of a user: sources, cursors, records, rejects, changes, runs,
credentials, events and sessions, also what sources left that were removed before.
Tokens are given back where the provider can be told. It cannot be undone.

The user must not be in the configuration any more. One whose source is being run
is erased when that run has ended: try again then. An erasure that was cut goes on
when it is called again. The receipt says what was removed, and what cannot be
removed from here, such as backups. An SQLite file is written anew at the end,
since its free room can hold former versions of rows: that takes as much room as it
twice, and --rewrite=false leaves it out. With --rewrite it is also done where no
row is left: after an erasure that was cut at its very end.`,
		Example: `  syncd users erase alice                                  asks first
  syncd users erase alice --yes --receipt alice-erased.json
  syncd users erase alice --yes -o json`,
		Args: takes("USER"), ValidArgsFunction: a.completeStored,
		RunE: func(c *cobra.Command, args []string) error {
			if err := given(c, "receipt", req.receipt); err != nil {
				return err
			}
			req.user, req.again = args[0], req.rewrite && c.Flags().Changed("rewrite")
			return a.eraseUser(c.Context(), req, out)
		},
	}
	c.Flags().BoolVar(&req.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&req.rewrite, "rewrite", true, "write an SQLite file anew at the end")
	c.Flags().StringVar(&req.receipt, "receipt", "", "write the receipt to this `file` too, as JSON")
	out.flag(c)
	return c
}

// eraseUser checks that nothing stands in the way of an erasure before it
// begins. Once it has begun there is a receipt, whatever happens.
func (a *app) eraseUser(ctx context.Context, req eraseRequest, out output) error {
	cfg, s, err := a.look(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := declaredHere(cfg, req.user); err != nil {
		return err
	}
	found, err := tracesOf(ctx, s, req.user)
	if nothing := errors.Is(err, errNothing); err != nil && !(nothing && req.again) {
		return err
	}
	if !req.yes && len(found) > 0 {
		if err := a.sure(fmt.Sprintf("all of %s (%s, %s, %s in all)", oneLine(req.user),
			count(rowsOf(found, "sources"), "source"), count(rowsOf(found, "records"), "record"), count(rowsOf(found, ""), "row"))); err != nil {
			return err
		}
	}
	file, err := receiptFile(req.receipt)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Drop()
	}
	f := newFleet(s, newLog(a.Err, cfg.Log))
	defer f.close()
	if err := f.use(cfg); err != nil {
		return err
	}
	// What other users' credentials are sealed by does not matter here.
	f.openBook = func(ctx context.Context) (*account.Book, error) {
		keys, err := a.keyring(ctx, cfg, s)
		return &account.Book{Store: s, Keys: keys, Owner: owner()}, err
	}
	r, err := f.erase(ctx, req.user, req.rewrite)
	if r == nil {
		return err
	}
	err = errors.Join(err, out.print(a.Out, r, r.print))
	if file != nil {
		err = errors.Join(err, file.Write(func(w io.Writer) error { return (&output{"json"}).print(w, r, nil) }))
	}
	if err != nil && !r.Complete {
		err = fmt.Errorf("%w\n%s is not erased whole; call it again to go on", err, oneLine(req.user))
	}
	return err
}

// receiptFile makes room for a receipt, nil for none. Each is of one call.
func receiptFile(name string) (*outfile.File, error) {
	if name == "" {
		return nil, nil
	}
	file, err := outfile.Create("write the receipt", name, false)
	if errors.Is(err, fs.ErrExist) {
		err = usageError{fmt.Errorf("%w: each receipt is of one call, so name another file", err)}
	}
	return file, err
}

// declaredHere refuses a user whose sources the configuration has: the daemon
// would add them again.
func declaredHere(cfg *config.Config, user string) error {
	var lines []string
	for _, s := range cfg.Sources {
		if s.User == user {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", cfg.Path, s.Line, s.Column, keyOf(s)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s has %s in the configuration: take them out there first, or the daemon adds them again\n%s",
		oneLine(user), count(len(lines), "source"), strings.Join(lines, "\n"))
}

// standStill pauses the sources of a user, and reports the first that is being
// run all the same.
func standStill(ctx context.Context, s store.Store, user string) error {
	for row, err := range sourcesOf(ctx, s, store.SourceFilter{User: user}) {
		if err != nil {
			return err
		}
		if _, err := s.Pause(ctx, row.Key, store.PausedOperator); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	for row, err := range sourcesOf(ctx, s, store.SourceFilter{User: user}) {
		if err != nil {
			return err
		}
		if row.LeaseUntil.After(now) {
			return whenEnded(&store.LeasedError{Key: row.Key, Owner: row.Owner, Until: row.LeaseUntil})
		}
	}
	return nil
}

// whenEnded says what to do about a source that is being run.
func whenEnded(leased *store.LeasedError) error {
	return fmt.Errorf("%w: it is paused, so no other run begins; try again when this one has ended", leased)
}

// erase erases a user whom the configuration does not have. Once it has begun
// there is a receipt, beside an error as well; before, it is nil.
func (f *fleet) erase(ctx context.Context, user string, rewrite bool) (*receipt, error) {
	if err := standStill(ctx, f.store, user); err != nil {
		return nil, err
	}
	r := &receipt{
		User: user, Began: time.Now().UTC().Truncate(time.Second), By: fmt.Sprintf("syncd %s, %s", version(), operator()), Store: f.config().StoreName(),
		Removed: []store.Trace{}, Tokens: []givenBack{},
	}
	err := f.eraseRows(ctx, user, rewrite, r)
	if err != nil {
		r.Error = err.Error()
	}
	r.Ended = time.Now().UTC().Truncate(time.Second)
	r.Complete = err == nil
	return r, err
}

// eraseRows does it, and notes in the receipt how it goes.
func (f *fleet) eraseRows(ctx context.Context, user string, rewrite bool, r *receipt) error {
	s, removed := f.store, store.Tally{}
	err := f.giveAllBack(ctx, user, r, removed)
	var erased []store.Trace
	if err == nil {
		erased, err = s.Erase(ctx, user)
	}
	for _, t := range erased {
		removed.Add(t.Provider, t.Table, t.Rows)
	}
	r.Removed = append(r.Removed, removed.Traces()...)
	if leased, ok := errors.AsType[*store.LeasedError](err); ok {
		err = whenEnded(leased)
	}
	if err == nil {
		err = gone(ctx, s, user)
	}
	var left []string
	if err == nil {
		if left, err = s.Scrub(ctx, rewrite); err != nil {
			err = fmt.Errorf("no row is left, but bytes may be (--rewrite goes on with them): %w", err)
		}
	}
	r.Left = notRemoved(r, left)
	return err
}

// gone counts once more that nothing is left of a user.
func gone(ctx context.Context, s store.Users, user string) error {
	left, err := s.Traces(ctx, user)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s about %s came in the meantime", count(rowsOf(left, ""), "row"), oneLine(user))
	}
	return err
}
