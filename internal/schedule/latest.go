package schedule

import "time"

// MaxMissed is where Latest stops counting.
const MaxMissed = 1000

// Latest returns the last time in (tick, now] at which the source was due, in
// UTC, and how many there were, counted up to MaxMissed. Where there was none,
// as when the clock was set back, it returns tick and 0. It takes about the same
// time however long ago the tick was.
func (s Schedule) Latest(tick, now time.Time) (latest time.Time, missed int) {
	tick, now = tick.Round(0).UTC(), now.Round(0).UTC()
	if s.every > 0 {
		return s.latestInterval(tick, now)
	}
	latest = tick
	for missed < MaxMissed {
		next := s.Next(latest)
		if next.IsZero() || next.After(now) {
			return latest, missed
		}
		latest = next
		missed++
	}
	return s.lastUntil(latest, now), missed
}

// latestInterval counts in seconds, not in durations: those end at 292 years,
// and a source that never ran may have the zero time as its tick.
func (s Schedule) latestInterval(tick, now time.Time) (time.Time, int) {
	seconds := now.Unix() - tick.Unix()
	if now.Nanosecond() < tick.Nanosecond() {
		seconds--
	}
	each := int64(s.every / time.Second)
	n := seconds / each
	if n <= 0 {
		return tick, 0
	}
	return time.Unix(tick.Unix()+n*each, int64(tick.Nanosecond())).UTC(), int(min(n, MaxMissed))
}

// lastUntil returns the last tick in [tick, now], by halving: after low there
// is a tick until now, after high there is none.
func (s Schedule) lastUntil(tick, now time.Time) time.Time {
	low, high := tick.Unix()-1, now.Unix()
	for high-low > 1 {
		middle := low + (high-low)/2
		next := s.Next(time.Unix(middle, 0))
		if next.IsZero() || next.After(now) {
			high = middle
		} else {
			low = middle
		}
	}
	return s.Next(time.Unix(low, 0))
}
