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
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
)

// A Source is what is run, as the configuration has it.
type Source struct {
	Key         store.Key
	Streams     []syncd.Stream
	Settings    string // fingerprint of what decides the content of the lists
	MarkMissing bool   // mark as deleted what a complete listing lacks
	MaxMissing  int    // percent of the stored records that may go so without an operator's word
	AllowEmpty  bool   // a complete listing of nothing is to be believed
	MaxRejects  int    // percent of a run's records that may be set aside before it is ended
	Budget      Budget
	Wire        Wire
}

// A Budget ends long runs, to be gone on with in their turn. Zero is no limit.
type Budget struct {
	Time  time.Duration
	Pages int
}

// A Wire knows of the requests of the run. Nil is allowed.
type Wire interface {
	Date() time.Time // the provider's clock at its first answer; zero if it has not told
	Requests() int64 // sent so far
}

// A Job is one run to be done.
type Job struct {
	Source  Source
	Lease   store.Lease
	RunID   string
	At      time.Time // now, by the database's clock
	Full    bool      // read everything of each stream that was not read so since FullDue
	FullDue time.Time
	Stream  string          // only this stream; "" is all
	Confirm bool            // an operator allows any number of deletes by absence
	Stop    <-chan struct{} // closed: fetch no more pages, commit the one in hand
	OnPage  func(Event)     // called after each commit; nil is allowed
}

// An Event is what a page added, for progress bars.
type Event struct {
	Stream, Part string
	Pages        int64
	Counters     store.Counters
}

// A Result is how a run ended.
type Result struct {
	State     string // done, partial, parked, failed or lost
	Err       error  // of failed and lost
	Until     time.Time
	Notes     []string
	Input     string
	Counters  store.Counters
	Pages     int64
	Unchanged bool // every stream said that there is nothing new
}

// A Runner runs sources. Use it from any number of goroutines.
type Runner struct {
	Store  store.Pages
	Writer *ingest.Writer
	Now    func() time.Time
	Log    *slog.Logger
}

// errStopped ends a run whose daemon shuts down or whose budget is used up.
var errStopped = errors.New("stopped")

// errTripped ends a run too much of which can't be ingested.
var errTripped = errors.New("too many rejects")

// errBroken ends a run whose provider answers nothing any more.
var errBroken = errors.New("too many walks failed in a row")

// maxBroken is how many walks in a row may fail before the run gives up on the
// rest. Those that the provider refused do not count: it is there.
const maxBroken = 3

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
	dated     time.Time           // by our clock, when the provider's was first seen
}

// A place is where a cursor stands.
type place struct{ stream, part string }

func (p place) String() string {
	if p.part == "" {
		return p.stream
	}
	return p.stream + "/" + p.part
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

// streams reads the source's streams in turn: those first whose turn is longest
// ago, so that a budget or a quota that never lasts for all reaches all.
func (o *one) streams(ctx context.Context) error {
	stored, err := o.Store.Cursors(ctx, o.Lease.Key)
	if err != nil {
		return err
	}
	o.cursors, o.turns = map[place]cursor.State{}, map[place]time.Time{}
	oldest := map[string]time.Time{}
	for _, c := range stored {
		at := place{c.Stream, c.Part}
		if o.cursors[at], err = cursor.Parse(c.State); err != nil {
			return fmt.Errorf("%s: %w", c.Stream, err)
		}
		o.turns[at] = c.UpdatedAt
		if t, ok := oldest[c.Stream]; !ok || c.UpdatedAt.Before(t) {
			oldest[c.Stream] = c.UpdatedAt
		}
	}
	streams := slices.Clone(o.Source.Streams)
	slices.SortStableFunc(streams, func(x, y syncd.Stream) int { return oldest[x.Name].Compare(oldest[y.Name]) })
	for _, stream := range streams {
		if o.Stream != "" && o.Stream != stream.Name {
			continue
		}
		if err := o.stream(ctx, stream); err != nil {
			return err
		}
	}
	return nil
}

// stream reads the parts of a stream in turn.
func (o *one) stream(ctx context.Context, stream syncd.Stream) error {
	parts, err := o.parts(ctx, stream)
	if err != nil {
		return o.failed(ctx, place{stream: stream.Name}, err)
	}
	slices.SortStableFunc(parts, func(x, y string) int {
		return o.turns[place{stream.Name, x}].Compare(o.turns[place{stream.Name, y}])
	})
	for _, part := range parts {
		at := place{stream.Name, part}
		err := o.walk(ctx, stream, at)
		if err == nil {
			o.broken = 0
			continue
		}
		if err := o.failed(ctx, at, err); err != nil {
			return err
		}
		if err := o.pass(ctx, stream, at, err); err != nil {
			return err
		}
	}
	return nil
}

// pass gives the turn of a walk that failed to the others, and ends the run if
// too many failed.
func (o *one) pass(ctx context.Context, stream syncd.Stream, at place, err error) error {
	state := o.cursors[at]
	_, lost := o.Writer.Commit(ctx, o.Lease, ingest.Commit{
		Stream: stream, Part: at.part, Progress: store.Progress{RunID: o.RunID},
		Cursors: []store.Cursor{o.cursor(at, state.String(), state.Watermark)},
	})
	if lost != nil {
		return lost
	}
	if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status/100 == 4 {
		return nil
	}
	if o.broken++; o.broken >= maxBroken {
		return errBroken
	}
	return nil
}

// parts returns the parts of a stream; a stream that is one list has the part "".
func (o *one) parts(ctx context.Context, stream syncd.Stream) ([]string, error) {
	if stream.Parts == nil {
		return []string{""}, nil
	}
	if o.stopped() {
		return nil, errStopped
	}
	fetchCtx, cancel := o.fetchContext(ctx)
	defer cancel()
	var parts []string
	err := guarded(func() (err error) {
		parts, err = stream.Parts(fetchCtx)
		return err
	})
	if err != nil {
		return nil, o.stopError(fetchCtx, err)
	}
	for _, part := range parts {
		if part == "" || strings.ContainsAny(part, "/\x00") || len(part) > 256 {
			return nil, fmt.Errorf("part %q: a part is named by 1 to 256 bytes without a slash", part)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts), nil
}

// failed keeps an error for the end if the rest of the run can go on without
// what failed, and returns it if not.
func (o *one) failed(ctx context.Context, at place, err error) error {
	var park parker
	var refused *syncd.HTTPError
	switch {
	case ctx.Err() != nil, errors.Is(err, errStopped), errors.Is(err, errTripped), errors.As(err, &park), isStore(err):
		return err
	case errors.As(err, &refused) && refused.Status == 401:
		return fmt.Errorf("%s: %w (check the source's credentials)", at, err)
	}
	o.failures = append(o.failures, fmt.Errorf("%s: %w", at, err))
	return nil
}

func isStore(err error) bool {
	return errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnreachable)
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
