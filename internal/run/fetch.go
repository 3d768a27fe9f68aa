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
)

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
	if w.ahead.Walk != nil {
		w.cap = w.ahead.Walk.Cap
	}
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

// guarded runs a connector's function and makes a panic in it an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the connector panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
