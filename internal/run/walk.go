package run

import (
	"context"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
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
	cap     syncd.Mark // when the walk began by the provider's clock, once a page of it was not the last
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
	state := cursor.Begin(stored, stream, cursor.Options{Full: full, Settings: o.Source.Settings + stream.Settings, Now: o.At, Round: o.round})
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
				return w.sweep(ctx, last)
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
