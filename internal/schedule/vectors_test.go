package schedule

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
)

// A vector is a row of another project's tests: the next time after `from`, or
// at it where inclusive.
type vector struct {
	Expr, Zone, From, Want, Layout string
	Inclusive                      bool
	Invalid                        string `json:"invalid_field"`
}

// fiveFields returns the expression in our form, or why there is none. What has
// a reason here is refused or read differently by design, as the package says.
func fiveFields(expr string) (five, why string) {
	words := strings.Fields(strings.ToUpper(expr))
	if len(words) == 6 && strings.Trim(words[0], "0") == "" {
		words = words[1:]
	}
	if len(words) == 1 && strings.HasPrefix(words[0], "@") {
		if words[0] != expr && strings.ToLower(words[0]) != expr {
			return "", "descriptor not in lower case"
		}
		return expr, ""
	}
	if len(words) != 5 {
		return "", "seconds or years"
	}
	for i, word := range words {
		switch {
		case strings.ContainsAny(word, "#") || strings.HasPrefix(word, "H"):
			return "", "extension"
		case i == 2 && strings.ContainsAny(word, "LW"), i == 4 && strings.HasSuffix(strings.TrimRight(word, "-0123456789"), "L"):
			return "", "extension"
		case i < 2 && word == "?" || i == 3 && word == "?":
			return "", "? that is no day field"
		case word == "FRIDAY":
			return "", "name in full"
		}
		for element := range strings.SplitSeq(word, ",") {
			switch base, step, _ := strings.Cut(element, "/"); {
			case backwards[base]:
				return "", "range that wraps around"
			case step == "65":
				return "", "step larger than the field"
			}
		}
	}
	return strings.Join(words, " "), ""
}

// backwards are the ranges in the vectors that wrap around, which would have to
// be written as two.
var backwards = map[string]bool{
	"55-5": true, "57-5": true, "51-4": true, "56-4": true, "45-44": true, "23-3": true, "23-22": true,
	"20-5": true, "12-2": true, "9-8": true, "SAT-TUE": true,
}

// bothDays reports whether both day fields are given. Cronos then wants both to
// match, crontab and we either.
func bothDays(five string) bool {
	words := strings.Fields(five)
	any := func(word string) bool { return word == "*" || word == "?" }
	return len(words) == 5 && !any(words[2]) && !any(words[4])
}

// ours are the rows of Cronos where our policy for moved clocks differs, with
// what we want there: keys are expression, `from` and whether inclusive.
//
// Cronos takes an expression for one that counts time if its minute or its hour
// field has a *, a range or a step; we, only if its hour field begins with *.
// So "30 1-9" and "*/30 1" run in both passes there, and in the first only here.
// And Cronos makes up for what a gap jumped over in every kind of expression;
// we, not in one that counts time: no time has passed in a gap.
var ours = map[string]string{
	// A gap, and an hour field that begins with *: on to the next match.
	"1-58 */2 * * *|2016-03-13T01:59:00-05:00|incl": "2016-03-13T04:01:00-04:00",
	"0 */2 * * *|2016-03-13T01:59:00-05:00|incl":    "2016-03-13T04:00:00-04:00",
	"*/30 */2 * * *|2016-03-13T01:30:00-05:00|excl": "2016-03-13T04:00:00-04:00",

	// A second pass, and an hour field that names hours: on to what the clock
	// has not shown yet.
	"30 0/1 * * *|2016-11-06T01:59:00-04:00|incl": "2016-11-06T02:30:00-05:00",
	"30 0/1 * * *|2016-11-06T01:30:00-04:00|excl": "2016-11-06T02:30:00-05:00",
	"30 1-9 * * *|2016-11-06T01:30:00-04:00|excl": "2016-11-06T02:30:00-05:00",
	"*/30 1 * * *|2016-11-06T01:59:00-04:00|incl": "2016-11-07T01:00:00-05:00",
	"*/30 1 * * *|2016-11-06T01:20:00-05:00|incl": "2016-11-07T01:00:00-05:00",
	"*/30 1 * * *|2016-11-06T01:30:00-04:00|excl": "2016-11-07T01:00:00-05:00",
	"0/30 1 * * *|2016-11-06T01:59:00-04:00|incl": "2016-11-07T01:00:00-05:00",
	"0/30 1 * * *|2016-11-06T01:20:00-05:00|incl": "2016-11-07T01:00:00-05:00",
	"0/30 1 * * *|2016-11-06T01:30:00-04:00|excl": "2016-11-07T01:00:00-05:00",
	"0/30 1 * * *|2016-11-06T01:00:00-05:00|excl": "2016-11-07T01:00:00-05:00",
	"0-30 1 * * *|2016-11-06T01:59:00-04:00|incl": "2016-11-07T01:00:00-05:00",
	"0-30 1 * * *|2016-11-06T01:20:00-05:00|excl": "2016-11-07T01:00:00-05:00",
	"30 0/1 * * *|2017-04-02T01:59:00+11:00|incl": "2017-04-02T02:30:00+10:30",
	"30 1-9 * * *|2017-04-02T01:59:00+11:00|incl": "2017-04-02T02:30:00+10:30",
	"*/30 1 * * *|2017-04-02T01:59:00+11:00|incl": "2017-04-03T01:00:00+10:30",
	"0/30 1 * * *|2017-04-02T01:59:00+11:00|incl": "2017-04-03T01:00:00+10:30",
	"0-30 1 * * *|2017-04-02T01:59:00+11:00|incl": "2017-04-03T01:00:00+10:30",
}

// rows decodes a file of JSON lines.
func rows(t *testing.T, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(casebook.Shared(t, "data", "cron-vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	for line := range bytes.Lines(data) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// checkVector compares Next with the wanted time.
func checkVector(t *testing.T, expr, zone string, from time.Time, inclusive bool, want time.Time) {
	t.Helper()
	s, err := Parse(expr, location(t, zone))
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	after := from
	if inclusive {
		after = from.Add(-time.Nanosecond)
	}
	if got := s.Next(after); !got.Equal(want) {
		t.Errorf("%v: from %v (inclusive %v): got %v, want %v", s, from, inclusive, got.In(s.zone), want.In(s.zone))
	}
}

// used fails the test where fewer rows were used than are known to be usable.
func used(t *testing.T, got, want int, skipped map[string]int) {
	t.Helper()
	t.Logf("used %d rows, left out %v", got, skipped)
	if got < want {
		t.Errorf("used %d rows, want at least %d; left out %v", got, want, skipped)
	}
}

func TestVectorsCronos(t *testing.T) {
	n, skipped, differ := 0, map[string]int{}, map[string]bool{}
	for _, v := range rows(t, "cronos_next.jsonl") {
		five, why := fiveFields(v.Expr)
		if why == "" && bothDays(five) {
			why = "both day fields"
		}
		if why != "" {
			skipped[why]++
			continue
		}
		key := five + "|" + v.From + "|excl"
		if v.Inclusive {
			key = strings.TrimSuffix(key, "excl") + "incl"
		}
		want := v.Want
		if w, ok := ours[key]; ok {
			want, differ[key] = w, true
		}
		checkVector(t, five, v.Zone, at(t, v.From), v.Inclusive, at(t, want))
		n++
	}
	used(t, n, 235, skipped)
	for key := range ours {
		if !differ[key] {
			t.Errorf("no row %q", key)
		}
	}
}

func TestVectorsCronexpr(t *testing.T) {
	n, skipped := 0, map[string]int{}
	for _, v := range rows(t, "cronexpr_next.jsonl") {
		// Their sixth field is the year, a seventh before all is the second.
		expr := v.Expr
		if words := strings.Fields(expr); len(words) > 5 {
			expr = strings.TrimSuffix(expr, " *")
		}
		five, why := fiveFields(expr)
		if why != "" {
			skipped[why]++
			continue
		}
		want, err := time.Parse(v.Layout, v.Want)
		if err != nil {
			t.Fatal(err)
		}
		checkVector(t, five, v.Zone, local(t, v.From), v.Inclusive, want)
		n++
	}
	used(t, n, 24, skipped)
}

func TestVectorsDragonmantank(t *testing.T) {
	n, skipped := 0, map[string]int{}
	for _, v := range rows(t, "dragonmantank_next.jsonl") {
		five, why := fiveFields(v.Expr)
		if why != "" {
			skipped[why]++
			continue
		}
		// They look from the start of the minute, which is included.
		checkVector(t, five, v.Zone, local(t, v.From).Truncate(time.Minute), true, local(t, v.Want))
		n++
	}
	used(t, n, 26, skipped)
}

// local reads the time that two of the projects write, always UTC here.
func local(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateTime, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestVectorsInvalid(t *testing.T) {
	n := 0
	for _, v := range rows(t, "cronos_invalid.jsonl") {
		// With a field of seconds, all are refused for their count: not a test
		// of the rest. So drop it where it is not what is wrong.
		expr := v.Expr
		if words := strings.Fields(expr); len(words) == 6 && v.Invalid != "Seconds" {
			expr = strings.Join(words[1:], " ")
		}
		s, err := Parse(expr, time.UTC)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error about %s", expr, s, v.Invalid)
			continue
		}
		checkError(t, err)
		n++
	}
	used(t, n, 220, nil)
}
