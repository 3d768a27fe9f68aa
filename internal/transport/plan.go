package transport

import "time"

// A step is what a request does next.
type step int

const (
	deliver step = iota // what there is, an answer or an error
	again               // wait, then ask again
	park                // give the run up until a time
)

// A tally is how a request, its run and its time stand.
type tally struct {
	more     bool          // attempts and budget are left, and the request may be repeated
	backoff  time.Duration // the wait where the provider does not tell one
	now      time.Time
	deadline time.Time // of the context; zero if it has none
}

// leastWait is the least time between two attempts.
const leastWait = time.Second

// plan decides what follows from a verdict, and the time to wait for it.
//
// A wait that is asked for, by a rate limit or by a Retry-After, is either
// short enough to be waited out in the run or parks the run; it never fails
// it. A rate limit that outlasts the attempts parks as well. A failure's own
// back-off that does not fit before the deadline delivers the failure.
func plan(v verdict, t tally, maxInline, maxPark time.Duration) (step, time.Duration) {
	if v.outcome == settled {
		return deliver, 0
	}
	wait := max(t.backoff, leastWait)
	if v.told > 0 {
		wait = max(v.told, leastWait)
	}
	wait = min(wait, maxPark)
	asked := v.outcome == limited || v.told > 0
	tooLong := wait > maxInline || !t.deadline.IsZero() && !t.now.Add(wait).Before(t.deadline)
	switch {
	case v.outcome == limited && !t.more:
		return park, max(wait, min(maxInline, maxPark))
	case asked && tooLong:
		return park, wait
	case tooLong, !t.more:
		return deliver, 0
	}
	return again, wait
}
