package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ceiling is the longest delay that a header can ask for. Longer ones, and
// those beyond an int64, become this; what is added to a time stays a time.
const ceiling = 366 * 24 * time.Hour

// retryAfter reads a Retry-After field (RFC 9110, section 10.2.3): seconds, or
// a date that counts from date, the answer's own. A date in the past is 0.
// Fractions of seconds, which some providers send, are taken. Whatever else is
// there is not ok and as good as absent.
func retryAfter(value string, date time.Time) (d time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if d, ok := seconds(value); ok {
		return d, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return between(date, at), true
}

// resetIn reads the value of a header that says when a quota is refilled, as
// providers spell it: seconds from now, a Unix time in seconds, milliseconds,
// microseconds or nanoseconds, an HTTP date or RFC 3339. Numbers under a
// billion (31 years) are seconds from now. A time in the past is 0.
func resetIn(value string, date time.Time) (d time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	whole, _, _ := strings.Cut(value, ".")
	if d, ok := seconds(value); ok {
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return ceiling, true
		}
		if n < 1e9 {
			return d, true
		}
		unit := int64(1) // units to the second
		for n/unit >= 1e11 {
			unit *= 1000
		}
		return between(date, time.Unix(n/unit, n%unit*(1e9/unit))), true
	}
	for _, parse := range []func(string) (time.Time, error){http.ParseTime, parseRFC3339} {
		if at, err := parse(value); err == nil {
			return between(date, at), true
		}
	}
	return 0, false
}

func parseRFC3339(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }

// seconds reads digits with an optional fraction, rounded up to a millisecond.
func seconds(s string) (time.Duration, bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if !allDigits(whole) || dotted && !allDigits(fraction) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n >= int64(ceiling/time.Second) {
		return ceiling, true
	}
	d := time.Duration(n) * time.Second
	if strings.Trim(fraction, "0") != "" {
		milli, _ := strconv.Atoi((fraction + "000")[:3])
		d += time.Duration(milli) * time.Millisecond
		if len(fraction) > 3 && strings.Trim(fraction[3:], "0") != "" {
			d += time.Millisecond
		}
	}
	return d, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// between returns the time from one moment to a later one, at most ceiling,
// and 0 where it is not later.
func between(from, to time.Time) time.Duration {
	return min(max(to.Sub(from), 0), ceiling) // Sub saturates
}

// answeredAt returns when an answer was written by its own clock, which times
// in its other headers are told by; now where it does not say.
func answeredAt(h http.Header, now time.Time) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return now
}
