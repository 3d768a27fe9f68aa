package transport

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/syncdhq/syncd"
)

// A WaitError says that a run is to be given up until a time and then taken up
// again: the wait is too long to be sat out. It is not a failure.
type WaitError struct {
	Until time.Time
	Why   string
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("wait until %s: %s", e.Until.UTC().Format(time.RFC3339), e.Why)
}

// ParkUntil returns the time, for who only wants to know that.
func (e *WaitError) ParkUntil() time.Time { return e.Until }

// A Pacer keeps requests within a limit. All that share a quota at the
// provider share one: the sources of a provider, those of a user there.
//
// No more than Requests pass in any time of length Per, and they are spread
// evenly but for Burst at once. x/time/rate alone would let a burst and a full
// refill into one window, so requests that passed are remembered where bursts
// are allowed. On top, the provider's own word keeps a pacer quiet for a time.
// Requests pass in the order they came, so that none starves another; a change
// of the limit or of the quiet time shuffles those who wait.
type Pacer struct {
	mu      sync.Mutex
	limit   syncd.Limit
	bad     error
	pace    *rate.Limiter // nil without a limit
	last    time.Time     // when a request passed last
	window  []time.Time   // the turns within the last Per and to come, in order; only kept for bursts
	quiet   time.Time
	why     string
	changed chan struct{} // closed when the turns given out no longer hold
}

// CheckLimit returns what is wrong with a limit. The zero Limit, which is no
// limit, is right.
func CheckLimit(l syncd.Limit) error {
	switch {
	case l == syncd.Limit{}:
		return nil
	case l.Requests < 1:
		return fmt.Errorf("rate: requests is %d; it must be at least 1", l.Requests)
	case l.Per <= 0:
		return fmt.Errorf("rate: per is %s; it must be longer than nothing", l.Per)
	case l.Burst < 0 || l.Burst > l.Requests:
		return fmt.Errorf("rate: burst is %d; it must be from 1 to requests, %d", l.Burst, l.Requests)
	}
	return nil
}

// NewPacer returns a pacer for a limit. One that CheckLimit refuses lets
// nothing pass: each Wait is its error.
func NewPacer(limit syncd.Limit) *Pacer {
	p := &Pacer{changed: make(chan struct{})}
	p.SetLimit(limit)
	return p
}

// SetLimit changes the limit, also for those who wait already.
func (p *Pacer) SetLimit(limit syncd.Limit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit == limit {
		return
	}
	p.limit, p.bad = limit, CheckLimit(limit)
	p.shuffle()
}

// Limited reports whether there is a limit.
func (p *Pacer) Limited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit != syncd.Limit{}
}

// Quiet lets nothing pass before a time. It never shortens a quiet time.
func (p *Pacer) Quiet(until time.Time, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.quiet) {
		p.quiet, p.why = until, why
		p.shuffle()
	}
}

// shuffle takes all turns to come back and makes those who wait ask again. The
// limiter is made anew because it does not take back a reservation that others
// follow.
func (p *Pacer) shuffle() {
	close(p.changed)
	p.changed = make(chan struct{})
	now := time.Now()
	p.window = slices.DeleteFunc(p.window, now.Before)
	p.pace = nil
	if p.bad != nil || p.limit.Requests == 0 {
		return
	}
	n, burst := time.Duration(p.limit.Requests), max(p.limit.Burst, 1)
	p.pace = rate.NewLimiter(rate.Every((p.limit.Per+n-1)/n+1), burst) // never early by a rounding
	if !p.last.IsZero() {
		p.pace.ReserveN(p.last, burst)
	}
}

// Wait returns when a request may be made. Where that is more than longest
// away, or not before the context's deadline, it returns a *WaitError at once
// and takes nothing from the limit.
func (p *Pacer) Wait(ctx context.Context, longest time.Duration) error {
	giveUp := time.Now().Add(longest)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		turn, err := p.turn(ctx, giveUp)
		if err != nil {
			return err
		}
		if turn.passed {
			return nil
		}
		timer := time.NewTimer(time.Until(turn.at))
		select {
		case <-timer.C:
			if p.come(turn) {
				return nil
			}
		case <-turn.changed:
		case <-ctx.Done():
			p.giveBack(turn)
		}
		timer.Stop()
	}
}

// A turn is a place in the order.
type turn struct {
	at      time.Time
	passed  bool
	hold    *rate.Reservation // nil: nothing is reserved, it is only the end of a quiet time
	changed <-chan struct{}   // closed when it no longer holds
}

// turn takes the next place, or says until when there is none.
func (p *Pacer) turn(ctx context.Context, giveUp time.Time) (turn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad != nil {
		return turn{}, p.bad
	}
	now := time.Now()
	t := turn{at: now, changed: p.changed}
	why := "the configured rate"
	switch {
	case now.Before(p.quiet):
		t.at, why = p.quiet, p.why
	case p.pace != nil:
		t.hold = p.pace.ReserveN(now, 1)
		t.at = now.Add(t.hold.DelayFrom(now))
		t.at = p.place(t.at, now)
	}
	deadline, limited := ctx.Deadline()
	if t.at.After(giveUp) || limited && t.at.After(now) && !t.at.Before(deadline) {
		p.forget(t, now)
		return turn{}, &WaitError{Until: t.at, Why: why}
	}
	if t.passed = !t.at.After(now); t.passed {
		p.last = now
	}
	return t, nil
}

// place returns the time of a turn, moved behind the window where that is
// full, and notes it.
func (p *Pacer) place(at, now time.Time) time.Time {
	if p.limit.Burst <= 1 {
		return at
	}
	p.window = slices.DeleteFunc(p.window, func(t time.Time) bool { return !t.Add(p.limit.Per).After(now) })
	if n := len(p.window); n > 0 {
		at = latest(at, p.window[n-1])
		if n >= p.limit.Requests {
			at = latest(at, p.window[n-p.limit.Requests].Add(p.limit.Per))
		}
	}
	p.window = append(p.window, at)
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// come reports whether a turn whose time has come still holds.
func (p *Pacer) come(t turn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.hold == nil || t.changed != p.changed {
		return false
	}
	p.last = time.Now()
	return true
}

func (p *Pacer) giveBack(t turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.changed == p.changed {
		p.forget(t, time.Now())
	}
}

// forget returns a turn to the limit.
func (p *Pacer) forget(t turn, now time.Time) {
	if t.hold == nil {
		return
	}
	t.hold.CancelAt(now)
	if i, ok := slices.BinarySearchFunc(p.window, t.at, time.Time.Compare); ok {
		p.window = slices.Delete(p.window, i, i+1)
	}
}
