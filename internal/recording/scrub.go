package recording

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf16"
)

// placeholder stands in the place of a secret. Further secrets get a number,
// so that two that differ still do: placeholder-2.
const placeholder = "scrubbed"

var placeholders = regexp.MustCompile(placeholder + `(?:-[0-9]+)?`)

// A Scrubber replaces secrets in what is recorded. It knows three kinds: the
// source's credentials in any spelling, the values of names that sound secret
// (secretName), and what has the form of a key (shapes). All else stays byte for
// byte, and what was valid JSON is afterwards.
//
// The same secret is replaced by the same text everywhere, so that a request
// that repeats part of an answer still does.
type Scrubber struct {
	needles *needles
	wide    [][]byte // the credentials in UTF-16
	guesses bool     // look for more than the credentials
	given   map[string]string
}

// errUnscrubbed: a secret is where no other bytes can be put in its place.
var errUnscrubbed = errors.New("it holds a secret in a form that cannot be scrubbed")

// NewScrubber returns a scrubber of the credentials, by their keys.
func NewScrubber(credentials map[string]string) (*Scrubber, error) {
	all, err := needlesOf(credentials)
	if err != nil {
		return nil, err
	}
	s := &Scrubber{needles: newNeedles(all), guesses: true, given: map[string]string{}}
	for _, n := range all {
		if string(n.text) == n.secret && !n.word {
			little, big := utf16Of(n.secret)
			s.wide = append(s.wide, little, big)
		}
	}
	return s, nil
}

// A span is a part of a text that is replaced.
type span struct {
	from, to int
	secret   string // what it stands for
	number   bool   // it is a JSON number, and stays one
}

// Body returns a body without its secrets. One that holds a secret beyond
// reach, in UTF-16 or compressed, is an error.
func (s *Scrubber) Body(body []byte) ([]byte, error) {
	for _, wide := range s.wide {
		if bytes.Contains(body, wide) {
			return nil, errUnscrubbed
		}
	}
	if packed, err := s.packed(body); packed {
		return body, err
	}
	out := s.replace(body, s.inBody(body))
	if s.known().holds(out) || s.broken(out) {
		return nil, errUnscrubbed
	}
	return out, nil
}

// surelyBroken is how long a spelling must be that is looked for across lines.
const surelyBroken = 16

// broken reports whether a credential is in the body across what it is made of:
// several JSON values, or several lines, as in wrapped base64.
func (s *Scrubber) broken(body []byte) bool {
	for _, n := range s.needles.all {
		if !n.word && bytes.Contains(body, n.text) {
			return true
		}
	}
	if bytes.IndexByte(body, '\n') < 0 && !bytes.Contains(body, []byte(`\n`)) {
		return false
	}
	joined := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\r' || c == '\n' || c == ' ' || c == '\t':
		case c == '\\' && i+1 < len(body) && (body[i+1] == 'n' || body[i+1] == 'r'):
			i++
		default:
			joined = append(joined, c)
		}
	}
	for _, n := range s.needles.all {
		if len(n.text) >= surelyBroken && bytes.Contains(joined, n.text) {
			return true
		}
	}
	return false
}

// Text returns a URL, a header's value or an error's text without its secrets.
func (s *Scrubber) Text(text string) (string, error) {
	out := s.replace([]byte(text), s.inText([]byte(text), value, depth))
	if len(s.known().inText(out, value, depth)) > 0 {
		return "", errUnscrubbed
	}
	return string(out), nil
}

// known returns the scrubber that looks for the credentials alone.
func (s *Scrubber) known() *Scrubber { return &Scrubber{needles: s.needles, given: s.given} }

func (s *Scrubber) holds(body []byte) bool { return len(s.inBody(body)) > 0 }

// depth is how many escapings within each other are looked through.
const depth = 4

// inBody finds the secrets of a body: of JSON by its structure; of all else,
// NDJSON among it, line by line.
func (s *Scrubber) inBody(body []byte) []span {
	bom := len(body) - len(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if text := body[bom:]; json.Valid(text) {
		return shift(s.inJSON(text, depth), bom)
	}
	var found []span
	if s.guesses {
		found = privateKeys(body) // they have many lines
	}
	for _, n := range s.needles.all {
		if bytes.IndexByte(n.text, '\n') >= 0 {
			each(body, string(n.text), func(at int) int {
				found = append(found, span{from: at, to: at + len(n.text), secret: n.secret})
				return at + len(n.text)
			})
		}
	}
	for from := 0; from < len(body); {
		to := len(body)
		if n := bytes.IndexByte(body[from:], '\n'); n >= 0 {
			to = from + n + 1
		}
		line := body[from:to]
		if structured(line) {
			found = append(found, shift(s.inJSON(line, depth), from)...)
		} else {
			found = append(found, shift(s.inText(line, loose, depth), from)...)
		}
		from = to
	}
	return append(found, s.needles.tail(body)...)
}

// structured reports whether a text is a JSON object or array.
func structured(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 1 && (text[0] == '{' || text[0] == '[') && json.Valid(text)
}

// A kind is what a text is taken for.
type kind int

const (
	value kind = iota // of a field, a header; a URL
	loose             // a body that is nothing known
	name              // of a field: named is no use, and a short user name may be a word of it
)

// inText finds the secrets of a text, also behind its escapings and in JSON
// that it is.
func (s *Scrubber) inText(text []byte, is kind, depth int) []span {
	if len(text) < 3 {
		return nil
	}
	found := s.plainly(text, is)
	if depth == 0 {
		return found
	}
	if structured(text) {
		found = append(found, s.inJSON(text, depth-1)...)
	}
	for _, layer := range layers {
		if v, ok := layer(text); ok {
			for _, inner := range s.inText(v.text, is, depth-1) {
				found = append(found, v.lift(inner))
			}
		}
	}
	return found
}

// plainly finds the secrets of a text that is taken as it is.
func (s *Scrubber) plainly(text []byte, is kind) (found []span) {
	found = s.needles.in(text, is)
	if !s.guesses {
		return found
	}
	if is != name {
		found = append(found, named(text, is == loose)...)
	}
	return append(found, shaped(text)...)
}

func shift(spans []span, by int) []span {
	for i := range spans {
		spans[i].from += by
		spans[i].to += by
	}
	return spans
}

// join returns the spans in order, those that overlap as one.
func join(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.to != b.to:
			return b.to - a.to
		case a.number != b.number && a.number:
			return -1
		case a.number != b.number:
			return 1
		}
		return 0
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			if s.to > out[n-1].to {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// replace puts placeholders in the place of the spans.
func (s *Scrubber) replace(text []byte, spans []span) []byte {
	if len(spans) == 0 {
		return text
	}
	var out []byte
	end := 0
	for _, sp := range join(spans) {
		out = append(out, text[end:sp.from]...)
		if sp.number {
			out = append(out, '0')
		} else {
			out = append(out, s.standIn(sp.secret)...)
		}
		end = sp.to
	}
	return append(out, text[end:]...)
}

// standIn returns the placeholder of a secret.
func (s *Scrubber) standIn(secret string) string {
	if placeholders.FindString(secret) == secret {
		return secret // it is one already: what a recording answered
	}
	text, ok := s.given[secret]
	if !ok {
		if text = placeholder; len(s.given) > 0 {
			text += "-" + strconv.Itoa(len(s.given)+1)
		}
		s.given[secret] = text
	}
	return text
}

// utf16Of returns a text in UTF-16, either way around.
func utf16Of(text string) (little, big []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
	}
	return little, big
}
