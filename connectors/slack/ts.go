package slack

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// A ts names a message within its channel and says when it was posted: seconds
// since 1970 and, after the point, digits that make it unique
// (https://docs.slack.dev/messaging/retrieving-messages). It is kept as the
// text that it is, since a float64 has not enough digits for it.
type ts string

// UnmarshalJSON implements json.Unmarshaler. A ts that is a number has lost
// digits already.
func (t *ts) UnmarshalJSON(b []byte) error {
	*t = ""
	if string(b) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return syncd.Reject("bad_time", "expected a ts as text, got %s", b)
	}
	if _, ok := ts(s).mark(); s != "" && !ok {
		return syncd.Reject("bad_time", "%q is not a ts, such as 1712345678.123456", s)
	}
	*t = ts(s)
	return nil
}

// mark returns the ts as a time, exact to its last digit.
func (t ts) mark() (m syncd.Mark, ok bool) {
	whole, fraction, _ := strings.Cut(string(t), ".")
	if len(whole) < 1 || len(whole) > 10 || len(fraction) > 9 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	nanos, err := strconv.ParseInt(fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
	if err != nil {
		return 0, false
	}
	m = syncd.At(time.Unix(seconds, nanos))
	return m, m > 0
}

// tsOf returns the ts of a time. What is finer than a microsecond is cut off,
// towards the past.
func tsOf(m syncd.Mark) string {
	return fmt.Sprintf("%d.%06d", m/1e9, m%1e9/1e3)
}

// A loose text is one on which nothing depends: what is no text is "".
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		s = ""
	}
	*l = loose(s)
	return nil
}
