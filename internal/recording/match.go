package recording

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A pair is one parameter of a query.
type pair struct{ name, value string }

// split takes a recorded URL apart.
func (q Request) split() (path string, pairs []pair) {
	path, query, _ := strings.Cut(q.URL, "?")
	if query == "" {
		return path, nil
	}
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, pair{unescape(name), unescape(value)})
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	return path, pairs
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// equal reports whether two requests ask the same, the order of parameters aside.
func equal(recorded, asked Request) bool {
	path, pairs := recorded.split()
	otherPath, others := asked.split()
	return recorded.Method == asked.Method && path == otherPath && slices.Equal(pairs, others) && bytes.Equal(recorded.bytes(), asked.bytes())
}

// placeholders returns how much of a recorded request was scrubbed.
func (q Request) placeholders() int {
	return len(placeholders.FindAllString(q.URL, -1)) + len(placeholders.FindAllString(q.Text, -1))
}

// fits reports whether the request asked may be the recorded one, in which
// what was scrubbed stands for anything.
func fits(recorded, asked Request) bool { return differs(recorded, asked) == "" }

// covers reports whether a recorded text may be the other one.
func covers(recorded, text string) bool {
	pieces := placeholders.Split(recorded, -1)
	if len(pieces) == 1 {
		return recorded == text
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, after, ok := strings.Cut(text, piece)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// differs says in what a request is not the recorded one; "" if it may be.
func differs(recorded, asked Request) string {
	path, pairs := recorded.split()
	otherPath, others := asked.split()
	switch {
	case recorded.Method != asked.Method:
		return fmt.Sprintf("the method is %s, recorded %s", asked.Method, recorded.Method)
	case !covers(path, otherPath):
		return fmt.Sprintf("the path is %q, recorded %q", otherPath, path)
	}
	missing, extra := unmatched(pairs, others)
	for _, m := range missing {
		if i := slices.IndexFunc(extra, func(p pair) bool { return p.name == m.name }); i >= 0 {
			return fmt.Sprintf("the parameter %s is %q, recorded %q", m.name, extra[i].value, m.value)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("the recorded parameter %s=%s is missing", missing[0].name, missing[0].value)
	case len(extra) > 0:
		return fmt.Sprintf("the parameter %s=%s was not recorded", extra[0].name, extra[0].value)
	}
	if was, is := string(recorded.bytes()), string(asked.bytes()); !covers(was, is) {
		at := common(was, is)
		return fmt.Sprintf("the body differs from byte %d on: it is %q, recorded %q", at, clip(is[at:]), clip(was[at:]))
	}
	return ""
}

// common returns how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// unmatched pairs the parameters off and returns what is left on either side.
func unmatched(recorded, asked []pair) (missing, extra []pair) {
	extra = slices.Clone(asked)
	// Those without a placeholder choose first: they fit one only.
	for _, exact := range []bool{true, false} {
		for _, p := range recorded {
			if exact == placeholders.MatchString(p.name+p.value) {
				continue
			}
			i := slices.IndexFunc(extra, func(o pair) bool { return covers(p.name, o.name) && covers(p.value, o.value) })
			if i < 0 {
				missing = append(missing, p)
				continue
			}
			extra = slices.Delete(extra, i, i+1)
		}
	}
	return missing, extra
}

// nearness is higher the less differs.
func nearness(recorded, asked Request) int {
	path, pairs := recorded.split()
	otherPath, others := asked.split()
	n := 0
	if recorded.Method == asked.Method {
		n += 10
	}
	if covers(path, otherPath) {
		n += 1000
	} else {
		n += min(500, common(path, otherPath))
	}
	missing, extra := unmatched(pairs, others)
	n -= len(missing) + len(extra)
	if covers(string(recorded.bytes()), string(asked.bytes())) {
		n++
	}
	return n
}
