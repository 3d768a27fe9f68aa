package schedule

import "time"

// reach is more than any offset from UTC and more than any shift of a clock:
// RFC 8536, section 3.2, has offsets below 26 hours, and the largest shifts on
// record, where zones changed sides of the date line, are of a day.
const reach = 26 * time.Hour

// A span is a stretch of time, up to but not including end, in which a zone's
// offset stays the same. A zero end is no end. Adjacent spans may have the same
// offset. When a span began is not said: package time does not always know.
type span struct {
	end    time.Time
	offset time.Duration
}

// spanAt returns the span that t is in. Its end is in UTC and later than t.
func spanAt(zone *time.Location, t time.Time) span {
	local := t.In(zone)
	_, seconds := local.Zone()
	_, end := local.ZoneBounds()
	if !end.IsZero() {
		end = end.UTC()
		if !end.After(t) {
			// Beyond a zone's last listed change, package time takes every year
			// for one of 365 days and ends it a day early: it ends with the day.
			end = t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		}
	}
	return span{end, time.Duration(seconds) * time.Second}
}

// before reports whether t is before the span's end.
func (sp span) before(t time.Time) bool {
	return sp.end.IsZero() || t.Before(sp.end)
}

// highest returns the latest time that the zone's clock has shown until t,
// as if in UTC. In the second pass of an hour that comes twice, that is the end
// of the first.
func highest(zone *time.Location, t time.Time) time.Time {
	at := t.Add(-reach)
	sp := spanAt(zone, at)
	high := at.Add(sp.offset)
	for !sp.before(t) {
		high = later(high, sp.end.Add(sp.offset-instant))
		sp = spanAt(zone, sp.end)
	}
	return later(high, t.Add(sp.offset))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// firstReach returns the first instant at which the zone's clock shows wall or
// later, and what it shows then. Where it shows a later time, it has jumped
// over wall: jump is by how much.
func firstReach(zone *time.Location, wall time.Time) (at, shown time.Time, jump time.Duration) {
	sp := spanAt(zone, wall.Add(-reach))
	at = wall.Add(-sp.offset)
	for !sp.before(at) {
		last := sp
		sp = spanAt(zone, last.end)
		at = later(last.end, wall.Add(-sp.offset))
		jump = sp.offset - last.offset
	}
	return at, at.Add(sp.offset), jump
}
