package schedule

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
)

// location loads a zone, or skips the test on a machine without it.
func location(tb testing.TB, name string) *time.Location {
	tb.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		tb.Skip(err)
	}
	return zone
}

func mustParse(tb testing.TB, expr, zone string) Schedule {
	tb.Helper()
	s, err := Parse(expr, location(tb, zone))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		expr, want string // want: what the error must say, of problem and remedy
	}{
		{"", "@hourly"},
		{" \t\n", "@hourly"},
		{"TZ=0", "set timezone: instead"},
		{"TZ=", "set timezone: instead"},
		{"CRON_TZ=UTC", "set timezone: instead"},
		{"cron_tz=UTC 0 0 * * *", "set timezone: instead"},
		{"TZ= * * * * *", "set timezone: instead"},
		{"TZ=TZ=TZ=", "set timezone: instead"},
		{"* * * *", "it has 4 fields: write five"},
		{"0 0 0 * * *", "it has 6 fields: write five: minute, hour, day of month, month, day of week (there are no seconds"},
		{"0 0 0 * * * 2030", "no years"},
		{"hourly", "write @hourly"},
		{"10m", "write @every 10m"},
		{"soon", "it has 1 field: write five"},
		{"@Daily", "write @daily"},
		{"@DAILY", "write @daily"},
		{"@daily 5", `remove "5"`},
		{"@reboot", "use @every 10m"},
		{"@fortnightly", "use @yearly"},
		{"@", "use @yearly"},
		{"@every", "write one after it"},
		{"@Every 5m", "write @every"},
		{"@every5m", "with a space between"},
		{"@every 0s", "at least 1s"},
		{"@every -5m", "at least 1s"},
		{"@every 500ms", "at least 1s"},
		{"@every 1.5s", "use whole seconds, such as 2s"},
		{"@every 5", "such as 90s"},
		{"@every 1d", "24h"},
		{"@every 1h 30m", "write @every 1h30m"},
		{"60 * * * *", `the minute "60" is out of range: use 0 to 59`},
		{"* 24 * * *", "use 0 to 23"},
		{"* * 0 * *", "use 1 to 31"},
		{"* * 32 * *", "use 1 to 31"},
		{"* * * 13 *", "use 1 to 12, or JAN to DEC"},
		{"* * * * 8", "use 0 to 6, or SUN to SAT"},
		{"99999999999999999999 * * * *", "use 0 to 59"},
		{"+5 * * * *", "use 0 to 59"},
		{"-5 * * * *", "lacks a number"},
		{"5- * * * *", "lacks a number"},
		{"*/ * * * *", "lacks a number"},
		{"1-2-3 * * * *", "use 0 to 59"},
		{"1/2/3 * * * *", "use 0 to 59"},
		{"*-5 * * * *", "use 0 to 59"},
		{"5-1 * * * *", "write 5-59,0-1"},
		{"* * * * sat-tue", "write 6-6,0-2"},
		{", * * * *", "remove the comma"},
		{"1,,2 * * * *", "remove the comma"},
		{"*/0 * * * *", "use 1 or more"},
		{"*/90 * * * *", "a step of at most 59"},
		{"*/60 * * * *", "a step of at most 59"},
		{"* 0-23/24 * * *", "a step of at most 23"},
		{"* * */31 * *", "a step of at most 30"},
		{"* * * */12 *", "a step of at most 11"},
		{"* * * * */7", "a step of at most 6"},
		{"? * * * *", "use *"},
		{"* * ?/2 * *", "use *"},
		{"* * 1,? * *", "use *"},
		{"0 0 L * *", "L (the last) is not supported: use"},
		{"0 0 L-3 * *", "L (the last) is not supported"},
		{"0 0 * * 5L", "L (the last) is not supported"},
		{"0 0 15W * *", "W (the nearest weekday) is not supported: use"},
		{"0 0 LW * *", "W (the nearest weekday) is not supported"},
		{"0 0 * * 1#2", "is not supported: use the weekday alone"},
		{"H * * * *", "use a fixed number"},
		{"H/30 * * * *", "use a fixed number"},
		{"H(0-29)/10 * * * *", "use a fixed number"},
		{"0~30 * * * *", "use a fixed number"},
		{"0 0 * * Monday", "write MON"},
		{"0 0 * january *", "write JAN"},
		{"0 0 mon * *", "use 1 to 31"},
		{"0 0 30 2 *", "never fires"},
		{"0 0 31 4 *", "never fires, as there is no day 31 in April: choose a day"},
		{"0 0 31 2,4,6,9,11 *", "never fires"},
		{"* * * * \xff", "use 0 to 6"},
		{"\x00 * * * *", "use 0 to 59"},
		{strings.Repeat("1,", 5000) + "1 * * * *", "use at most 1000"},
	} {
		s, err := Parse(tt.expr, time.UTC)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error with %q", tt.expr, s, tt.want)
			continue
		}
		if got := err.Error(); !strings.Contains(got, tt.want) {
			t.Errorf("Parse(%q):\n got %s\nwant %s", tt.expr, got, tt.want)
		}
		checkError(t, err)
	}
}

// checkError checks an error against the rules for all of them.
func checkError(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, "schedule \"") {
		t.Errorf("error %q does not quote the expression", text)
	}
	if strings.Contains(text, "failed to") || strings.HasSuffix(text, ".") || !strings.Contains(text, ": ") {
		t.Errorf("error %q is not in the style of the house", text)
	}
	if len(text) > 1000 {
		t.Errorf("error of %d bytes: %.100s...", len(text), text)
	}
}

func TestParseAccepts(t *testing.T) {
	berlin := location(t, "Europe/Berlin")
	for _, tt := range []struct{ expr, want string }{
		{" 0 0 * * *", "0 0 * * * (Europe/Berlin)"},
		{"0\t0 *  * *\n", "0 0 * * * (Europe/Berlin)"},
		{"0 12 ? * MON-fri", "0 12 ? * MON-fri (Europe/Berlin)"},
		{"*,1 0 * * *", "*,1 0 * * * (Europe/Berlin)"},
		{"0 0 29 2 *", "0 0 29 2 * (Europe/Berlin)"},
		{"0 0 30 2 1", "0 0 30 2 1 (Europe/Berlin)"},
		{"0-59/59 0 * * *", "0-59/59 0 * * * (Europe/Berlin)"},
		{"007 * * * *", "007 * * * * (Europe/Berlin)"},
		{"@yearly", "@yearly (Europe/Berlin)"},
		{"@annually", "@annually (Europe/Berlin)"},
		{"@monthly", "@monthly (Europe/Berlin)"},
		{"@weekly", "@weekly (Europe/Berlin)"},
		{"@daily", "@daily (Europe/Berlin)"},
		{"@midnight", "@midnight (Europe/Berlin)"},
		{"@hourly", "@hourly (Europe/Berlin)"},
		{"@every  10m30s", "@every 10m30s"},
		{"@every 1s", "@every 1s"},
	} {
		s, err := Parse(tt.expr, berlin)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.expr, err)
			continue
		}
		if got := s.String(); got != tt.want {
			t.Errorf("Parse(%q) = %q, want %q", tt.expr, got, tt.want)
		}
	}
	if got, want := mustParse(t, "0 0 * * *", "UTC").String(), "0 0 * * * (UTC)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s, err := Parse("0 0 * * *", nil)
	if got, want := s.String(), "0 0 * * * (UTC)"; err != nil || got != want {
		t.Errorf("Parse with a nil zone = %q, %v, want %q", got, err, want)
	}
}

func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want time.Duration
	}{
		{"@every 90s", 90 * time.Second},
		{"@every 24h", 24 * time.Hour},
		{"@hourly", 0},
		{"*/5 * * * *", 0},
	} {
		got, ok := mustParse(t, tt.expr, "UTC").Interval()
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s: Interval() = %v, %v, want %v", tt.expr, got, ok, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want []string // what the warnings must say, in order
	}{
		{"0 0 * * *", nil},
		{"*/15 */6 * * *", nil},
		{"0 0 13 * ?", nil},
		{"0 0 * * 5", nil},
		{"@monthly", nil},
		{"@every 7m", nil},
		{"0 0 13 * 5", []string{`day of month "13" and day of week "5" are both given: it fires on days that match either`}},
		{"0 0 */2 * 1", []string{"*/2 counts as given", "starts again with each month"}},
		{"0 0 1-31 * 1", []string{"match either"}},
		{"*/7 * * * *", []string{"starts again with the hour, so the last distance is not 7: use @every"}},
		{"0 */7 * * *", []string{"starts again with the day"}},
		{"0 0 31 * *", []string{"no day 31 in February, April, June, September, November"}},
		{"0 0 29 * *", []string{"February of most years"}},
		{"0 0 28,31 * *", nil},
		{"0 0 31 1,12 *", nil},
	} {
		got := mustParse(t, tt.expr, "UTC").Warnings()
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %d warnings %q, want %d", tt.expr, len(got), got, len(tt.want))
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%s: got warning %q, want %q in it", tt.expr, got[i], tt.want[i])
			}
		}
	}
}

func TestWarningsAreCopies(t *testing.T) {
	s := mustParse(t, "0 0 13 * 5", "UTC")
	want := s.Warnings()[0]
	s.Warnings()[0] = "changed"
	if got := s.Warnings()[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSharedInvalid(t *testing.T) {
	var rows []struct{ Expr, Expect string }
	readShared(t, &rows, "faults", "cases", "cron_invalid.json")
	if len(rows) < 20 {
		t.Fatalf("got %d rows, want at least 20", len(rows))
	}
	for _, row := range rows {
		s, err := Parse(row.Expr, time.UTC)
		if reject := strings.HasPrefix(row.Expect, "reject"); reject != (err != nil) {
			t.Errorf("Parse(%q) = %v, %v, want: %s", row.Expr, s, err, row.Expect)
			continue
		}
		if err != nil {
			checkError(t, err)
		}
		if strings.Contains(row.Expect, "never_fires") && !strings.Contains(err.Error(), "never fires") {
			t.Errorf("Parse(%q): got %v, want: %s", row.Expr, err, row.Expect)
		}
		if warn := strings.Contains(row.Expect, "warn"); warn && len(s.Warnings()) == 0 {
			t.Errorf("Parse(%q): got no warning, want: %s", row.Expr, row.Expect)
		}
	}
}

// readShared decodes a file of JSON from the shared folder.
func readShared(t *testing.T, v any, elem ...string) {
	t.Helper()
	data, err := os.ReadFile(casebook.Shared(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
