package config

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/syncdhq/syncd"
)

func TestTimingOver(t *testing.T) {
	cfg := parse(t, goodStore+`spread: 1m
catch_up: none
providers:
  s: { connector: sample, schedule: "30 2 * * *", timezone: Europe/Berlin, full: "@weekly" }
  bare: { connector: sample, spread: 0s }
sources:
- { user: a, provider: s }
- { user: b, provider: s, timezone: Asia/Tokyo }
- { user: c, provider: s, schedule: "@every 10m", catch_up: once, spread: 5s }
- { user: d, provider: bare, schedule: "@daily" }
- { user: e, provider: s, spread: 1m }
`, nil)
	type timing struct {
		schedule, full, zone string
		spread               time.Duration
		catchUp              bool
	}
	for i, want := range []timing{
		{"30 2 * * * (Europe/Berlin)", "@weekly (Europe/Berlin)", "Europe/Berlin", time.Minute, false},
		{"30 2 * * * (Asia/Tokyo)", "@weekly (Asia/Tokyo)", "Asia/Tokyo", time.Minute, false},
		{"@every 10m", "@weekly (Europe/Berlin)", "Europe/Berlin", 5 * time.Second, true},
		{"@daily (UTC)", "", "UTC", 0, false},
		{"30 2 * * * (Europe/Berlin)", "@weekly (Europe/Berlin)", "Europe/Berlin", time.Minute, false},
	} {
		s := cfg.Sources[i]
		got := timing{s.Schedule.String(), "", s.Timezone.String(), s.Spread, s.CatchUp}
		if s.Full != nil {
			got.full = s.Full.String()
		}
		if got != want {
			t.Errorf("source %d: got %v, want %v", i, got, want)
		}
	}
	if cfg.Sources[0].Timing != cfg.Sources[4].Timing {
		t.Errorf("equal timing is not shared")
	}
}

func TestSchedules(t *testing.T) {
	file := func(provider, source string) string {
		return goodStore + "providers:\n  s: { connector: sample" + provider + " }\nsources:\n- { user: a, provider: s" + source + " }\n- { user: b, provider: s" + source + " }\n"
	}
	wrong(t, []faulty{
		{"none", file("", ""), []string{
			`3:3: the provider s has no schedule, and its source in line 5 has none either: write one such as schedule: "*/15 * * * *"`}},
		{"of the source alone", file("", ", schedule: '@daily'"), nil},
		{"impossible", file(", schedule: '0 0 30 2 *'", ""), []string{
			`3:37: schedule "0 0 30 2 *": it never fires, as there is no day 30 in February: choose a day that the month has`}},
		{"out of range, at each source", file(", schedule: '@daily'", ", schedule: '61 * * * *'"), []string{
			`5:37: schedule "61 * * * *": the minute "61" is out of range: use 0 to 59`,
			`6:37: schedule "61 * * * *": the minute "61" is out of range: use 0 to 59`}},
		{"empty", file(", schedule: ''", ""), []string{
			`3:37: schedule "": it is empty: write five fields such as "0 3 * * *", or "@hourly", or "@every 10m"`}},
		{"null", file(", schedule:", ""), []string{"3:27: schedule is empty: write a value, or take it out"}},
		{"full", file(", schedule: '@daily', full: '@wekly'", ""), []string{
			`3:53: full: schedule "@wekly": "@wekly" is not known: use @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every DURATION`}},
		{"wrong once, though two zones read it", file(", schedule: '61 * * * *'", ", timezone: Asia/Tokyo"), []string{
			`3:37: schedule "61 * * * *": the minute "61" is out of range: use 0 to 59`}},
		{"zones", file(", schedule: '@daily', timezone: europe/berlin", ", timezone: UTC+2"), []string{
			`3:57: timezone: "europe/berlin" is not a time zone: did you mean Europe/Berlin?`,
			`5:37: timezone: "UTC+2" is not a time zone: write the name of a place, such as Europe/Berlin, so that summer time is right`,
			`6:37: timezone: "UTC+2" is not a time zone: write the name of a place, such as Europe/Berlin, so that summer time is right`}},
		{"no zones", file(", schedule: '@daily', timezone: Local", ", timezone: ''"), []string{
			`3:57: timezone: "Local" is not a time zone: write one such as UTC or Europe/Berlin`,
			`5:37: timezone: "" is not a time zone: write one such as UTC or Europe/Berlin`,
			`6:37: timezone: "" is not a time zone: write one such as UTC or Europe/Berlin`}},
		{"of a source without a provider", goodStore + "providers: {}\nsources:\n- { user: a, provider: x, schedule: '61 * * * *', timezone: Nowhere }\n", []string{
			`4:24: provider: "x" is not among the providers: there are none to be set`,
			`4:37: schedule "61 * * * *": the minute "61" is out of range: use 0 to 59`,
			`4:61: timezone: "Nowhere" is not a time zone: write one such as UTC or Europe/Berlin`}},
	})
}

func TestZoneSpellings(t *testing.T) {
	for given, want := range map[string]string{
		"america/new york": "America/New_York", "utc": "UTC", "EUROPE/BERLIN": "Europe/Berlin", "america/port_of_spain": "America/Port_of_Spain",
		" Asia/Tokyo": "Asia/Tokyo",
	} {
		_, err := loadZone(given)
		p, _ := err.(problem)
		if got := p.hint; got != "did you mean "+want+"?" {
			t.Errorf("loadZone(%q): got hint %q, want one at %s", given, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	cfg := parse(t, goodStore+`providers:
  s: { connector: sample, schedule: "0 0 1 * MON" }
sources:
- { user: a, provider: s, timezone: Asia/Tokyo }
- { user: b, provider: s, schedule: "0 0 1 * MON" }
- { user: c, provider: s, schedule: "0 0 31 * *" }
`, nil)
	var got []string
	for _, w := range cfg.Warnings {
		got = append(got, w.Error())
	}
	want := []string{"folder/syncd.yaml:3:37: schedule: day of month", "folder/syncd.yaml:7:37: schedule: there is no day 31"}
	if len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("warnings: got %q, want two, that begin with %q", got, want)
	}
	cfg = parse(t, goodStore+"providers: {}\nsources: []\n", nil)
	if len(cfg.Warnings) != 1 || cfg.Warnings[0].Line != 3 || cfg.Warnings[0].Column != 10 {
		t.Errorf("warnings of no sources: got %v, want one at 3:10", cfg.Warnings)
	}
}

// TestEverySetting reads a file that sets all, each to another value than its default.
func TestEverySetting(t *testing.T) {
	cfg := parse(t, `store: sqlite:/var/lib/syncd/syncd.db
listen: "[::1]:8400"
workers: 100
lease: 2m
grace: 0s
spread: 10s
catch_up: none
changes: true
give_up: { failures: 5, after: 1d }
budget: { time: 30m, pages: 500 }
limits: { body: 1MiB, inline_wait: 5s, park: 1w, rejects: 0.1 }
log: { level: warn, format: json }
providers:
  a:
    connector: github
    schedule: "@daily"
    on_missing: mark
    max_missing: 5%
    allow_empty: yes
    base_url: https://ghe.example.com/api/v3
    rate: { requests: 10, per: 1m, burst: 5 }
    user_rate: { requests: 1, per: 1s }
    budget: { pages: 7 }
    allow_hosts: [Files.example.com, "10.0.0.1:8080", "::1", "[::1]:80"]
    options: { repo: a/b }
  b: { connector: csv, schedule: "@daily" }
sources:
- user: x
  provider: a
  credentials: { token: t }
`, nil)
	want := &Config{
		Path: "folder/syncd.yaml", Dir: cfg.Dir, Store: "sqlite:/var/lib/syncd/syncd.db", Listen: "[::1]:8400", Keys: "/var/lib/syncd/syncd.keys", Workers: 100,
		Lease: 2 * time.Minute, Changes: true, GiveUp: GiveUp{5, 24 * time.Hour},
		Limits: Limits{Body: 1 << 20, InlineWait: 5 * time.Second, Park: 7 * 24 * time.Hour, Rejects: 10},
		Log:    Log{Level: slog.LevelWarn, Format: "json"},
	}
	got := *cfg
	got.Providers, got.Sources = nil, nil
	if diff := cmp.Diff(want, &got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("Config (-want +got)\n%s", diff)
	}
	a := *cfg.Providers["a"]
	a.Connector, a.Timing = syncd.Connector{}, nil
	if diff := cmp.Diff(Provider{
		Name: "a", OnMissing: Mark, MaxMissing: 5, AllowEmpty: true, BaseURL: "https://ghe.example.com/api/v3",
		Rate: &syncd.Limit{Requests: 10, Per: time.Minute, Burst: 5}, UserRate: &syncd.Limit{Requests: 1, Per: time.Second},
		Budget: Budget{Time: 30 * time.Minute, Pages: 7}, AllowHosts: []string{"files.example.com", "10.0.0.1:8080", "::1", "[::1]:80"},
	}, a); diff != "" {
		t.Errorf("provider a (-want +got)\n%s", diff)
	}
	b := *cfg.Providers["b"]
	b.Connector, b.Timing = syncd.Connector{}, nil
	if diff := cmp.Diff(Provider{Name: "b", OnMissing: Keep, MaxMissing: 30, Budget: Budget{Time: 30 * time.Minute, Pages: 500}}, b); diff != "" {
		t.Errorf("provider b (-want +got)\n%s", diff)
	}
	if s := cfg.Sources[0]; s.Line != 28 || s.Column != 3 {
		t.Errorf("source: got line %d column %d, want 28 and 3", s.Line, s.Column)
	}
}
