package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// A clock is how a provider writes marks.
type clock struct {
	format string // rfc3339, unix, unix_ms, integer, or a layout
	zone   *time.Location
}

// formats are the names of formats that are no layouts.
const formats = "rfc3339, unix, unix_ms, integer"

// newClock checks how marks are written. The zone is nil where none is declared.
func newClock(format, zone string) (clock, string, error) {
	c := clock{format: format}
	switch format {
	case "":
		c.format = "rfc3339"
	case "rfc3339", "unix", "unix_ms", "integer":
	default:
		if strings.Contains(format, "MST") {
			return c, "format", fmt.Errorf("%q reads a zone by its abbreviation, and those do not say how far from UTC it is: leave such marks out, or ask the provider for times with an offset", clip(format))
		}
		if !strings.Contains(format, "2006") {
			return c, "format", fmt.Errorf("%q is none of %s, and no layout: that shows how the time 2006-01-02 15:04:05 is written", clip(format), formats)
		}
	}
	if zone == "" {
		return c, "", nil
	}
	var err error
	if c.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
		return c, "zone", fmt.Errorf("%q is not a time zone such as Europe/Berlin", clip(zone))
	}
	return c, "", nil
}

func (c clock) sequence() bool { return c.format == "integer" }

// precision is how exact a bound is when it is written so.
func (c clock) precision() time.Duration {
	switch c.format {
	case "unix_ms":
		return time.Millisecond
	case "integer":
		return 0
	case "rfc3339", "unix":
		return time.Second
	}
	for _, p := range []struct {
		part string
		is   time.Duration
	}{{".000000", time.Microsecond}, {".000", time.Millisecond}, {"05", time.Second}, {"04", time.Minute}} {
		if strings.Contains(c.format, p.part) {
			return p.is
		}
	}
	return 24 * time.Hour
}

// mark reads a mark from a record's JSON. Null, "" and nothing are no mark.
func (c clock) mark(value []byte) (syncd.Mark, error) {
	value = bytes.TrimSpace(value)
	s := string(value)
	switch {
	case s == "" || s == "null":
		return 0, nil
	case value[0] == '"':
		if err := json.Unmarshal(value, &s); err != nil {
			return 0, err
		}
	case value[0] != '-' && (value[0] < '0' || value[0] > '9'):
		return 0, syncd.Reject("bad_time", "a mark must be a text or a number, not %s", clip(s))
	}
	return c.parse(s)
}

func (c clock) parse(s string) (syncd.Mark, error) {
	if s == "" {
		return 0, nil
	}
	switch c.format {
	case "rfc3339":
		return syncd.ParseTime(s, c.zone)
	case "unix":
		return decimal(s, 9)
	case "unix_ms":
		return decimal(s, 6)
	case "integer":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return 0, syncd.Reject("bad_mark", "%q is not a sequence number", clip(s))
		}
		return syncd.Mark(n), nil
	}
	zone := c.zone
	if zone == nil {
		zone = time.UTC
		if !strings.ContainsAny(c.format, "Z") && !strings.Contains(c.format, "-07") {
			return 0, syncd.Reject("naive_timestamp", "time %q has no offset from UTC, and no zone is declared", clip(s))
		}
	}
	t, err := time.ParseInLocation(c.format, s, zone)
	if err != nil {
		return 0, syncd.Reject("bad_time", "%q is not a time written as %s", clip(s), c.format)
	}
	return syncd.At(t), nil
}

// decimal reads a number of seconds (digits 9) or milliseconds (6) since 1970,
// with a fraction or without one, to the nanosecond and exactly.
func decimal(s string, digits int) (syncd.Mark, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) > digits {
		fraction = fraction[:digits]
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil || strings.ContainsAny(s, "+_eE") || whole == "" {
		return 0, syncd.Reject("bad_time", "%q is not a number of seconds or milliseconds since 1970", clip(s))
	}
	return syncd.At(time.Unix(0, n)), nil
}

// write spells a bound for a request, rounded towards the past.
func (c clock) write(m syncd.Mark) any {
	switch c.format {
	case "integer":
		return int(m)
	case "unix":
		return int(m.Time().Unix())
	case "unix_ms":
		return int(m.Time().UnixMilli())
	case "rfc3339":
		return m.Time().In(c.location()).Format(time.RFC3339)
	}
	return m.Time().In(c.location()).Format(c.format)
}

func (c clock) location() *time.Location {
	if c.zone != nil {
		return c.zone
	}
	return time.UTC
}
