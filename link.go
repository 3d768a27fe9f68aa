package syncd

import (
	"fmt"
	"strings"

	"github.com/syncdhq/syncd/internal/origin"
)

// NextLink returns the target of the first link with the relation "next" in
// the answer's Link headers (RFC 8288), resolved against the answer's URL, or
// "" if there is none. A next link to another origin is an error.
func (r *Response) NextLink() (string, error) {
	for _, header := range r.Header.Values("Link") {
		if target := linkTarget(header, "next"); target != "" {
			return r.NextURL(target)
		}
	}
	return "", nil
}

// NextURL resolves a reference to the next page, absolute or relative, against
// the answer's URL (RFC 3986, section 5). An empty reference is the end of the
// list: "". A reference to another origin, or to the page it came from, is an error.
func (r *Response) NextURL(ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	if strings.TrimSpace(ref) == "" {
		return "", fmt.Errorf("next page: the reference %q is blank", ref)
	}
	next, err := r.URL.Parse(ref)
	if err != nil {
		return "", fmt.Errorf("next page: %q is not a URL", ref)
	}
	if !origin.Same(next, r.URL) {
		return "", fmt.Errorf("next page: %s is another origin than %s", origin.Of(next), origin.Of(r.URL))
	}
	next.Host = r.URL.Host
	next.Fragment = ""
	if next.String() == r.URL.String() {
		return "", fmt.Errorf("next page: it is the same page again")
	}
	return next.String(), nil
}

// linkTarget returns the target of the first link in a Link header that has
// the relation, by the grammar of RFC 8288, section 3.
func linkTarget(header, relation string) string {
	s := header
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			return ""
		}
		s = s[open+1:]
		end := strings.IndexByte(s, '>')
		if end < 0 {
			return ""
		}
		target := s[:end]
		params, rest := linkParams(s[end+1:])
		for _, p := range params {
			if !strings.EqualFold(p[0], "rel") {
				continue
			}
			for _, rel := range strings.Fields(p[1]) {
				if strings.EqualFold(rel, relation) {
					return target
				}
			}
			break // only the first rel parameter counts
		}
		s = rest
	}
}

// linkParams reads the parameters of one link and returns what follows its comma.
func linkParams(s string) (params [][2]string, rest string) {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return params, ""
		}
		if s[0] == ',' {
			return params, s[1:]
		}
		if s[0] == ';' {
			s = s[1:]
			continue
		}
		n := strings.IndexAny(s, "=;,")
		if n < 0 {
			n = len(s)
		}
		name, value := strings.TrimSpace(s[:n]), ""
		if s = s[n:]; strings.HasPrefix(s, "=") {
			value, s = linkValue(strings.TrimLeft(s[1:], " \t"))
		}
		params = append(params, [2]string{name, value})
	}
}

// linkValue reads a token or a quoted string.
func linkValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		n := strings.IndexAny(s, ";,")
		if n < 0 {
			n = len(s)
		}
		return strings.TrimSpace(s[:n]), s[n:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
