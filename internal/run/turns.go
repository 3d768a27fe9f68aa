package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
)

// maxBroken is how many walks in a row may fail before the run gives up on the
// rest. Those that the provider refused do not count: it is there.
const maxBroken = 3

// A place is where a cursor stands.
type place struct{ stream, part string }

func (p place) String() string {
	if p.part == "" {
		return p.stream
	}
	return p.stream + "/" + p.part
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
	o.round = o.At
	if o.Continue {
		o.round = o.newestRound()
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

// newestRound is the round that the runs before were in; this run begins one if
// there was none.
func (o *one) newestRound() time.Time {
	var newest time.Time
	for _, s := range o.cursors {
		if s.Round.After(newest) {
			newest = s.Round
		}
	}
	if newest.IsZero() {
		return o.At
	}
	return newest
}

// walked reports whether a run before has walked the place in this round.
func (o *one) walked(at place) bool {
	s := o.cursors[at]
	fullDue := o.Full && s.FullAt.Before(o.FullDue)
	return o.Continue && s.Walk == nil && s.Round.Equal(o.round) && !fullDue
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
		if o.walked(at) {
			continue
		}
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
