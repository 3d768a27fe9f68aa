// Package schedule says when a source is due. It is arithmetic on times that
// are passed in: no clock, no input or output.
//
// robfig/cron reads the expressions. What it accepts and should not (prefixes
// that make it panic, steps that are never taken, days that never come,
// intervals that it rounds to a second) is refused here first, and the walk over
// its parsed fields is ours, because its own skips or doubles runs where a zone
// moves its clock.
//
// # What an expression means
//
// Five fields: minute, hour, day of month, month, day of week; each a value, a
// range, a step or a list of those. Sunday is 0, 7 or SUN. Where day of month
// and day of week are both given, a day that matches either is a match; a field
// counts as given unless it is * or ?.
//
// # Where a zone moves its clock
//
// A schedule whose hour field does not begin with * names times of the day.
// Each of them runs once: when the local clock first reaches it, or, where the
// clock jumps over it, at the end of the jump. Several in one jump are one run.
// A jump of more than [LongestGap] is no change of clocks but a change of
// calendar (Samoa had no 30 December 2011): what it jumps over is not made up.
//
// A schedule whose hour field begins with * counts time as it passes. It runs
// whenever the local clock shows a matching minute: in both passes of an hour
// that comes twice, and never in one that does not come.
package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule says when a source is due. It is immutable and safe for concurrent
// use. Two schedules whose String is equal are due at the same times. The zero
// Schedule is never due.
type Schedule struct {
	expr     string // white space normalised
	zone     *time.Location
	every    time.Duration      // of @every; else 0
	spec     *cron.SpecSchedule // of all others; else nil
	elapsed  bool               // the hour field begins with *
	warnings []string
}

// Interval returns the duration of an "@every DURATION" schedule, and whether
// it is one.
func (s Schedule) Interval() (time.Duration, bool) {
	return s.every, s.every > 0
}

// Warnings returns what is valid in the schedule but may not mean what its
// author thinks, one sentence each, with the remedy.
func (s Schedule) Warnings() []string {
	return slices.Clone(s.warnings)
}

// String returns the expression, and the zone in which it is read:
// "30 2 * * * (Europe/Berlin)". An interval is the same in every zone:
// "@every 10m".
func (s Schedule) String() string {
	if s.spec == nil {
		return s.expr
	}
	var b strings.Builder
	b.WriteString(s.expr)
	b.WriteString(" (")
	b.WriteString(s.zone.String())
	b.WriteString(")")
	return b.String()
}
