package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

// A syncRequest is what `syncd sync` was asked for.
type syncRequest struct {
	key     store.Key
	stream  string
	full    bool
	dry     bool
	confirm bool
	record  string // the file to record in, if any
	force   bool   // overwrite it
}

// A syncReport is what `syncd sync` did, for programs.
type syncReport struct {
	User     string         `json:"user"`
	Provider string         `json:"provider"`
	Run      string         `json:"run,omitempty"`
	DryRun   bool           `json:"dry_run,omitempty"`
	State    string         `json:"state"`
	Counters store.Counters `json:"counters"`
	Pages    int64          `json:"pages"`
	Input    string         `json:"input_fingerprint,omitempty"`
	Until    *time.Time     `json:"until,omitempty"`
	Error    string         `json:"error,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
}

func (a *app) syncCommand() *cobra.Command {
	var req syncRequest
	var out output
	c := &cobra.Command{
		Use:   "sync USER PROVIDER",
		Short: "Bring one source up to date now",
		Long: `Bring one source up to date now, whatever its schedule says, and watch it.

It is safe at any time, beside a running daemon as well: a source is run by one
at a time, and what is there already is not inserted again.`,
		Example: `  syncd sync alice github                     what changed since the last run
  syncd sync alice github --stream issues     of one stream only
  syncd sync alice github --full              read everything once more
  syncd sync acme orders --dry-run            fetch and check, write nothing
  syncd sync acme orders --full --allow-deletes
                                              believe a listing that lacks many records
  syncd sync alice github --full --dry-run --record github.json
                                              keep what was asked and answered, without secrets`,
		Args:              takes("USER", "PROVIDER"),
		ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			req.key = store.Key{User: args[0], Provider: args[1]}
			if req.force && req.record == "" {
				return usageError{errors.New("--force is for --record FILE, which is missing")}
			}
			return a.sync(c.Context(), req, out)
		},
	}
	c.Flags().StringVar(&req.stream, "stream", "", "read this `stream` only")
	c.Flags().BoolVar(&req.full, "full", false, "read everything, not only what changed")
	c.Flags().BoolVar(&req.dry, "dry-run", false, "fetch and check everything, but write nothing")
	c.Flags().BoolVar(&req.confirm, "allow-deletes", false, "delete what a complete listing lacks, however much it is")
	c.Flags().StringVar(&req.record, "record", "", "write what was asked and answered to this `file`, without secrets, for tests to replay")
	c.Flags().BoolVar(&req.force, "force", false, "overwrite the file of --record")
	out.flag(c)
	return c
}

func (a *app) sync(ctx context.Context, req syncRequest, out output) error {
	return a.withFleet(ctx, func(f *fleet) error { return a.syncOne(ctx, f, req, out) })
}

func (a *app) syncOne(ctx context.Context, f *fleet, req syncRequest, out output) error {
	cfg := f.config()
	src, err := find(ctx, cfg, f.store, req.key)
	if err != nil {
		return err
	}
	if err := checkStream(src, req.stream); err != nil {
		return err
	}
	rec, err := newTape(ctx, f, src, req.record, req.force)
	if err != nil {
		return err
	}
	defer rec.drop()
	res, runID, err := a.syncNow(ctx, cfg, f, src, req)
	recorded := rec.end(&res)
	if err != nil {
		for _, note := range res.Notes {
			fmt.Fprintln(a.Err, oneLine(note))
		}
		return worse(err, recorded)
	}
	return worse(a.reportSync(req, runID, res, out), recorded)
}

// checkStream refuses a stream that the source does not have.
func checkStream(src *config.Source, name string) error {
	if name == "" {
		return nil
	}
	names, err := streamNames(src)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	return usageError{fmt.Errorf("source %s %s has no stream %q: it has %v", src.User, src.Provider, name, names)}
}

// syncNow runs the source under its lease, as the daemon would.
func (a *app) syncNow(ctx context.Context, cfg *config.Config, f *fleet, src *config.Source, req syncRequest) (run.Result, string, error) {
	if err := ensure(ctx, f.store, src); err != nil {
		return run.Result{}, "", err
	}
	h, err := a.takeHold(ctx, f, cfg, req.key)
	if err != nil {
		return run.Result{}, "", err
	}
	defer h.release()
	var res run.Result
	f.report = func(_ store.Key, r run.Result, _ time.Duration) { res = r }
	bar, done := a.progress(req.key)
	f.onPage = bar
	defer done()
	job := run.Job{
		Lease: h.claim.Lease, At: h.claim.Now, Full: req.full, FullDue: h.claim.Now,
		Stream: req.stream, Confirm: req.confirm, Stop: h.stop,
	}
	if req.dry {
		f.store = dryStore{f.store}
		kept, done := h.sched.Keeper.Keep(h.ctx, h.claim.Lease, h.taken)
		defer done()
		f.run(kept, cfg, src, h.claim.Account, job)
		return res, "", f.store.Release(h.ctx, h.claim.Lease)
	}
	// The schedule of full walks counts one only if it was of all streams.
	plan := scheduler.Plan{Full: req.full && req.stream == "" && src.Full != nil}
	row, err := h.run(src, plan, req.full, func(ctx context.Context, task scheduler.Task) scheduler.Result {
		job.RunID = task.Run.ID
		return f.run(ctx, cfg, src, h.claim.Account, job)
	})
	return res, row.ID, err
}

// ensure makes sure that the store knows the source, without touching others.
func ensure(ctx context.Context, s store.Store, src *config.Source) error {
	key := keyOf(src)
	known, err := s.Sources(ctx, store.SourceFilter{User: key.User, Provider: key.Provider, Limit: 1})
	if err != nil || len(known) > 0 {
		return err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	return s.Add(ctx, specOf(src, now))
}

// progress returns what shows a run's pages on a terminal, and its end.
func (a *app) progress(key store.Key) (onPage func(run.Event), done func()) {
	if !isTerminal(a.Err) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.Err), progressbar.OptionSetDescription(key.String()),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("records"),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSpinnerType(14))
	return func(e run.Event) {
		at := e.Stream
		if e.Part != "" {
			at += "/" + e.Part
		}
		bar.Describe(fmt.Sprintf("%s, %s: page %d", key, at, e.Pages))
		bar.Set64(e.Counters.Records())
	}, func() { bar.Finish() }
}

// reportSync says what was done.
func (a *app) reportSync(req syncRequest, runID string, res run.Result, out output) error {
	r := syncReport{
		User: req.key.User, Provider: req.key.Provider, Run: runID, DryRun: req.dry, State: res.State,
		Counters: res.Counters, Pages: res.Pages, Input: res.Input, Notes: res.Notes,
	}
	if !res.Until.IsZero() {
		r.Until = &res.Until
	}
	if res.Err != nil {
		r.Error = res.Err.Error()
	}
	err := out.print(a.Out, r, func(w io.Writer) {
		said := summary(res)
		switch res.State {
		case store.Failed, store.Lost:
			said = res.State + " after " + said
		case store.Partial, store.Parked:
			said += ", " + sentence(res)
		}
		if req.dry {
			said += " (a dry run: nothing was written)"
		}
		fmt.Fprintf(w, "%s: %s\n", oneLine(req.key.String()), said)
		for _, note := range res.Notes {
			fmt.Fprintf(w, "  %s\n", oneLine(note))
		}
		if res.Counters.Rejected > 0 && !req.dry {
			fmt.Fprintf(w, "  see: syncd rejects list %s\n", oneLine(req.key.String()))
		}
	})
	switch {
	case err != nil:
		return err
	case res.State == store.Failed || res.State == store.Lost:
		return fmt.Errorf("sync %s: %w", req.key, res.Err)
	case res.Counters.Rejected > 0:
		return errRejected
	}
	return nil
}
