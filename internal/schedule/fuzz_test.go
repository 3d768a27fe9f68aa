package schedule

import (
	"math/bits"
	"strings"
	"testing"
	"time"
)

// zones is where clocks do what they do nowhere else.
var zones = []string{
	"UTC", "America/New_York", "Europe/Dublin", "Africa/Casablanca", "America/Sao_Paulo", "America/Santiago", "Asia/Beirut",
	"Australia/Lord_Howe", "Antarctica/Troll", "Antarctica/Casey", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Pyongyang", "Asia/Kathmandu",
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{
		"", " ", "@", "@every", "@every 1h30m", "@every -1ns", "@hourly", "@Reboot x", "TZ=", "TZ=0", "CRON_TZ=UTC", "TZ=TZ=TZ=",
		"* * * * *", "*/5 1-3,7 ? jan-MAR 5-7", "0 0 31 4 *", "0 0 L * 1#2", "H H * * *", ",,,, - / ? *", "1/1/1 * * * *",
		strings.Repeat("\x00", 20) + "\xe7\xf3\xf3\x9d\xf3\xf3\xe3\x9d\xf3\xf3\xff\xff\x80\x00\xa6 0 \"\x9d\x9d\x9d\x9d 0 0", "18446744073709551616 * * * *", "\x00\xff * * * *", "٣ * * * *", "0 0 * * 0-7/2", "0\u00a00 * * *",
	} {
		f.Add(expr)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse(expr, time.UTC)
		if err != nil {
			checkError(t, err)
			return
		}
		next := s.Next(from)
		if next.IsZero() && s.every < 200*365*24*time.Hour {
			t.Errorf("%q is accepted and never due", expr)
		}
		if !next.IsZero() && !next.After(from) {
			t.Errorf("%q: Next(%v) = %v, want a later time", expr, from, next)
		}
		again, err := Parse(strings.TrimSuffix(s.String(), " (UTC)"), time.UTC)
		if err != nil || again.String() != s.String() {
			t.Errorf("%q: its String %q parses as %v, %v", expr, s, again, err)
		}
	})
}

func FuzzNext(f *testing.F) {
	f.Add("30 2 * * *", uint8(1), int64(1772928000), uint16(3600))
	f.Add("0 */2 * * *", uint8(7), int64(1775305000), uint16(60))
	f.Add("*/15 0-3 * * 0,6", uint8(4), int64(1541210000), uint16(1))
	f.Add("0 9 * * *", uint8(10), int64(1325100000), uint16(900))
	f.Add("0 0 29 2 *", uint8(2), int64(3981000000), uint16(100))
	f.Fuzz(func(t *testing.T, expr string, zoneIndex uint8, unix int64, step uint16) {
		zone := location(t, zones[int(zoneIndex)%len(zones)])
		s, err := Parse(expr, zone)
		const first, last = -5e9, 8e9 // 1811 to 2223
		if err != nil || unix < first || unix > last {
			return
		}
		from := time.Unix(unix, 0)
		next := s.Next(from)
		if _, ok := s.Interval(); ok {
			return
		}
		if !next.After(from) {
			t.Fatalf("%v: Next(%v) = %v, want a later time", s, from, next)
		}
		checkShown(t, s, next)
		// From a later time it comes at the same time or later, and from any
		// time before it, it is the same.
		later := s.Next(from.Add(time.Duration(step) * time.Second))
		if later.Before(next) {
			t.Errorf("%v: Next(%v) = %v, but %v from %d s later", s, from, next, later, step)
		}
		if before := next.Add(-time.Nanosecond); before.After(from) {
			if got := s.Next(before); !got.Equal(next) {
				t.Errorf("%v: Next(%v) = %v, but from just before that it is %v", s, from, next, got)
			}
		}
		if latest, missed := s.Latest(from, next); !latest.Equal(next) || missed != 1 {
			t.Errorf("%v: Latest(%v, %v) = %v, %d, want the latter and 1", s, from, next, latest, missed)
		}
	})
}

// checkShown checks that the local clock shows a matching time at a tick, or
// has just jumped, where the schedule makes up for that.
func checkShown(t *testing.T, s Schedule, tick time.Time) {
	t.Helper()
	local := tick.In(s.zone)
	spec := s.spec
	has := func(field uint64, n int) bool { return bits.TrailingZeros64(field>>n) == 0 }
	dom, dow := has(spec.Dom, local.Day()), has(spec.Dow, int(local.Weekday()))
	day := dom && dow
	if spec.Dom>>63 == 0 && spec.Dow>>63 == 0 {
		day = dom || dow
	}
	if local.Second() == 0 && has(spec.Minute, local.Minute()) && has(spec.Hour, local.Hour()) && has(spec.Month, int(local.Month())) && day {
		return
	}
	_, now := local.Zone()
	_, before := tick.Add(-time.Second).In(s.zone).Zone()
	if s.elapsed || now <= before {
		t.Errorf("%v is due at %v, which does not match and is not the end of a gap", s, local)
	}
}
