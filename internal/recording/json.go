package recording

import "bytes"

// A walk finds the secrets of a JSON text, which is valid.
type walk struct {
	scrub *Scrubber
	text  []byte
	depth int
	found []span
}

// place says what a value stands below.
type place int

const (
	open   place = iota // nothing secret
	listed              // the plural of a secret name: strings alone are, since counts and lists of objects have such names too
	direct              // a secret name
	below               // an object or array that a secret name has
)

// inJSON finds the secrets of a valid JSON text. Strings are read as what they
// spell. The strings below a secret name are secret whatever they are, and so
// is a number that has one.
func (s *Scrubber) inJSON(text []byte, depth int) []span {
	w := walk{scrub: s, text: text, depth: depth}
	w.value(0, open)
	return w.found
}

// value walks the value at or after i and returns its end.
func (w *walk) value(i int, at place) int {
	i = w.space(i)
	switch w.text[i] {
	case '{':
		return w.object(i, at)
	case '[':
		for i = w.space(i + 1); w.text[i] != ']'; i = w.space(i) {
			if w.text[i] == ',' {
				i++
			}
			i = w.value(i, at)
		}
		return i + 1
	case '"':
		end := w.str(i)
		w.string(i+1, end-1, at)
		return end
	}
	end := i
	for end < len(w.text) && (wordByte(w.text[end]) || w.text[end] == '+' || w.text[end] == '-' || w.text[end] == '.') {
		end++
	}
	if c := w.text[i]; c == '-' || '0' <= c && c <= '9' {
		w.number(i, end, at)
	}
	return end
}

func (w *walk) object(i int, at place) int {
	secret, pair := false, -1 // {"name": "password", "value": ...}: whether the name is one, and where the value is
	for i = w.space(i + 1); w.text[i] != '}'; i = w.space(i) {
		if w.text[i] == ',' {
			i = w.space(i + 1)
		}
		end := w.str(i)
		v := inString(w.text[i+1 : end-1])
		w.add(v, i+1, name)
		member := at
		switch {
		case w.scrub.guesses && secretName(v.text):
			member = direct
		case w.scrub.guesses && at == open && bytes.HasSuffix(v.text, []byte("s")) && secretName(v.text[:len(v.text)-1]):
			member = listed
		case at == direct:
			member = below
		case at == listed:
			member = open
		}
		from := w.space(w.space(end) + 1) // after the colon
		i = w.value(from, member)
		switch string(v.text) {
		case "name", "key":
			secret = secret || w.text[from] == '"' && secretName(inString(w.text[from+1:w.str(from)-1]).text)
		case "value":
			pair = from
		}
	}
	if secret && pair >= 0 && w.scrub.guesses && w.text[pair] == '"' {
		w.string(pair+1, w.str(pair)-1, direct)
	}
	return i + 1
}

// string finds what is secret between two quotes.
func (w *walk) string(from, to int, at place) {
	v := inString(w.text[from:to])
	if at != open {
		if len(v.text) > 0 {
			w.found = append(w.found, span{from: from, to: to, secret: string(v.text)})
		}
		return
	}
	w.add(v, from, value)
}

// add adds what is secret in a view of the text at from.
func (w *walk) add(v view, from int, is kind) {
	for _, s := range w.scrub.inText(v.text, is, w.depth) {
		s = v.lift(s)
		s.from += from
		s.to += from
		w.found = append(w.found, s)
	}
}

// number finds out whether a number is secret: all of it, then.
func (w *walk) number(from, to int, at place) {
	secret := at == direct || len(w.scrub.needles.in(w.text[from:to], value)) > 0
	if secret && string(w.text[from:to]) != "0" {
		w.found = append(w.found, span{from: from, to: to, number: true})
	}
}

// str returns the end of the string that begins at i.
func (w *walk) str(i int) int {
	for i++; w.text[i] != '"'; i++ {
		if w.text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func (w *walk) space(i int) int {
	for i < len(w.text) && (w.text[i] == ' ' || w.text[i] == '\t' || w.text[i] == '\r' || w.text[i] == '\n') {
		i++
	}
	return i
}

// inString returns what is between the quotes of a JSON string.
func inString(raw []byte) view {
	if v, ok := undo(raw, '\\', backslash); ok {
		return v
	}
	return view{text: raw}
}
