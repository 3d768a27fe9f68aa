package schedule

import (
	"testing"
	"time"
)

func TestLatest(t *testing.T) {
	for _, tt := range []struct {
		name, expr, zone, tick, now, want string
		missed                            int
	}{
		{"none yet", "0 * * * *", "UTC", "2026-01-01T10:00:00Z", "2026-01-01T10:59:59Z", "2026-01-01T10:00:00Z", 0},
		{"one, at now", "0 * * * *", "UTC", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T11:00:00Z", 1},
		{"some", "0 * * * *", "UTC", "2026-01-01T10:00:00Z", "2026-01-01T18:30:00Z", "2026-01-01T18:00:00Z", 8},
		{"the clock was set back", "0 * * * *", "UTC", "2026-01-01T10:00:00Z", "2026-01-01T09:30:00Z", "2026-01-01T10:00:00Z", 0},
		{"from a time that is no tick", "0 * * * *", "UTC", "2026-01-01T10:17:03.5Z", "2026-01-01T11:30:00Z", "2026-01-01T11:00:00Z", 1},
		{"end of a gap", "30 2 * * *", "America/New_York", "2026-03-07T07:30:00Z", "2026-03-08T12:00:00Z", "2026-03-08T07:00:00Z", 1},
		{"exactly as many as are counted", "* * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T16:40:30Z", "2026-01-01T16:40:00Z", 1000},
		{"more than are counted", "* * * * *", "UTC", "2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:00Z", MaxMissed},
		{"more than are counted, then a pause", "* * * 1 *", "UTC", "2016-01-01T00:00:00Z", "2025-12-31T00:00:00Z", "2025-01-31T23:59:00Z", MaxMissed},
		{"since the zero time", "0 3 * * *", "Europe/Berlin", "0001-01-01T00:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T02:00:00Z", MaxMissed},
		{"interval, none", "@every 10m", "UTC", "2026-01-01T10:00:03Z", "2026-01-01T10:10:02.999Z", "2026-01-01T10:00:03Z", 0},
		{"interval, one, at now", "@every 10m", "UTC", "2026-01-01T10:00:03.25Z", "2026-01-01T10:10:03.25Z", "2026-01-01T10:10:03.25Z", 1},
		{"interval, a part of a second before", "@every 10m", "UTC", "2026-01-01T10:00:03.25Z", "2026-01-01T10:10:03.2Z", "2026-01-01T10:00:03.25Z", 0},
		{"interval, some", "@every 10m", "UTC", "2026-01-01T10:00:03Z", "2026-01-01T10:35:00Z", "2026-01-01T10:30:03Z", 3},
		{"interval, the clock was set back", "@every 10m", "UTC", "2026-01-01T10:00:03Z", "2026-01-01T01:00:00Z", "2026-01-01T10:00:03Z", 0},
		{"interval, millions", "@every 1s", "UTC", "2016-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z", "2025-12-31T23:59:59.5Z", MaxMissed},
		{"interval, since the zero time", "@every 1h", "UTC", "0001-01-01T00:00:00Z", "2026-01-01T12:30:00Z", "2026-01-01T12:00:00Z", MaxMissed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, tt.expr, tt.zone)
			latest, missed := s.Latest(at(t, tt.tick), at(t, tt.now))
			if got := latest.Format(time.RFC3339Nano); got != tt.want || missed != tt.missed {
				t.Errorf("%s: Latest(%s, %s) = %s, %d, want %s, %d", s, tt.tick, tt.now, got, missed, tt.want, tt.missed)
			}
			if latest.Location() != time.UTC {
				t.Errorf("got a time in %v, want UTC", latest.Location())
			}
		})
	}
	tick := at(t, "2026-01-01T10:00:00Z")
	if latest, missed := (Schedule{}).Latest(tick, tick.AddDate(1, 0, 0)); !latest.Equal(tick) || missed != 0 {
		t.Errorf("zero Schedule: got %v, %d, want %v, 0", latest, missed, tick)
	}
}

func BenchmarkLatest(b *testing.B) {
	s := mustParse(b, "* * * * *", "Europe/Berlin")
	tick := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		s.Latest(tick, now)
	}
}
