package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
)

// maxResync is how often a walk may be sent back to its start.
const maxResync = 3

// A walk is one pass over a stream or a part of it, fetching ahead.
type walk struct {
	*one
	stream  syncd.Stream
	at      place
	guard   *cursor.Guard
	listing *ingest.Listing // what was listed, where absence matters
	fresh   bool            // nothing of it was stored when it began
	began   time.Time

	load *load // of the pages that were fetched and are not committed yet

	// The fetcher's side: where the pages fetched so far have led.
	ahead   cursor.State
	seen    ingest.Seen
	dropped bool // a refused token was dropped already
	resyncs int
}

// A leg is one fetched page on its way to be committed.
type leg struct {
	batch   ingest.Batch
	state   cursor.State
	step    cursor.Step
	notes   []string
	print   string // the page's fingerprint
	restart bool   // the walk starts over: nothing to commit but the cursor
	resync  bool   // and lists everything anew
	err     error
}

// sweeps reports whether the stream's records may be deleted by absence.
func (w *walk) sweeps() bool {
	return w.Source.MarkMissing && !w.stream.Append && !w.stream.Increments
}

// bytes is about how much memory a leg takes.
func (l leg) bytes() int64 {
	n := 0
	for _, in := range l.batch.Rows {
		n += len(in.Data) + len(in.ID) + 64
	}
	for _, r := range l.batch.Rejects {
		n += len(r.Raw) + 256
	}
	return int64(n)
}

// walk reads one stream or part from its cursor to the end.
func (o *one) walk(ctx context.Context, stream syncd.Stream, at place) error {
	if o.stopped() {
		return errStopped
	}
	stored := o.cursors[at]
	full := o.Full && stored.FullAt.Before(o.FullDue)
	state := cursor.Begin(stored, stream, cursor.Options{Full: full, Settings: o.Source.Settings, Now: o.At})
	if _, ok := o.start[at]; !ok {
		o.start[at] = stored.String()
	}
	empty, err := o.Store.Empty(ctx, o.Lease.Key, ingest.Prefix(at.stream, at.part))
	if err != nil {
		return err
	}
	w := &walk{one: o, stream: stream, at: at, guard: cursor.NewGuard(), load: newLoad(), ahead: state, fresh: empty, began: state.Walk.Began}
	if w.sweeps() && (stream.Snapshot || state.Walk.Full) {
		w.listing = ingest.NewListing()
	}
	o.walks++
	return w.pages(ctx, state)
}

// Pages that wait for their commit go in together, up to foldRows records: each
// transaction has its price. Of those fetched ahead at most about aheadBytes
// are held in memory, and one page more.
const (
	foldRows   = 3000
	aheadPages = 4
	aheadBytes = 4 << 20
)

// pages fetches and commits page after page. One goroutine fetches ahead of the
// commits.
func (w *walk) pages(ctx context.Context, state cursor.State) error {
	base := state.Watermark
	fetchCtx, cancel := w.fetchContext(ctx)
	legs := make(chan leg, aheadPages)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(legs)
		w.fetch(fetchCtx, legs)
	}()
	defer func() { cancel(); <-ended }()
	for first := range legs {
		group, then := gather(first, legs, w.pagesLeft())
		if len(group) > 0 {
			if err := w.commit(ctx, group); err != nil {
				return err
			}
			if last := group[len(group)-1]; last.step.Done {
				w.input(last, base)
				return w.sweep(ctx, last.step)
			}
		}
		if then != nil {
			return w.stopError(fetchCtx, then.err)
		}
		if w.stopped() {
			return errStopped
		}
	}
	if w.stopped() {
		return errStopped
	}
	return context.Cause(fetchCtx)
}

// gather takes what was fetched already and can be committed with first, up to
// most legs. then is the leg that ended the fetching with an error, if it came
// to that.
func gather(first leg, legs <-chan leg, most int) (group []leg, then *leg) {
	rows := 0
	for l := first; ; {
		if l.err != nil {
			return group, &l
		}
		group = append(group, l)
		rows += len(l.batch.Rows)
		if l.step.Done || l.step.Broken || l.restart || rows >= foldRows || len(group) >= most {
			return group, nil
		}
		var ok bool
		select {
		case l, ok = <-legs:
			if !ok {
				return group, nil
			}
		default:
			return group, nil
		}
	}
}

// fetch sends legs until the walk ends, fails or ctx is cancelled.
func (w *walk) fetch(ctx context.Context, legs chan<- leg) {
	for w.load.wait(ctx) && !w.halted() {
		l := w.leg(ctx)
		w.load.add(l.bytes())
		select {
		case legs <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil || l.step.Done {
			return
		}
	}
}

// leg fetches one page and works out what follows from it.
func (w *walk) leg(ctx context.Context) leg {
	req := cursor.Next(w.ahead, w.at.part)
	if err := w.guard.Request(req); err != nil {
		return leg{err: err}
	}
	asked := w.Now()
	var page syncd.Page
	err := guarded(func() (err error) {
		page, err = w.stream.Fetch(ctx, req)
		return err
	})
	if err != nil {
		return w.refused(req, err)
	}
	if err := w.guard.Page(req, page); err != nil {
		return leg{err: err}
	}
	batch := ingest.Prepare(w.stream, w.at.part, page.Records, w.seen, asked)
	// What moved here from the page before says nothing about the order.
	page.Records = w.seen.Unseen(w.stream, w.at.part, page.Records)
	w.seen = batch.Remember()
	if w.listing != nil {
		w.listing.Add(batch)
	}
	step := cursor.Advance(w.ahead, w.stream, page, syncd.At(w.providerTime(asked)), len(batch.Rejects) > 0)
	w.ahead = step.State
	if step.Broken {
		w.guard.Reset()
		w.seen = nil
	}
	return leg{batch: batch, state: step.State, step: step, notes: page.Notes, print: page.Fingerprint}
}

// providerTime is the provider's clock if it has told, else ours. It is what the
// provider told first and the time that has passed since then, and never later
// than its clock.
func (w *walk) providerTime(ours time.Time) time.Time {
	if w.Source.Wire == nil {
		return ours
	}
	d := w.Source.Wire.Date()
	if d.IsZero() {
		return ours
	}
	if w.dated.IsZero() {
		w.dated = w.Now()
	}
	return d.Add(max(ours.Sub(w.dated), 0))
}

// refused answers an error of Fetch: some are the way that a provider says
// something, and the walk goes on or ends well.
func (w *walk) refused(req syncd.Request, err error) leg {
	var answer *syncd.HTTPError
	switch {
	case errors.Is(err, syncd.ErrNotModified):
		w.ahead = cursor.Unchanged(w.ahead)
		return leg{state: w.ahead, step: cursor.Step{Done: true, State: w.ahead}, restart: true, notes: []string{w.at.String() + ": unchanged"}}
	case errors.Is(err, syncd.ErrResync) && w.resyncs < maxResync:
		w.resyncs++
		w.ahead = cursor.Resync(w.ahead)
		if w.sweeps() {
			w.listing = ingest.NewListing()
		}
		l := w.again(fmt.Sprintf("%s: read from the start: %v", w.at, err))
		l.resync = true
		return l
	case errors.As(err, &answer) && req.Page != "" && !w.dropped && refusesToken(answer.Status):
		w.dropped = true
		w.ahead = cursor.Restart(w.ahead)
		return w.again(fmt.Sprintf("%s: the provider no longer accepts the page token (%d), the list was read again", w.at, answer.Status))
	}
	return leg{err: err}
}

func refusesToken(status int) bool {
	return status == 400 || status == 404 || status == 410 || status == 422
}

func (w *walk) again(note string) leg {
	w.guard.Reset()
	w.seen = nil
	return leg{state: w.ahead, step: cursor.Step{State: w.ahead}, restart: true, notes: []string{note}}
}

// commit writes legs with the cursor that follows from the last, and ends the
// run where too much of them can't be ingested.
func (w *walk) commit(ctx context.Context, group []leg) error {
	batches := make([]ingest.Batch, len(group))
	pages, size, print := int64(0), int64(0), ""
	for i, l := range group {
		batches[i] = l.batch
		size += l.bytes()
		print = l.print
		if !l.restart {
			pages++
		}
	}
	batch, state := ingest.Merge(w.stream, batches), group[len(group)-1].state
	cursors := []store.Cursor{w.cursor(w.at, state.String(), state.Watermark)}
	tripped := w.tripped(batch)
	if tripped {
		cursors = w.rewind()
	}
	counters, err := w.Writer.Commit(ctx, w.Lease, ingest.Commit{
		Stream: w.stream, Part: w.at.part, Batch: batch, Cursors: cursors, Fresh: w.fresh,
		Progress: store.Progress{RunID: w.RunID, Pages: pages, Input: print},
	})
	if err != nil {
		return err
	}
	w.load.add(-size)
	w.counters = w.counters.Add(counters)
	w.one.pages += pages
	w.cursors[w.at] = state
	for _, l := range group {
		w.remark(l)
		if l.resync {
			// What is stored by now will be listed again, or is gone.
			w.began = w.At.Add(w.Now().Sub(w.one.began))
		}
	}
	if w.OnPage != nil {
		w.OnPage(Event{w.at.stream, w.at.part, w.one.pages, w.counters})
	}
	if tripped {
		return fmt.Errorf("%w: %d of %d records can't be ingested, so the run was ended and its cursors were put back (see: syncd rejects list)",
			errTripped, w.counters.Rejected, w.counters.Records())
	}
	return nil
}

// A run whose records can't be ingested ends rather than leaving the provider's
// change of format behind it: above minTrip rejects and the allowed share.
const minTrip = 100

func (w *walk) tripped(b ingest.Batch) bool {
	rejected := w.counters.Rejected + int64(len(b.Rejects))
	all := w.counters.Records() + int64(len(b.Rejects)+len(b.Rows))
	return rejected > minTrip && rejected*100 > all*int64(w.Source.MaxRejects)
}

// rewind returns the cursors as the run found them, of all that it touched.
func (w *walk) rewind() []store.Cursor {
	var out []store.Cursor
	for at, text := range w.start {
		state, err := cursor.Parse(text)
		if err != nil {
			continue // it was written by State.String
		}
		out = append(out, w.cursor(at, text, state.Watermark))
	}
	return out
}

func (o *one) cursor(at place, state string, watermark syncd.Mark) store.Cursor {
	return store.Cursor{Stream: at.stream, Part: at.part, Watermark: int64(watermark), State: state, RunID: o.RunID}
}

// remark notes what an operator should know of a page.
func (w *walk) remark(l leg) {
	for _, n := range l.notes {
		w.note("%s", n)
	}
	if l.restart && l.step.Done {
		w.one.unchanged++
	}
	if l.step.Broken {
		w.note("%s: records did not come in %s order as the connector promises, the list was read by its tokens", w.at, w.stream.Order)
	}
	if l.step.Future > 0 {
		w.note("%s: %d records are dated in the future", w.at, l.step.Future)
	}
}

// input records what the walk read, for the run log.
func (w *walk) input(l leg, base syncd.Mark) {
	switch {
	case l.print != "":
		w.inputs = append(w.inputs, l.print)
	case l.restart: // unchanged
	case base == l.state.Watermark:
		w.inputs = append(w.inputs, fmt.Sprintf("%s at %s", w.at, orStart(base, w.stream)))
	default:
		w.inputs = append(w.inputs, fmt.Sprintf("%s %s..%s", w.at, orStart(base, w.stream), l.state.Watermark.Format(w.stream.Sequence)))
	}
}

func orStart(m syncd.Mark, stream syncd.Stream) string {
	if m == 0 {
		return "start"
	}
	return m.Format(stream.Sequence)
}

// sweep deletes by absence what the walk has proved to be gone.
func (w *walk) sweep(ctx context.Context, step cursor.Step) error {
	if w.listing == nil || !step.Proved {
		return nil
	}
	swept, err := w.Writer.Sweep(ctx, w.Lease, ingest.Sweep{
		Stream: w.stream, Part: w.at.part, Listing: w.listing, Began: w.began, RunID: w.RunID,
		MaxShare: w.Source.MaxMissing, Confirm: w.Confirm, AllowEmpty: w.Source.AllowEmpty,
	})
	w.counters = w.counters.Add(swept.Counters)
	if err != nil {
		return err
	}
	if swept.Held {
		w.note("%s: the listing lacks %d of the %d stored records, more than %d %%: nothing was deleted. If that is right: syncd sync %s --full --allow-deletes",
			w.at, swept.Absent, swept.Stored, w.Source.MaxMissing, w.Lease.Key)
	}
	return nil
}

// guarded runs a connector's function and makes a panic in it an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the connector panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
