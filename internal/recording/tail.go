package recording

import (
	"bytes"
	"regexp"
)

// longestUnit is how many bytes one byte of a credential may be spelt with,
// where escapings lie within each other.
const longestUnit = 16

// unfinished is an escape that lacks its end.
var unfinished = regexp.MustCompile(`(?:%[0-9A-Fa-f]?|\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|&#?[0-9A-Za-z]{0,8})$`)

// tail finds the beginning of a credential at the end of a body. A body may be
// cut anywhere: by a limit, or by whoever stopped reading it.
func (s *needles) tail(body []byte) []span {
	from := max(0, len(body)-longestUnit*s.longest)
	sp, ok := s.begun(body[from:], depth)
	if !ok {
		return nil
	}
	return []span{{from: from + sp.from, to: len(body), secret: sp.secret}}
}

// begun returns where the credential begins that a text ends in the middle of.
func (s *needles) begun(text []byte, depth int) (first span, ok bool) {
	add := func(from int, secret string) {
		if !ok || from < first.from {
			first, ok = span{from: from, secret: secret}, true
		}
	}
	text = text[:len(text)-len(unfinished.Find(text))]
	for _, n := range s.all {
		least := shortest
		if string(n.text) != n.secret {
			least = surely // hex and base64 show less for their length
		}
		for l := min(len(n.text)-1, len(text)); l >= least && !n.word; l-- {
			if bytes.HasSuffix(text, n.text[:l]) {
				add(len(text)-l, n.secret)
				break
			}
		}
	}
	if depth == 0 {
		return first, ok
	}
	for _, layer := range layers {
		if v, escaped := layer(text); escaped {
			if sp, ok := s.begun(v.text, depth-1); ok {
				add(int(v.at[sp.from]), sp.secret)
			}
		}
	}
	return first, ok
}
