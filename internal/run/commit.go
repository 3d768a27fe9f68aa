package run

import (
	"context"
	"fmt"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
)

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
	last := group[len(group)-1]
	batch, state := ingest.Merge(w.stream, batches), last.state
	if w.sweepsAfter(last.step) {
		state = last.step.Unswept
	}
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
	if l.step.Owed && w.sweeps() {
		w.note("%s: everything had to be read anew, and that was not whole: what the provider deleted meanwhile is not known until everything is read again: syncd sync %s --full", w.at, w.Lease.Key)
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

// sweepsAfter reports whether the walk deletes by absence after a step.
func (w *walk) sweepsAfter(step cursor.Step) bool { return w.sweeps() && step.Proved }

// sweep deletes by absence what the walk has proved to be gone, and then says
// in the cursor that it has been done.
func (w *walk) sweep(ctx context.Context, last leg) error {
	if !w.sweepsAfter(last.step) {
		return nil
	}
	if err := w.deleteAbsent(ctx); err != nil {
		return err
	}
	_, err := w.Writer.Commit(ctx, w.Lease, ingest.Commit{
		Stream: w.stream, Part: w.at.part, Cursors: []store.Cursor{w.cursor(w.at, last.state.String(), last.state.Watermark)},
		Progress: store.Progress{RunID: w.RunID},
	})
	if err == nil {
		w.cursors[w.at] = last.state
	}
	return err
}

func (w *walk) deleteAbsent(ctx context.Context) error {
	if w.stream.Order == syncd.Descending {
		settled, err := w.lookAtTop(ctx)
		if err != nil {
			return err
		}
		if !settled {
			w.note("%s: the list changes faster than it can be read, so nothing was deleted by its absence", w.at)
			return nil
		}
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
