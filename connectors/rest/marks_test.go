package rest

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

func TestMarks(t *testing.T) {
	at := func(text string) syncd.Mark {
		m, err := syncd.ParseTime(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		format, zone, json string
		want               syncd.Mark // -2: refused
	}{
		{"", "", `"2026-06-01T10:00:00+02:00"`, at("2026-06-01T08:00:00Z")},
		{"", "", `"2026-06-01 10:00:00.123Z"`, at("2026-06-01T10:00:00.123Z")},
		{"", "", `"2026-06-01T10:00:00"`, -2},
		{"", "Europe/Berlin", `"2026-06-01T10:00:00"`, at("2026-06-01T08:00:00Z")},
		{"", "", "null", 0}, {"", "", `""`, 0}, {"", "", "", 0}, {"", "", "true", -2}, {"", "", "{}", -2}, {"", "", `"soon"`, -2},
		{"unix", "", "1780308000", at("2026-06-01T10:00:00Z")},
		{"unix", "", `"1780308000.000000001"`, at("2026-06-01T10:00:00.000000001Z")},
		{"unix", "", "1780308000.1234567899", at("2026-06-01T10:00:00.123456789Z")},
		{"unix", "", "1e9", -2}, {"unix", "", `"1_0"`, -2}, {"unix", "", "-5", -1}, {"unix", "", `".5"`, -2},
		{"unix_ms", "", "1780308000123", at("2026-06-01T10:00:00.123Z")},
		{"integer", "", "9007199254740993", 9007199254740993},
		{"integer", "", `"7"`, 7}, {"integer", "", "7.5", -2}, {"integer", "", "-7", -2}, {"integer", "", "9223372036854775808", -2},
		{"2006-01-02T15:04:05.000-0700", "", `"2026-06-01T10:00:00.500+0200"`, at("2026-06-01T08:00:00.5Z")},
		{"02.01.2006 15:04", "Europe/Berlin", `"01.06.2026 10:00"`, at("2026-06-01T08:00:00Z")},
		{"02.01.2006 15:04", "", `"01.06.2026 10:00"`, -2},
	} {
		k, _, err := newClock(c.format, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.mark([]byte(c.json))
		if err != nil {
			got = -2
		}
		if got != c.want {
			t.Errorf("%s %s %s: got %d, %v; want %d", c.format, c.zone, c.json, got, err, c.want)
		}
	}
}

// A bound is rounded towards the past, and one step more where the provider
// leaves out what changed at that very time.
func TestSince(t *testing.T) {
	m := syncd.At(time.Date(2026, 6, 1, 10, 0, 0, 999_999_999, time.UTC))
	for _, c := range []struct {
		format, zone string
		exclusive    bool
		want         any
	}{
		{"", "", false, "2026-06-01T10:00:00Z"},
		{"", "", true, "2026-06-01T09:59:59Z"},
		{"", "Europe/Berlin", false, "2026-06-01T12:00:00+02:00"},
		{"unix", "", false, 1780308000},
		{"unix", "", true, 1780307999},
		{"unix_ms", "", false, 1780308000999},
		{"unix_ms", "", true, 1780308000998},
		{"2006/01/02 15:04", "America/New_York", false, "2026/06/01 06:00"},
		{"2006/01/02 15:04", "", true, "2026/06/01 09:59"},
		{"2006-01-02 15:04:05.000Z", "", false, "2026-06-01 10:00:00.999Z"},
		{"2006-01-02", "", false, "2026-06-01"},
		{"2006-01-02", "", true, "2026-05-31"},
	} {
		k, _, err := newClock(c.format, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := (since{clock: k, precision: k.precision(), exclusive: c.exclusive}).write(m); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	k, _, _ := newClock("integer", "")
	if got := (since{clock: k, exclusive: true}).write(8); got != 7 {
		t.Errorf("got %v, want 7", got)
	}
}

func TestClocksRefused(t *testing.T) {
	for _, format := range []string{"iso8601", "Mon, 02 Jan 2006 15:04:05 MST"} {
		if _, option, err := newClock(format, ""); err == nil || option != "format" {
			t.Errorf("%s: %s %v", format, option, err)
		}
	}
}
