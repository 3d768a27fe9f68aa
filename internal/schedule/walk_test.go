package schedule

import (
	"testing"
	"time"
)

// A face is what a wall clock and a calendar show.
type face struct {
	minute, hour, day int
	month             time.Month
	weekday           time.Weekday
}

func faceOf(wall time.Time) face {
	return face{wall.Minute(), wall.Hour(), wall.Day(), wall.Month(), wall.Weekday()}
}

// walks are schedules in two forms: the expression, and what it says of a face,
// written down without a parser.
var walks = []struct {
	expr    string
	elapsed bool
	match   func(f face) bool
}{
	{"*/5 * * * *", true, func(f face) bool { return f.minute%5 == 0 }},
	{"0 * * * *", true, func(f face) bool { return f.minute == 0 }},
	{"*/20 */3 * * *", true, func(f face) bool { return f.minute%20 == 0 && f.hour%3 == 0 }},
	{"30 2 * * *", false, func(f face) bool { return f.minute == 30 && f.hour == 2 }},
	{"0 0 * * *", false, func(f face) bool { return f.minute == 0 && f.hour == 0 }},
	{"15 0,1,2,3,23 * * *", false, func(f face) bool { return f.minute == 15 && (f.hour < 4 || f.hour == 23) }},
	{"* 1-2 * * *", false, func(f face) bool { return f.hour == 1 || f.hour == 2 }},
	{"45 1 * * 7", false, func(f face) bool { return f.minute == 45 && f.hour == 1 && f.weekday == time.Sunday }},
	{"10 0 13 * 5", false, func(f face) bool {
		return f.minute == 10 && f.hour == 0 && (f.day == 13 || f.weekday == time.Friday)
	}},
	{"5 */6 30,31 * *", true, func(f face) bool { return f.minute == 5 && f.hour%6 == 0 && f.day >= 30 }},
	{"0 12 29 2 *", false, func(f face) bool {
		return f.minute == 0 && f.hour == 12 && f.month == time.February && f.day == 29
	}},
}

// TestNextAgainstWalk compares Next with a walk over every minute, in years and
// zones where clocks were moved in every way there is: whole years for some, the
// weeks around the change for the rest.
func TestNextAgainstWalk(t *testing.T) {
	for _, tt := range []struct {
		zone, from string
		days       int
	}{
		{"UTC", "2024-02-20", 20},
		{"America/New_York", "2026-01-01", 366},
		{"America/Sao_Paulo", "2018-01-01", 366},
		{"Australia/Lord_Howe", "2026-01-01", 366},
		{"Pacific/Apia", "2011-01-01", 368},
		{"Europe/Dublin", "2026-10-15", 20},
		{"America/Santiago", "2026-04-01", 10},
		{"America/Santiago", "2026-09-01", 10},
		{"Asia/Beirut", "2026-03-20", 20},
		{"Asia/Beirut", "2026-10-20", 20},
		{"Antarctica/Troll", "2026-03-20", 20},
		{"Antarctica/Troll", "2026-10-20", 20},
		{"Antarctica/Casey", "2009-10-10", 20},
		{"Antarctica/Casey", "2010-03-01", 20},
		{"Pacific/Kwajalein", "1969-09-20", 20},
		{"Pacific/Kwajalein", "1993-08-10", 20},
		{"Asia/Pyongyang", "2018-04-25", 20},
		{"Asia/Kathmandu", "1985-12-25", 20},
		{"Africa/Casablanca", "2026-02-01", 60},
		{"Africa/Cairo", "2010-08-01", 70},
		{"Asia/Gaza", "2011-07-25", 80},
		{"America/Caracas", "2007-12-01", 20},
		{"Europe/Berlin", "2096-12-20", 20}, // beyond the listed changes
	} {
		t.Run(tt.zone+" "+tt.from, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.DateOnly, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			compareWalk(t, location(t, tt.zone), from, from.AddDate(0, 0, tt.days))
		})
	}
}

// compareWalk walks from one minute to the next and keeps the highest time that
// the wall clock has shown: what is newly reached is due, if it is due at all.
func compareWalk(t *testing.T, zone *time.Location, from, to time.Time) {
	schedules := make([]Schedule, len(walks))
	next := make([]time.Time, len(walks))
	counts := make([]int, len(walks))
	for i, w := range walks {
		s, err := Parse(w.expr, zone)
		if err != nil {
			t.Fatal(err)
		}
		schedules[i], next[i] = s, s.Next(from)
	}
	shown := func(at time.Time) time.Time {
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second)
	}
	high := shown(from)
	var reached []face
	for at := from.Add(time.Minute); at.Before(to); at = at.Add(time.Minute) {
		wall := shown(at)
		now := faceOf(wall)
		reached = reached[:0]
		for w := high.Add(time.Minute); !w.After(wall); w = w.Add(time.Minute) {
			reached = append(reached, faceOf(w))
		}
		if len(reached) > 3*60+1 {
			reached = reached[len(reached)-1:] // a change of calendar
		}
		if wall.After(high) {
			high = wall
		}
		for i, w := range walks {
			due := w.elapsed && w.match(now)
			if !w.elapsed {
				for _, r := range reached {
					due = due || w.match(r)
				}
			}
			if due != next[i].Equal(at) {
				t.Fatalf("%v: at %v: got due %v (the next is %v), want %v", schedules[i], at.In(zone), next[i].Equal(at), next[i].In(zone), due)
			}
			if due {
				counts[i]++
				next[i] = schedules[i].Next(at)
			}
		}
	}
	if got, want := counts[0], int(to.Sub(from)/(5*time.Minute))-1; got != want {
		t.Errorf("%v: got %d ticks from %v to %v, want %d", schedules[0], got, from, to, want)
	}
}
