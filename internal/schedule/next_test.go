package schedule

import (
	"slices"
	"testing"
	"time"
)

// fires returns the ticks in (from, to], at most 1,000, in RFC 3339 and UTC.
func fires(s Schedule, from, to time.Time) []string {
	list := []string{}
	for at := s.Next(from); !at.IsZero() && !at.After(to) && len(list) < 1000; at = s.Next(at) {
		list = append(list, at.Format(time.RFC3339))
	}
	return list
}

func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// A window is what is due in (from, to].
var windows = []struct {
	name, expr, zone, from, to string
	want                       []string // with the zone's offset
}{
	{"gap: once, at its end", "30 2 * * *", "America/New_York", "2026-03-07T00:00:00Z", "2026-03-10T00:00:00Z",
		[]string{"2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
	{"gap: several are one", "*/15 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z",
		[]string{"2026-03-08T03:00:00-04:00"}},
	{"gap: one with the slot at its end", "0 2,3 * * *", "America/New_York", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z",
		[]string{"2026-03-08T03:00:00-04:00"}},
	{"gap: by date", "30 2 8 3 *", "America/New_York", "2026-01-01T00:00:00Z", "2027-12-31T00:00:00Z",
		[]string{"2026-03-08T03:00:00-04:00", "2027-03-08T02:30:00-05:00"}},
	{"gap: hours that count time", "0 */2 * * *", "America/New_York", "2026-03-08T04:30:00Z", "2026-03-08T11:00:00Z",
		[]string{"2026-03-08T00:00:00-05:00", "2026-03-08T04:00:00-04:00", "2026-03-08T06:00:00-04:00"}},
	{"gap: half hours of real time", "*/30 * * * *", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T07:30:00Z",
		[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"}},
	{"fold: first pass only", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z",
		[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
	{"fold: from the second pass", "30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", "2026-11-02T12:00:00Z",
		[]string{"2026-11-02T01:30:00-05:00"}},
	{"fold: the end of it", "0 2 * * *", "America/New_York", "2026-11-01T05:00:00Z", "2026-11-02T00:00:00Z",
		[]string{"2026-11-01T02:00:00-05:00"}},
	{"fold: both passes", "0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", "2026-11-01T07:30:00Z",
		[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"}},
	{"fold: both passes of @hourly", "@hourly", "America/New_York", "2026-11-01T04:30:00Z", "2026-11-01T07:30:00Z",
		[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"}},
	{"fold at midnight: the day does not come twice", "30 23 * * *", "America/Santiago", "2017-05-13T12:00:00Z", "2017-05-15T12:00:00Z",
		[]string{"2017-05-13T23:30:00-03:00", "2017-05-14T23:30:00-04:00"}},
	{"gap at midnight", "@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-06T00:00:00Z",
		[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
	{"gap at midnight: weekly", "@weekly", "America/Sao_Paulo", "2018-11-01T00:00:00Z", "2018-11-12T00:00:00Z",
		[]string{"2018-11-04T01:00:00-02:00", "2018-11-11T00:00:00-02:00"}},
	{"gap at midnight: no other day's noon", "0 12 * * 6", "America/Sao_Paulo", "2018-11-01T00:00:00Z", "2018-11-12T00:00:00Z",
		[]string{"2018-11-03T12:00:00-03:00", "2018-11-10T12:00:00-02:00"}},
	{"half-hour gap", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z",
		[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
	{"half-hour fold", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z",
		[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
	{"two-hour gap", "30 1,2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z",
		[]string{"2026-03-29T03:00:00+02:00"}},
	{"gap of three hours", "0 3 * * *", "Antarctica/Casey", "2009-10-16T12:00:00Z", "2009-10-19T00:00:00Z",
		[]string{"2009-10-17T03:00:00+08:00", "2009-10-18T05:00:00+11:00", "2009-10-19T03:00:00+11:00"}},
	{"gap across midnight belongs to the day before", "45 23 4 5 *", "Asia/Pyongyang", "2018-05-01T00:00:00Z", "2018-05-30T00:00:00Z",
		[]string{"2018-05-05T00:00:00+09:00"}},
	{"a day that never was", "0 9 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-31T00:00:00Z",
		[]string{"2011-12-29T09:00:00-10:00", "2011-12-31T09:00:00+14:00"}},
	{"a day that never was: midnight after it", "0 0 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z",
		[]string{"2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"}},
	{"a day that never was: by date", "0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2012-12-31T00:00:00Z",
		[]string{"2012-12-30T09:00:00+14:00"}},
	{"a day that never was: by weekday", "0 9 * * 5", "Pacific/Apia", "2011-12-22T00:00:00Z", "2012-01-07T00:00:00Z",
		[]string{"2011-12-23T09:00:00-10:00", "2012-01-06T09:00:00+14:00"}},
	{"a day that never was: hours that count time", "0 */8 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-30T20:00:00Z",
		[]string{"2011-12-29T16:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T08:00:00+14:00"}},
	{"a day that came twice", "0 9 * * *", "Pacific/Kwajalein", "1969-09-28T22:00:00Z", "1969-10-02T00:00:00Z",
		[]string{"1969-09-30T09:00:00+11:00", "1969-10-01T09:00:00-12:00"}},
	{"last day of a leap year, far ahead", "0 12 * * *", "America/New_York", "2096-12-30T00:00:00Z", "2097-01-02T00:00:00Z",
		[]string{"2096-12-30T12:00:00-05:00", "2096-12-31T12:00:00-05:00", "2097-01-01T12:00:00-05:00"}},
	{"last day of a leap year, hours that count time", "0 */8 * * *", "America/New_York", "2096-12-31T00:00:00Z", "2097-01-01T12:00:00Z",
		[]string{"2096-12-31T00:00:00-05:00", "2096-12-31T08:00:00-05:00", "2096-12-31T16:00:00-05:00", "2097-01-01T00:00:00-05:00"}},
	{"leap days", "0 0 29 2 *", "UTC", "2023-01-01T00:00:00Z", "2033-01-01T00:00:00Z",
		[]string{"2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
	{"leap days eight years apart", "0 * 29 2 *", "UTC", "2096-02-29T22:00:00Z", "2104-02-29T00:00:00Z",
		[]string{"2096-02-29T23:00:00Z", "2104-02-29T00:00:00Z"}},
	{"leap days eight years apart, in a zone that changes", "0 */12 29 2 *", "Europe/Berlin", "2096-02-29T12:00:00Z", "2104-02-29T00:00:00Z",
		[]string{"2104-02-29T00:00:00+01:00"}},
	{"ends of months", "0 0 31 * *", "UTC", "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z",
		[]string{"2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"}},
	{"end of the year", "59 23 31 12 *", "UTC", "2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z",
		[]string{"2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"}},
	{"either day field", "0 0 13 * 5", "UTC", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z",
		[]string{"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z"}},
	{"either day field, by a step", "0 0 */10 * 1", "UTC", "2026-06-01T00:00:00Z", "2026-06-16T00:00:00Z",
		[]string{"2026-06-08T00:00:00Z", "2026-06-11T00:00:00Z", "2026-06-15T00:00:00Z"}},
	{"7 is Sunday", "0 0 * * 7", "UTC", "2026-06-01T00:00:00Z", "2026-06-15T00:00:00Z",
		[]string{"2026-06-07T00:00:00Z", "2026-06-14T00:00:00Z"}},
	{"7 in a list", "0 0 * * 3,7", "UTC", "2026-06-01T00:00:00Z", "2026-06-08T00:00:00Z",
		[]string{"2026-06-03T00:00:00Z", "2026-06-07T00:00:00Z"}},
	{"7 ends a range", "0 0 * * 5-7", "UTC", "2026-06-01T00:00:00Z", "2026-06-12T00:00:00Z",
		[]string{"2026-06-05T00:00:00Z", "2026-06-06T00:00:00Z", "2026-06-07T00:00:00Z", "2026-06-12T00:00:00Z"}},
	{"SUN ends a range", "0 0 * * sat-SUN", "UTC", "2026-06-01T00:00:00Z", "2026-06-12T00:00:00Z",
		[]string{"2026-06-06T00:00:00Z", "2026-06-07T00:00:00Z"}},
	{"7 begins a range", "0 0 * * 7-2", "UTC", "2026-06-02T00:00:00Z", "2026-06-09T00:00:00Z",
		[]string{"2026-06-07T00:00:00Z", "2026-06-08T00:00:00Z", "2026-06-09T00:00:00Z"}},
	{"7 to 7", "0 0 * * 7-7", "UTC", "2026-06-01T00:00:00Z", "2026-06-12T00:00:00Z",
		[]string{"2026-06-07T00:00:00Z"}},
	{"7 ends a range with a step", "0 0 * * 1-7/3", "UTC", "2026-06-01T00:00:00Z", "2026-06-08T00:00:00Z",
		[]string{"2026-06-04T00:00:00Z", "2026-06-07T00:00:00Z", "2026-06-08T00:00:00Z"}},
	{"0 to 7", "0 0 * * 0-7", "UTC", "2026-06-05T00:00:00Z", "2026-06-08T00:00:00Z",
		[]string{"2026-06-06T00:00:00Z", "2026-06-07T00:00:00Z", "2026-06-08T00:00:00Z"}},
	{"from a value by a step", "5/25 * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T01:05:00Z",
		[]string{"2026-01-01T00:05:00Z", "2026-01-01T00:30:00Z", "2026-01-01T00:55:00Z", "2026-01-01T01:05:00Z"}},
	{"strictly after", "0 0 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z",
		[]string{"2026-01-02T00:00:00Z"}},
	{"after a part of a second", "0 0 * * *", "UTC", "2025-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00Z",
		[]string{"2026-01-01T00:00:00Z"}},
	{"interval", "@every 90m", "America/New_York", "2026-03-08T06:00:01Z", "2026-03-08T09:00:01Z",
		[]string{"2026-03-08T03:30:01-04:00", "2026-03-08T05:00:01-04:00"}},
}

func TestNext(t *testing.T) {
	for _, tt := range windows {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, tt.expr, tt.zone)
			want := []string{}
			for _, text := range tt.want {
				want = append(want, at(t, text).UTC().Format(time.RFC3339))
			}
			got := fires(s, at(t, tt.from), at(t, tt.to))
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n got %s\nwant %s", s, got, want)
			}
		})
	}
}

func TestNextIsUTC(t *testing.T) {
	now := time.Now() // with a reading of the monotonic clock
	for _, expr := range []string{"30 2 * * *", "0 * * * *", "@every 1h"} {
		got := mustParse(t, expr, "Asia/Tokyo").Next(now)
		if got.Location() != time.UTC || got != got.Round(0) {
			t.Errorf("%s: got %v, want a time in UTC without a monotonic reading", expr, got)
		}
	}
}

func TestNextEnds(t *testing.T) {
	for _, s := range []Schedule{{}, mustParse(t, "0 0 * * *", "UTC"), mustParse(t, "0 * * * *", "Europe/Berlin"), mustParse(t, "@every 1h", "UTC")} {
		if got := s.Next(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); !got.IsZero() {
			t.Errorf("%v: got %v after the last year, want none", s, got)
		}
	}
	if got := (Schedule{}).Next(time.Unix(0, 0)); !got.IsZero() {
		t.Errorf("zero Schedule: got %v, want none", got)
	}
	if got, want := mustParse(t, "0 0 * * *", "UTC").Next(time.Time{}), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("after the zero time: got %v, want %v", got, want)
	}
}

// A zone whose offset is of any size, and not of whole minutes.
func TestNextFixedZone(t *testing.T) {
	for _, seconds := range []int{0, 1172, -1172, 100 * 3600, -100 * 3600} {
		s, err := Parse("30 12 * * *", time.FixedZone("X", seconds))
		if err != nil {
			t.Fatal(err)
		}
		want := time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC).Add(-time.Duration(seconds) * time.Second)
		if got := s.Next(want.Add(-time.Minute)); !got.Equal(want) {
			t.Errorf("offset %d: got %v, want %v", seconds, got, want)
		}
		if got := s.Next(want); !got.Equal(want.Add(24 * time.Hour)) {
			t.Errorf("offset %d: got %v, want %v", seconds, got, want.Add(24*time.Hour))
		}
	}
}

func TestSharedTable(t *testing.T) {
	var rows []struct {
		ID, Expr, TZ, Note string
		From               time.Time `json:"from_utc"`
		To                 time.Time `json:"to_utc"`
		Want               []string  `json:"expected_utc"`
	}
	readShared(t, &rows, "faults", "cases", "cron_table.json")
	if len(rows) < 25 {
		t.Fatalf("got %d rows, want at least 25", len(rows))
	}
	for _, row := range rows {
		t.Run(row.ID, func(t *testing.T) {
			s, err := Parse(row.Expr, location(t, row.TZ))
			if len(row.Want) == 0 {
				if err == nil {
					t.Errorf("Parse(%q) = %v, want an error: %s", row.Expr, s, row.Note)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fires(s, row.From, row.To); !slices.Equal(got, row.Want) {
				t.Errorf("%s: %s\n got %s\nwant %s", s, row.Note, got, row.Want)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	for _, bb := range []struct{ name, expr, zone string }{
		{"hourly", "0 * * * *", "America/New_York"},
		{"daily", "30 2 * * *", "America/New_York"},
		{"daily-utc", "30 2 * * *", "UTC"},
		{"weekly", "0 9 * * 1", "Europe/Berlin"},
		{"leap-day", "0 0 29 2 *", "Europe/Berlin"},
		{"every", "@every 10m", "UTC"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := mustParse(b, bb.expr, bb.zone)
			from := time.Date(2026, 6, 1, 12, 0, 30, 0, time.UTC)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(from)
			}
		})
	}
}
