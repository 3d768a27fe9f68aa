// Package cursor holds the rules by which streams are read: where a walk
// starts, what to ask next, when the watermark moves, and when a walk has gone
// wrong. It is pure: no I/O, no clock; every function is of its arguments.
//
// The invariants:
//
//   - Every change with a mark up to State.Watermark (less the stream's
//     overlap) has been committed. Only Advance moves it.
//   - A walk under way is described by State.Walk alone, so that any daemon can
//     go on with it from the last committed page.
//   - Since is inclusive and never later than what has been seen.
package cursor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/syncdhq/syncd"
)

// State is the cursor of one stream, or of one part of it. The zero State has
// read nothing. It is stored as JSON, byte for byte.
type State struct {
	Watermark syncd.Mark `json:"watermark,omitempty"`
	Sync      string     `json:"sync,omitempty"`     // the provider's token for the next walk
	Version   int        `json:"version,omitempty"`  // of the stream, when it was read
	Settings  string     `json:"settings,omitempty"` // fingerprint of the options it was read under
	FullAt    time.Time  `json:"full_at,omitzero"`   // when the last finished walk over everything began
	Round     time.Time  `json:"round,omitzero"`     // when the round began in which it was walked last
	Walk      *Walk      `json:"walk,omitempty"`     // under way
}

// A Walk is one pass over a stream.
type Walk struct {
	Began    time.Time  `json:"began"`              // by the database's clock
	Cap      syncd.Mark `json:"cap,omitempty"`      // when its first page was asked for, by the provider's clock
	Full     bool       `json:"full,omitempty"`     // it reads everything there is
	Base     syncd.Mark `json:"base,omitempty"`     // the watermark when it began
	Since    syncd.Mark `json:"since,omitempty"`    // lower bound of the list being followed
	Page     string     `json:"page,omitempty"`     // token of the next page
	High     syncd.Mark `json:"high,omitempty"`     // the highest mark seen, at most Cap
	Last     syncd.Mark `json:"last,omitempty"`     // the mark seen last, for the promise of order
	Unsorted bool       `json:"unsorted,omitempty"` // the promise of order was broken

	// Why what the walk does not list may be there all the same.
	Cut     bool `json:"cut,omitempty"`     // it was broken off and went on later
	Partial bool `json:"partial,omitempty"` // records were set aside
	Changed bool `json:"changed,omitempty"` // the settings are not those of the walk before

	Again bool `json:"again,omitempty"` // it has ended, but its deletions are owed: another follows from the start

	Resync bool `json:"resync,omitempty"` // the provider asked for it, or deletions were owed: they were told nowhere else
}

// Parse reads a stored State. The empty text is the zero State.
func Parse(text string) (State, error) {
	var s State
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("stored cursor: %w", err)
	}
	return s, nil
}

// String returns the State as it is stored.
func (s State) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of texts, numbers and times
	}
	return string(b)
}

// Options are what a walk is begun with.
type Options struct {
	Full     bool      // read everything, whatever the watermark
	Settings string    // fingerprint of what decides the content of the list
	Now      time.Time // the database's clock
	Round    time.Time // when the round began that the walk belongs to: one pass over all of a source
}

// Begin returns the state with a walk under way: the one that was cut, or a
// new one. A new version of the stream or other settings read everything anew.
func Begin(s State, stream syncd.Stream, o Options) State {
	fresh := s.Version == 0 && s.Settings == "" && s.Watermark == 0 && s.Walk == nil && s.FullAt.IsZero()
	changed := !fresh && s.Settings != o.Settings
	if changed || !fresh && s.Version != stream.Version {
		s = State{}
	}
	s.Version, s.Settings, s.Round = stream.Version, o.Settings, o.Round
	again := s.Walk != nil && s.Walk.Again
	if s.Walk != nil && !again && (s.Walk.Full || !o.Full) {
		w := *s.Walk
		w.Cut = true // what moved in between was not seen
		s.Walk = &w
		return s
	}
	s.Walk = &Walk{
		Began:   o.Now,
		Full:    o.Full || again || s.Watermark == 0 && s.Sync == "",
		Base:    s.Watermark,
		Changed: changed,
		Resync:  again,
	}
	s.Walk.Since = start(s, stream)
	return s
}

// start returns the lower bound of a walk's first request.
func start(s State, stream syncd.Stream) syncd.Mark {
	if s.Walk.Full || stream.Snapshot {
		return 0
	}
	return floor(max(s.Walk.Base-syncd.Mark(stream.Overlap), 0), stream)
}

// floor rounds a bound towards the past, to what the provider's filter can tell apart.
func floor(m syncd.Mark, stream syncd.Stream) syncd.Mark {
	if p := syncd.Mark(stream.Precision); p > 1 && !stream.Sequence {
		return m - m%p
	}
	return m
}

// Next returns the request that goes on with the walk under way.
func Next(s State, part string) syncd.Request {
	req := syncd.Request{Part: part, Since: s.Walk.Since, Page: s.Walk.Page}
	if !s.Walk.Full {
		req.Sync = s.Sync
	}
	return req
}

// Restart drops the token of the page at hand, which the provider refused, and
// goes back to where the list that it continued began.
func Restart(s State) State {
	w := *s.Walk
	w.Page, w.Last = "", 0
	s.Walk = &w
	return s
}

// Resync answers ErrResync: the walk starts over and reads everything, so that
// it is whole again, whatever it was before.
func Resync(s State) State {
	w := *s.Walk
	s.Sync = ""
	w.Full, w.Since, w.Page, w.Last = true, 0, "", 0
	w.Cut, w.Partial, w.Resync = false, false, true
	s.Walk = &w
	return s
}

// Unchanged ends the walk as one that found nothing new. What the provider owes
// since it asked for everything to be read anew, it still owes.
func Unchanged(s State) State {
	if s.Walk.Resync {
		s.Walk = s.Walk.owing()
		return s
	}
	s.Walk = nil
	return s
}

// owing is a walk that has ended while its deletions are owed: another follows
// it from the start.
func (w *Walk) owing() *Walk { return &Walk{Began: w.Began, Full: true, Again: true} }

// proves reports whether the walk's end proves that what it did not list is gone.
func (w *Walk) proves(stream syncd.Stream) bool {
	return (w.Full || stream.Snapshot) && !stream.Append && !stream.Increments && !w.Cut && !w.Partial && !w.Changed
}
