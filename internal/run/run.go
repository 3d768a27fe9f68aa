// Package run brings one source up to date once. It holds the only loop over
// pages: stream by stream, part by part, page by page, the next page being
// fetched while the last one commits.
//
// It starts no run row and holds no lease of its own: the scheduler opened the
// one and keeps the other alive. Where it stops it can be gone on with, since
// every page commits with the cursor that follows from it.
package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
)

// A Runner runs sources. Use it from any number of goroutines.
type Runner struct {
	Store  store.Pages
	Writer *ingest.Writer
	Now    func() time.Time
}

// errStopped ends a run whose daemon shuts down or whose budget is used up.
var errStopped = errors.New("stopped")

// errTripped ends a run too much of which can't be ingested.
var errTripped = errors.New("too many rejects")

// errBroken ends a run whose provider answers nothing any more.
var errBroken = errors.New("too many walks failed in a row")

// Run does the job. It returns when the source is up to date, its budget is
// used up, ctx is cancelled (the lease is lost) or it has failed. The streams
// and parts after one that failed are still read.
func (r *Runner) Run(ctx context.Context, job Job) Result {
	one := &one{Runner: r, Job: job, began: r.Now(), start: map[place]string{}}
	err := one.streams(ctx)
	res := one.result(ctx, err)
	res.Counters, res.Pages, res.Input = one.counters, one.pages, one.input()
	res.Notes = one.notes
	res.Unchanged = res.State == store.Done && one.walks > 0 && one.walks == one.unchanged
	return res
}

// one is the state of one run.
type one struct {
	*Runner
	Job
	began     time.Time
	cursors   map[place]cursor.State
	start     map[place]string // the cursors as the run found them, of those it touched
	counters  store.Counters
	pages     int64
	walks     int
	unchanged int
	notes     []string
	inputs    []string
	failures  []error
	broken    int                 // walks that failed since the last that did not
	turns     map[place]time.Time // when the cursors were last committed
	round     time.Time           // when the round began that the run belongs to
	dated     time.Time           // by our clock, when the provider's was first seen
}

// A parker is an error that says until when to wait with the run.
type parker interface{ ParkUntil() time.Time }

func (o *one) result(ctx context.Context, err error) Result {
	var park parker
	switch {
	case err == nil && len(o.failures) == 0:
		return Result{State: store.Done}
	case err == nil, errors.Is(err, errBroken):
		return Result{State: store.Failed, Err: errors.Join(o.failures...)}
	case errors.Is(err, store.ErrLeaseLost) || errors.Is(context.Cause(ctx), store.ErrLeaseLost):
		o.noteFailures()
		return Result{State: store.Lost, Err: store.ErrLeaseLost}
	case errors.Is(err, errStopped):
		o.noteFailures()
		return Result{State: store.Partial}
	case errors.As(err, &park):
		o.noteFailures()
		o.note("%s", err)
		return Result{State: store.Parked, Until: park.ParkUntil()}
	}
	return Result{State: store.Failed, Err: errors.Join(append([]error{err}, o.failures...)...)}
}

// noteFailures tells what failed before a run ended for another reason.
func (o *one) noteFailures() {
	for _, err := range o.failures {
		line, _, _ := strings.Cut(err.Error(), "\n")
		o.note("%s", line)
	}
}

// stopped reports whether no more pages are to be fetched.
func (o *one) stopped() bool {
	b := o.Source.Budget
	return o.halted() || b.Pages > 0 && o.pages >= int64(b.Pages) || b.Time > 0 && o.Now().Sub(o.began) >= b.Time
}

// halted reports whether the daemon wants the run to end.
func (o *one) halted() bool {
	select {
	case <-o.Stop:
		return true
	default:
		return false
	}
}

// pagesLeft is how many more pages the budget allows.
func (o *one) pagesLeft() int {
	if o.Source.Budget.Pages == 0 {
		return math.MaxInt
	}
	return o.Source.Budget.Pages - int(o.pages)
}

// fetchContext is ctx, cancelled also when the run is to stop.
func (o *one) fetchContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.Stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stopError returns errStopped for a fetch that ended because the run is to stop.
func (o *one) stopError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStopped) {
		return errStopped
	}
	return err
}

func (o *one) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !slices.Contains(o.notes, line) && len(o.notes) < 50 {
		o.notes = append(o.notes, line)
	}
}

// input is the run's fingerprint of its input: of files their checksum, of
// everything else the range of the cursors.
func (o *one) input() string {
	const most = 10
	if n := len(o.inputs); n > most {
		return strings.Join(o.inputs[:most], "; ") + fmt.Sprintf("; and %d more", n-most)
	}
	return strings.Join(o.inputs, "; ")
}
