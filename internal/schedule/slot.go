package schedule

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// star is the bit with which robfig/cron marks a field that was written as *.
const star = 1 << 63

// lastYear bounds the search: RFC 3339 cannot write a later one.
const lastYear = 9999

// slotAfter returns the first minute strictly after wall that the schedule
// matches. Both are times of a wall clock, written as if in UTC: a calendar
// without gaps or repetitions. It reports false where there is none until the
// year 9999; of a schedule that Parse accepts, one comes within eight years.
func slotAfter(spec *cron.SpecSchedule, wall time.Time) (time.Time, bool) {
	from := wall.Truncate(time.Minute).Add(time.Minute)
	year, month, day := from.Date()
	hour, minute := from.Hour(), from.Minute()
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	for date.Year() <= lastYear {
		switch {
		case spec.Month&(1<<date.Month()) == 0:
			date = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !matchesDay(spec, date):
			date = date.AddDate(0, 0, 1)
		default:
			if h, m, ok := timeFrom(spec, hour, minute); ok {
				return date.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute), true
			}
			date = date.AddDate(0, 0, 1)
		}
		hour, minute = 0, 0 // only the first day begins in the middle
	}
	return time.Time{}, false
}

// matchesDay reports whether the schedule has the date's day: by either field
// where both are given, else by the one that is.
func matchesDay(spec *cron.SpecSchedule, date time.Time) bool {
	dom := spec.Dom&(1<<date.Day()) != 0
	dow := spec.Dow&(1<<date.Weekday()) != 0
	if spec.Dom&star != 0 || spec.Dow&star != 0 {
		return dom && dow
	}
	return dom || dow
}

// timeFrom returns the first time of day at or after hour:minute.
func timeFrom(spec *cron.SpecSchedule, hour, minute int) (h, m int, ok bool) {
	h, ok = bitFrom(spec.Hour, hour)
	if ok && h == hour {
		if m, ok = bitFrom(spec.Minute, minute); ok {
			return h, m, true
		}
		h, ok = bitFrom(spec.Hour, hour+1)
	}
	if !ok {
		return 0, 0, false
	}
	m, ok = bitFrom(spec.Minute, 0)
	return h, m, ok
}

// bitFrom returns the lowest bit that is set in the field at or above n.
func bitFrom(field uint64, n int) (int, bool) {
	rest := field &^ star >> n << n
	return bits.TrailingZeros64(rest), rest != 0
}
