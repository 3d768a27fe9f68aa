package transport

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"120", 2 * time.Minute, true},
		{" 30 ", 30 * time.Second, true},
		{"0", 0, true},
		{"2.0", 2 * time.Second, true},
		{"0.65", 650 * time.Millisecond, true},
		{"1.0001", 1001 * time.Millisecond, true},
		{"1.9999", 2 * time.Second, true},
		{"-5", 0, false},
		{"+3", 0, false},
		{"", 0, false},
		{"soon", 0, false},
		{"1e30", 0, false},
		{"1.", 0, false},
		{".5", 0, false},
		{"0x10", 0, false},
		{"12 ", 12 * time.Second, true},
		{"1 2", 0, false},
		{"31622400", ceiling, true},
		{"9223372036854775807", ceiling, true},
		{"99999999999999999999999", ceiling, true},
		{"Mon, 01 Jun 2026 12:02:00 GMT", 2 * time.Minute, true},
		{"Monday, 01-Jun-26 12:02:00 GMT", 2 * time.Minute, true},
		{"Mon Jun  1 12:02:00 2026", 2 * time.Minute, true},
		{"Mon, 01 Jun 2026 11:59:59 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", ceiling, true},
		{"2026-06-01T12:02:00Z", 0, false},
	}
	for _, tt := range tests {
		got, ok := retryAfter(tt.value, noon)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %s, %v, want %s, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// The provider's clock is an hour behind ours: its date is told by its own.
func TestRetryAfterIsRelativeToTheAnswersDate(t *testing.T) {
	h := http.Header{"Date": {"Mon, 01 Jun 2026 11:00:00 GMT"}, "Retry-After": {"Mon, 01 Jun 2026 11:00:30 GMT"}}
	if got := judge(answer{status: 429, header: h, now: noon}).told; got != 30*time.Second {
		t.Errorf("got %s, want 30s", got)
	}
	h = http.Header{"Date": {"Mon, 01 Jun 2026 11:00:00 GMT"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1780311640"}}
	if got := judge(answer{status: 403, header: h, now: noon}).told; got != 40*time.Second {
		t.Errorf("got %s, want 40s", got)
	}
}

// mode puts what a limited answer leads to into the words of the shared tables.
func mode(header http.Header, now time.Time) (string, time.Duration) {
	v := judge(answer{status: 429, header: header, now: now})
	step, wait := plan(v, tally{more: true, backoff: 1500 * time.Millisecond, now: now}, time.Minute, 24*time.Hour)
	switch {
	case step == park:
		return "park", wait
	case step == again && v.told == 0 && wait == 1500*time.Millisecond:
		return "back-off", wait
	case step == again:
		return "inline", wait
	}
	return "deliver", wait
}

func TestRetryAfterTable(t *testing.T) {
	var table struct {
		Now  time.Time
		Rows []struct {
			RetryAfter string `json:"retry_after"`
			Mode       string
			DelayS     *int64 `json:"delay_s"`
		}
	}
	readJSON(t, "retry_after_table.json", &table)
	if len(table.Rows) == 0 {
		t.Fatal("the table is empty")
	}
	for _, row := range table.Rows {
		want := row.Mode
		if want == "min_backoff" || want == "fallback" {
			want = "back-off"
		}
		got, wait := mode(http.Header{"Retry-After": {row.RetryAfter}}, table.Now)
		if got != want || row.DelayS != nil && wait != time.Duration(*row.DelayS)*time.Second {
			t.Errorf("%q: got %s after %s, want %s", row.RetryAfter, got, wait, want)
		}
	}
}

func TestResetTable(t *testing.T) {
	var table struct {
		Now  int64 `json:"now_epoch_s"`
		Rows []struct {
			Reset string          `json:"x_ratelimit_reset"`
			Want  json.RawMessage `json:"expect_wait_s"`
		}
	}
	readJSON(t, "ratelimit_reset_table.json", &table)
	if len(table.Rows) == 0 {
		t.Fatal("the table is empty")
	}
	now := time.Unix(table.Now, 0)
	for _, row := range table.Rows {
		got, wait := mode(http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {row.Reset}}, now)
		ok := false
		switch want := string(row.Want); want {
		case `"min_backoff"`, `"fallback"`:
			ok = got == "back-off"
		case `"park:86400"`:
			ok = got == "park" && wait == 24*time.Hour
		default:
			s, err := strconv.Atoi(want)
			ok = err == nil && got == "inline" && wait == time.Duration(s)*time.Second
		}
		if !ok {
			t.Errorf("%q: got %s after %s, want %s", row.Reset, got, wait, row.Want)
		}
	}
}

func TestResetSpellings(t *testing.T) {
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"60", time.Minute, true},
		{"55.5", 55500 * time.Millisecond, true},
		{"1780315260", time.Minute, true},
		{"1780315260.25", time.Minute, true},
		{"1780315260500", time.Minute + 500*time.Millisecond, true},
		{"1780315260000000", time.Minute, true},
		{"1780315260000000000", time.Minute, true},
		{"9223372036854775807", ceiling, true},
		{"99999999999999999999", ceiling, true},
		{"999999999", ceiling, true},
		{"2026-06-01T12:01:00Z", time.Minute, true},
		{"2026-06-01T14:01:00+02:00", time.Minute, true},
		{"Mon, 01 Jun 2026 12:01:00 GMT", time.Minute, true},
		{"-5", 0, false},
		{"", 0, false},
		{"6m0s", 0, false},
	}
	for _, tt := range tests {
		got, ok := resetIn(tt.value, noon)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %s, %v, want %s, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-5", "+3", "1e30", "9223372036854775807", "Mon, 01 Jun 2026 12:02:00 GMT", "0.5", "1780315260000", "2026-06-01T12:02:00Z"} {
		f.Add(s, "Mon, 01 Jun 2026 12:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{"Retry-After": {value}, "X-Ratelimit-Reset": {value}, "X-Ratelimit-Remaining": {"0"}, "Date": {date}}
		at := answeredAt(h, noon)
		for _, read := range []func(string, time.Time) (time.Duration, bool){retryAfter, resetIn} {
			d, ok := read(value, at)
			if d < 0 || d > ceiling || !ok && d != 0 {
				t.Errorf("%q at %s: got %s, %v", value, at, d, ok)
			}
		}
		for _, status := range []int{200, 403, 429, 503} {
			v := judge(answer{status: status, header: h, now: noon})
			step, wait := plan(v, tally{more: true, now: noon}, time.Minute, 24*time.Hour)
			if wait < 0 || wait > 24*time.Hour || v.quiet < 0 || step == again && (wait < leastWait || wait > time.Minute) {
				t.Errorf("%d with %q: got step %d after %s, quiet %s", status, value, step, wait, v.quiet)
			}
		}
	})
}
