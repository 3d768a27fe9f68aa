package schedule

import (
	"testing"
	"time"
)

// walked is a schedule in two forms: the expression, and what it says of a time
// of a wall clock, written down without a parser.
type walked struct {
	expr    string
	elapsed bool
	match   func(w time.Time) bool
}

var walks = []walked{
	{"* * * * *", true, func(w time.Time) bool { return true }},
	{"0 * * * *", true, func(w time.Time) bool { return w.Minute() == 0 }},
	{"*/20 */3 * * *", true, func(w time.Time) bool { return w.Minute()%20 == 0 && w.Hour()%3 == 0 }},
	{"30 2 * * *", false, func(w time.Time) bool { return w.Minute() == 30 && w.Hour() == 2 }},
	{"0 0 * * *", false, func(w time.Time) bool { return w.Minute() == 0 && w.Hour() == 0 }},
	{"15 0,1,2,3,23 * * *", false, func(w time.Time) bool { return w.Minute() == 15 && (w.Hour() < 4 || w.Hour() == 23) }},
	{"* 1-2 * * *", false, func(w time.Time) bool { return w.Hour() == 1 || w.Hour() == 2 }},
	{"45 1 * * 7", false, func(w time.Time) bool { return w.Minute() == 45 && w.Hour() == 1 && w.Weekday() == time.Sunday }},
	{"10 0 13 * 5", false, func(w time.Time) bool {
		return w.Minute() == 10 && w.Hour() == 0 && (w.Day() == 13 || w.Weekday() == time.Friday)
	}},
	{"5 */6 30,31 * *", true, func(w time.Time) bool { return w.Minute() == 5 && w.Hour()%6 == 0 && w.Day() >= 30 }},
	{"0 12 29 2 *", false, func(w time.Time) bool {
		return w.Minute() == 0 && w.Hour() == 12 && w.Month() == time.February && w.Day() == 29
	}},
}

// TestNextAgainstWalk compares Next with a walk over every minute of a year, in
// years and zones where clocks were moved in every way there is.
func TestNextAgainstWalk(t *testing.T) {
	for _, tt := range []struct {
		zone string
		year int
	}{
		{"UTC", 2024}, {"America/New_York", 2026}, {"Europe/Dublin", 2026}, {"America/Sao_Paulo", 2018}, {"America/Santiago", 2026},
		{"Asia/Beirut", 2026}, {"Australia/Lord_Howe", 2026}, {"Antarctica/Troll", 2026}, {"Antarctica/Casey", 2009}, {"Pacific/Apia", 2011},
		{"Pacific/Kwajalein", 1969}, {"Pacific/Kwajalein", 1993}, {"Asia/Pyongyang", 2018}, {"Africa/Casablanca", 2026}, {"Europe/Berlin", 2096},
		{"America/Caracas", 2007}, {"Asia/Gaza", 2011}, {"Africa/Cairo", 2010},
	} {
		t.Run(tt.zone, func(t *testing.T) {
			t.Parallel()
			compareWalk(t, location(t, tt.zone), tt.year)
		})
	}
}

// compareWalk walks from one minute to the next and keeps the highest time that
// the wall clock has shown: what is newly reached is due, if it is due at all.
func compareWalk(t *testing.T, zone *time.Location, year int) {
	schedules := make([]Schedule, len(walks))
	next := make([]time.Time, len(walks))
	counts := make([]int, len(walks))
	start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, w := range walks {
		s, err := Parse(w.expr, zone)
		if err != nil {
			t.Fatal(err)
		}
		schedules[i], next[i] = s, s.Next(start)
	}
	shown := func(at time.Time) time.Time {
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second)
	}
	high := shown(start)
	var reached []time.Time
	for at := start.Add(time.Minute); at.Before(start.AddDate(1, 0, 2)); at = at.Add(time.Minute) {
		wall := shown(at)
		reached = reached[:0]
		for w := high.Add(time.Minute); !w.After(wall); w = w.Add(time.Minute) {
			reached = append(reached, w)
		}
		if len(reached) > 3*60+1 {
			reached = reached[len(reached)-1:] // a change of calendar
		}
		if wall.After(high) {
			high = wall
		}
		for i, w := range walks {
			due := w.elapsed && w.match(wall)
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
	if counts[0] < 365*24*60 {
		t.Errorf("got %d minutes in the year %d", counts[0], year)
	}
}
