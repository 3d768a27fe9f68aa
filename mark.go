package syncd

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Mark is a point in the provider's history: a time (At) or a sequence
// number. It orders the versions of a record. 0 means that it is not known.
type Mark int64

// impossible is the mark of a time that cannot be: a record with it is set aside.
const impossible Mark = -1

// At returns the mark of a time, exact to the nanosecond. A time before 1970 or
// after 2261 cannot be when a record changed: its mark is negative, and a
// record that has it is set aside.
func At(t time.Time) Mark {
	if t.Unix() < 0 || t.Year() > 2261 {
		return impossible
	}
	return Mark(t.UnixNano())
}

// Time returns the time that the mark stands for, in UTC.
func (m Mark) Time() time.Time { return time.Unix(0, int64(m)).UTC() }

// UnixSeconds returns the mark of a time in whole seconds since 1970, as At does.
func UnixSeconds(s int64) Mark { return At(time.Unix(s, 0)) }

// UnixMillis returns the mark of a time in milliseconds since 1970, as At does.
func UnixMillis(ms int64) Mark { return At(time.UnixMilli(ms)) }

// A Timestamp is a time in a provider's JSON: RFC 3339 with its offset from
// UTC. Null and the empty text leave it 0. A time without an offset is an
// error: the connector that knows the zone parses it with ParseTime.
type Timestamp Mark

// Mark returns the time as a mark.
func (t Timestamp) Mark() Mark { return Mark(t) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Timestamp) UnmarshalJSON(b []byte) error {
	*t = 0
	if string(b) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return Reject("bad_time", "expected a time as text, got %s", b)
	}
	if s == "" {
		return nil
	}
	m, err := ParseTime(s, nil)
	*t = Timestamp(m)
	return err
}

// ParseTime reads a time as RFC 3339 writes it, with a space for the T and a
// leap second allowed, from 1970 on. A time without an offset is in zone, and
// where zone is nil it is an error with the reason "naive_timestamp".
func ParseTime(s string, zone *time.Location) (Mark, error) {
	text := s
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	// RFC 3339, 5.6: a second may be 60. It is taken for the next one.
	leap := len(text) > 18 && text[16:19] == ":60"
	if leap {
		text = text[:16] + ":59" + text[19:]
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		local, naive := parseNaive(text)
		switch {
		case naive && zone == nil:
			return 0, Reject("naive_timestamp", "time %q has no offset from UTC, and no zone is declared", s)
		case naive:
			t = time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), zone)
		default:
			return 0, Reject("bad_time", "%q is not a time", s)
		}
	}
	if _, offset := t.Zone(); offset <= -24*3600 || offset >= 24*3600 {
		return 0, Reject("bad_time", "time %q has an offset of a day or more", s)
	}
	if leap {
		t = t.Truncate(time.Second).Add(time.Second)
	}
	m := At(t)
	if m == impossible {
		return 0, Reject("bad_time", "time %q is out of range", s)
	}
	return m, nil
}

func parseNaive(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Format spells the mark as people and logs read it: a time in RFC 3339 in
// UTC, or a sequence number.
func (m Mark) Format(sequence bool) string {
	switch {
	case m == 0:
		return ""
	case sequence:
		return strconv.FormatInt(int64(m), 10)
	}
	return m.Time().Format(time.RFC3339Nano)
}

// An ID is a provider's id in JSON, as text: a text byte for byte, or a whole
// number in plain digits. Null, the empty text and a missing field leave it "".
type ID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(b []byte) error {
	*id = ""
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*id = ID(s)
		return nil
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		s, err := wholeNumber(string(b))
		*id = ID(s)
		return err
	}
	return Reject("bad_external_id", "an id must be a text or a whole number, not %s", short(b))
}

// wholeNumber spells a JSON number that is whole in plain digits.
func wholeNumber(s string) (string, error) {
	bad := Reject("bad_external_id", "an id must be a whole number, not %s", s)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp > 64 || exp < -64 {
			return "", bad
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	exp -= len(fraction)
	for ; exp < 0; exp++ {
		if !strings.HasSuffix(digits, "0") {
			return "", bad
		}
		digits = digits[:len(digits)-1]
	}
	digits = strings.TrimLeft(digits+strings.Repeat("0", exp), "0")
	if digits == "" {
		return "0", nil
	}
	return sign + digits, nil
}

func short(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%s...", b[:40])
	}
	return string(b)
}
