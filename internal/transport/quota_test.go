package transport

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
)

func TestQuota(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		left   int64
		reset  time.Duration
		known  bool
	}{
		{"nothing", http.Header{}, -1, 0, false},
		{"with X-", http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1780315260"}}, 0, time.Minute, true},
		{"with more hyphens", http.Header{"X-Rate-Limit-Remaining": {"3"}, "X-Rate-Limit-Reset": {"1780315260"}}, 3, time.Minute, true},
		{"a fraction left", http.Header{"X-Ratelimit-Remaining": {"594.0"}, "X-Ratelimit-Reset": {"200"}}, 594, 200 * time.Second, true},
		{"reset after", http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1780399999"}, "X-Ratelimit-Reset-After": {"1.5"}}, 0, 1500 * time.Millisecond, true},
		{"old drafts", http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"50"}}, 0, 50 * time.Second, true},
		{"unreadable", http.Header{"X-Ratelimit-Remaining": {"none"}, "X-Ratelimit-Reset": {"-5"}}, -1, 0, false},
		{"list", http.Header{"Ratelimit": {`"default";r=50;t=30`}}, 50, 30 * time.Second, true},
		{"the tighter counts", http.Header{"Ratelimit": {`"minute";r=0;t=12, "day";r=0;t=3600`, `"burst";r=5;t=99999`}}, 0, time.Hour, true},
		{"used up counts before scarce", http.Header{"Ratelimit": {`"a";r=1;t=1, "b";r=0;t=5, "c";r=2;t=1`}}, 0, 5 * time.Second, true},
		{"the policy's window", http.Header{"Ratelimit": {`"day";r=0`}, "Ratelimit-Policy": {`"minute";q=10;w=60, "day";q=100;w=86400`}}, 0, 24 * time.Hour, true},
		{"no reset at all", http.Header{"Ratelimit": {`"day";r=0`}}, 0, 0, false},
		{"dictionary", http.Header{"Ratelimit": {`limit=100, remaining=0, reset=12`}}, 0, 12 * time.Second, true},
		{"broken falls back", http.Header{"Ratelimit": {`"day;r=0`}, "X-Ratelimit-Remaining": {"7"}}, 7, 0, false},
		{"huge", http.Header{"Ratelimit": {`"day";r=0;t=999999999999999`}}, 0, ceiling, true},
		{"negative", http.Header{"Ratelimit": {`"day";r=-1;t=-5`}}, -1, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := quotaOf(tt.header, noon)
			if want := (quota{tt.left, tt.reset, tt.known}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestStructuredFields runs the tests of the HTTP working group for lists and
// dictionaries; those with inner lists, dates and display strings, which no
// field here has, must be refused rather than misread.
func TestStructuredFields(t *testing.T) {
	for _, file := range []string{"list", "param-list", "dictionary", "param-dict", "string", "token", "number"} {
		text, err := os.ReadFile(casebook.Shared(t, "data", "http-structured-fields", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Name     string
			Raw      []string
			Type     string `json:"header_type"`
			Expected json.RawMessage
			MustFail bool `json:"must_fail"`
			CanFail  bool `json:"can_fail"`
		}
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			field := strings.Join(c.Raw, ",")
			parse := parseList
			if c.Type == "dictionary" {
				parse = parseDictionary
			}
			got, err := parse(field)
			if c.Type == "item" && err == nil && len(got) != 1 {
				err = errField
			}
			inner := strings.Contains(field, "(")
			switch {
			case c.MustFail || inner && !strings.Contains(field, `"`):
				if err == nil {
					t.Errorf("%s: %s: %q: got %v, want an error", file, c.Name, field, got)
				}
			case c.CanFail || inner:
			case err != nil:
				t.Errorf("%s: %s: %q: got %v", file, c.Name, field, err)
			case c.Type != "item" && len(got) != members(t, c.Expected):
				t.Errorf("%s: %s: %q: got %d members, want %d", file, c.Name, field, len(got), members(t, c.Expected))
			case c.Type == "item" && !sameBare(got[0].value, bareText(t, c.Expected)):
				t.Errorf("%s: %s: %q: got %q, want %q", file, c.Name, field, got[0].value, bareText(t, c.Expected))
			}
		}
	}
}

func members(t *testing.T, expected json.RawMessage) int {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(expected, &all); err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// sameBare compares the text of an item. The tests write the number 01.20 as 1.2.
func sameBare(got, want string) bool {
	x, err := strconv.ParseFloat(got, 64)
	y, err2 := strconv.ParseFloat(want, 64)
	return got == want || err == nil && err2 == nil && x == y
}

// bareText returns the text of an expected item.
func bareText(t *testing.T, expected json.RawMessage) string {
	t.Helper()
	var pair []json.RawMessage
	if err := json.Unmarshal(expected, &pair); err != nil {
		t.Fatal(err)
	}
	var s string
	var typed struct{ Value string }
	switch {
	case json.Unmarshal(pair[0], &s) == nil:
		return s
	case json.Unmarshal(pair[0], &typed) == nil:
		return typed.Value
	}
	return string(pair[0])
}

func FuzzRateLimitField(f *testing.F) {
	for _, s := range []string{`"default";r=50;t=30`, `"a";r=0;t=12, "b";r=1`, `limit=100, remaining=0, reset=12`, `a;b=?1;c=:YQ==:`, `"\"";r=999999999999999`, `-1.5`} {
		f.Add(s, `"default";q=100;w=60`)
	}
	f.Fuzz(func(t *testing.T, field, policy string) {
		h := http.Header{"Ratelimit": {field}, "Ratelimit-Policy": {policy}}
		q := quotaOf(h, noon)
		if q.left < -1 || q.reset < 0 || q.reset > ceiling {
			t.Errorf("%q, %q: got %+v", field, policy, q)
		}
		for _, status := range []int{200, 429} {
			v := judge(answer{status: status, header: h, now: noon})
			if v.told < 0 || v.told > ceiling || v.quiet < 0 || v.quiet > ceiling {
				t.Errorf("%d with %q, %q: got %+v", status, field, policy, v)
			}
		}
	})
}
