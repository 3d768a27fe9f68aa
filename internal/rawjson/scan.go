// Package rawjson works on JSON texts as the bytes they came in: it checks
// them, splits them and compares them without ever rewriting them or passing a
// number through a float64.
//
// encoding/json is not enough here. It replaces invalid UTF-8 and lone
// surrogates silently, matches field names without regard to case, and cannot
// say which of them it did.
package rawjson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep a text may be nested before it is refused as a whole.
const MaxDepth = 10000

// A Problem is what is wrong with a text.
type Problem string

// Problems of a text that is not JSON at all, and of JSON that a store cannot
// keep so that SQL reads it back.
const (
	Syntax      Problem = "invalid_json"
	TooDeep     Problem = "too_deep"
	NulEscape   Problem = "nul_character"
	Surrogate   Problem = "lone_surrogate"
	InvalidUTF8 Problem = "invalid_utf8"
	NumberRange Problem = "number_out_of_range"
)

// An Error names a problem and the offset of the byte where it shows.
type Error struct {
	Problem Problem
	Offset  int
	Detail  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset)
}

// Check reports the first reason why a store could not keep text as one JSON
// value and read it back: it is not JSON, is nested deeper than maxDepth, is
// not UTF-8, escapes U+0000 or half of a surrogate pair (PostgreSQL's ->>
// refuses both), or has a number beyond PostgreSQL's numeric.
func Check(text []byte, maxDepth int) error {
	s := scanner{b: text, strict: true, maxDepth: maxDepth}
	return s.whole()
}

// Valid reports as an error why text is not one JSON value, with nothing after
// it. It is lenient about what Check refuses beyond syntax.
func Valid(text []byte) error {
	s := scanner{b: text, maxDepth: MaxDepth}
	return s.whole()
}

type scanner struct {
	b        []byte
	strict   bool // also refuse what a store could not read back
	maxDepth int
}

func (s *scanner) whole() error {
	end, err := s.value(s.space(0), 0)
	if err != nil {
		return err
	}
	return s.end(end)
}

// end checks that nothing but white space follows offset i.
func (s *scanner) end(i int) error {
	if i = s.space(i); i < len(s.b) {
		return s.syntax(i, "more bytes after the end of the value")
	}
	return nil
}

func (s *scanner) syntax(at int, detail string) error {
	if at >= len(s.b) {
		detail = "unexpected end of the text"
	}
	return &Error{Syntax, at, detail}
}

// space returns the offset of the first byte at or after i that is not white space.
func (s *scanner) space(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\n' || s.b[i] == '\r' || s.b[i] == '\t') {
		i++
	}
	return i
}

// value scans the value that starts at i and returns the offset after it.
func (s *scanner) value(i, depth int) (int, error) {
	if i >= len(s.b) {
		return i, s.syntax(i, "")
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i)
	case c == '{' || c == '[':
		if depth >= s.maxDepth {
			return i, &Error{TooDeep, i, fmt.Sprintf("nested deeper than %d levels", s.maxDepth)}
		}
		if c == '{' {
			return s.object(i, depth+1, nil)
		}
		return s.array(i, depth+1, nil)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return i, s.syntax(i, fmt.Sprintf("unexpected character %q", rune(s.b[i])))
}

func (s *scanner) literal(i int, word string) (int, error) {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return i, s.syntax(i, "unknown word")
	}
	return i + len(word), nil
}

// object scans an object, handing each key (with its quotes) and value to visit.
func (s *scanner) object(i, depth int, visit func(key, value []byte) error) (int, error) {
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(s.b) || s.b[i] != '"' {
			return i, s.syntax(i, "expected a key in quotes")
		}
		end, err := s.str(i)
		if err != nil {
			return end, err
		}
		key := s.b[i:end]
		if i = s.space(end); i >= len(s.b) || s.b[i] != ':' {
			return i, s.syntax(i, "expected a colon after the key")
		}
		start := s.space(i + 1)
		if end, err = s.value(start, depth); err != nil {
			return end, err
		}
		if visit != nil {
			if err := visit(key, s.b[start:end:end]); err != nil {
				return end, err
			}
		}
		i = s.space(end)
		if i < len(s.b) && s.b[i] == '}' {
			return i + 1, nil
		}
		if i >= len(s.b) || s.b[i] != ',' {
			return i, s.syntax(i, "expected a comma or the end of the object")
		}
		i = s.space(i + 1)
	}
}

// array scans an array, handing each element to visit.
func (s *scanner) array(i, depth int, visit func(element []byte) error) (int, error) {
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := s.value(i, depth)
		if err != nil {
			return end, err
		}
		if visit != nil {
			if err := visit(s.b[i:end:end]); err != nil {
				return end, err
			}
		}
		i = s.space(end)
		if i < len(s.b) && s.b[i] == ']' {
			return i + 1, nil
		}
		if i >= len(s.b) || s.b[i] != ',' {
			return i, s.syntax(i, "expected a comma or the end of the array")
		}
		i = s.space(i + 1)
	}
}

// str scans a string, from its opening quote.
func (s *scanner) str(i int) (int, error) {
	start := i
	ascii := true
	for i++; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			if s.strict && !ascii && !utf8.Valid(s.b[start:i]) {
				return i, &Error{InvalidUTF8, start, "a string that is not valid UTF-8"}
			}
			return i + 1, nil
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return i, err
			}
			i += n - 1
		case c < 0x20:
			return i, s.syntax(i, "control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return i, s.syntax(i, "")
}

// escape returns how many bytes the escape at i takes, a surrogate pair as one.
func (s *scanner) escape(i int) (int, error) {
	if i+1 >= len(s.b) {
		return 0, s.syntax(len(s.b), "")
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, s.syntax(i, "unknown escape in a string")
	}
	r, ok := hex4(s.b, i+2)
	if !ok {
		return 0, s.syntax(i, "bad \\u escape in a string")
	}
	if !s.strict {
		return 6, nil
	}
	switch {
	case r == 0:
		return 0, &Error{NulEscape, i, "the character U+0000"}
	case r >= 0xD800 && r < 0xDC00:
		if i+7 < len(s.b) && s.b[i+6] == '\\' && s.b[i+7] == 'u' {
			if low, ok := hex4(s.b, i+8); ok && low >= 0xDC00 && low < 0xE000 {
				return 12, nil
			}
		}
		return 0, &Error{Surrogate, i, "half of a surrogate pair"}
	case r >= 0xDC00 && r < 0xE000:
		return 0, &Error{Surrogate, i, "half of a surrogate pair"}
	}
	return 6, nil
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i:i+4]), 16, 16)
	return rune(n), err == nil
}

// number scans a number by the grammar of RFC 8259, section 6.
func (s *scanner) number(i int) (int, error) {
	start := i
	if s.b[i] == '-' {
		i++
	}
	first := i
	i = s.digits(i)
	if i == first || s.b[first] == '0' && i > first+1 {
		return i, s.syntax(first, "bad number")
	}
	whole := i - first
	if i < len(s.b) && s.b[i] == '.' {
		from := i + 1
		if i = s.digits(from); i == from {
			return i, s.syntax(i, "bad number")
		}
	}
	exp := 0
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		from := i + 1
		if i = from; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		digits := i
		if i = s.digits(i); i == digits {
			return i, s.syntax(i, "bad number")
		}
		var err error
		if exp, err = strconv.Atoi(string(s.b[from:i])); err != nil {
			exp = math.MaxInt32
		}
	}
	// numeric holds up to 131072 digits before the decimal point and 16383
	// after it: https://www.postgresql.org/docs/15/datatype-numeric.html
	if s.strict && (whole+exp > 131072 || exp < -16000 || i-start > 100000) {
		return i, &Error{NumberRange, start, "a number too large to be stored"}
	}
	return i, nil
}

func (s *scanner) digits(i int) int {
	for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
		i++
	}
	return i
}
