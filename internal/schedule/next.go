package schedule

import "time"

// LongestGap is the longest jump of a zone's clock after which the runs that it
// jumped over are made up for by one at its end. Longer ones have been changes
// of calendar.
const LongestGap = 3 * time.Hour

// instant is the resolution of time.Time.
const instant = time.Nanosecond

// Next returns the first time strictly after `after` at which the source is
// due, in UTC. It is a whole minute of the zone's clock or the end of a jump of
// it. For an interval it is `after` plus the interval, exactly: the caller keeps
// the last tick and asks from there.
//
// Next returns the zero time where nothing is due until the year 9999: for the
// zero Schedule, or where `after` is close to that year.
func (s Schedule) Next(after time.Time) time.Time {
	after = after.Round(0).UTC() // without a reading of the monotonic clock
	switch {
	case after.Year() > lastYear:
		return time.Time{}
	case s.every > 0:
		return after.Add(s.every)
	case s.spec == nil:
		return time.Time{}
	case s.elapsed:
		return s.nextElapsed(after)
	default:
		return s.nextOfDay(after)
	}
}

// nextElapsed is Next where every instant counts at which the local clock shows
// a matching minute.
func (s Schedule) nextElapsed(after time.Time) time.Time {
	sp := spanAt(s.zone, after)
	wall := after.Add(sp.offset)
	for {
		slot, ok := slotAfter(s.spec, wall)
		if !ok {
			return time.Time{}
		}
		if at := slot.Add(-sp.offset); sp.before(at) {
			return at
		}
		changed := sp.end
		sp = spanAt(s.zone, changed)
		wall = changed.Add(sp.offset - instant)
	}
}

// nextOfDay is Next where every local time counts once. A local time has come
// when the local clock has shown it or a later one: so one that is jumped over
// comes at the end of the jump, and one that is shown again has come before.
// That order never turns back, whatever a zone does to its clock.
func (s Schedule) nextOfDay(after time.Time) time.Time {
	wall := highest(s.zone, after)
	for {
		slot, ok := slotAfter(s.spec, wall)
		if !ok {
			return time.Time{}
		}
		at, shown, jump := firstReach(s.zone, slot)
		if shown.Equal(slot) || jump <= LongestGap {
			return at
		}
		wall = shown.Add(-instant)
	}
}
