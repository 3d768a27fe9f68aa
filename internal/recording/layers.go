package recording

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A view is a text as it reads with one kind of escaping undone. at has, for
// each byte and for the end, where the unit that it came from begins; nil means
// that nothing was escaped.
type view struct {
	text []byte
	at   []int32
}

// lift returns where a part of the view lies in the text that it was made of.
func (v view) lift(s span) span {
	if v.at == nil {
		return s
	}
	to := s.to
	for to < len(v.text) && v.at[to] == v.at[to-1] { // never half a unit
		to++
	}
	s.from, s.to = int(v.at[s.from]), int(v.at[to])
	return s
}

// undo makes a view. unit reads one escaped unit at the beginning of its
// argument and returns what it stands for and its length, 0 if there is none.
func undo(text []byte, mark byte, unit func([]byte) (string, int)) (view, bool) {
	any := false
	each(text, string(mark), func(i int) int {
		if _, n := unit(text[i:]); n > 0 {
			any = true
			return len(text)
		}
		return 0
	})
	if !any {
		return view{}, false // as mostly: nothing to copy
	}
	v := view{text: make([]byte, 0, len(text)), at: make([]int32, 0, len(text)+1)}
	for i := 0; i < len(text); {
		if text[i] == mark {
			if s, n := unit(text[i:]); n > 0 {
				for range len(s) {
					v.at = append(v.at, int32(i))
				}
				v.text = append(v.text, s...)
				i += n
				continue
			}
		}
		v.text, v.at = append(v.text, text[i]), append(v.at, int32(i))
		i++
	}
	v.at = append(v.at, int32(len(text)))
	return v, true
}

// layers are the escapings that are looked through, one within the other.
var layers = []func([]byte) (view, bool){
	func(text []byte) (view, bool) { return undo(text, '%', percent) },
	func(text []byte) (view, bool) { return undo(text, '\\', backslash) },
	func(text []byte) (view, bool) { return undo(text, '&', entity) },
}

// percent reads %41 (RFC 3986, section 2.1).
func percent(s []byte) (string, int) {
	if len(s) < 3 {
		return "", 0
	}
	n, err := strconv.ParseUint(string(s[1:3]), 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(n)}), 3
}

// plain are the escapes of one letter (RFC 8259, section 7).
var plain = map[byte]string{'"': `"`, '\'': "'", '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// backslash reads the escapes of JSON strings, and \x41 of scripts.
func backslash(s []byte) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	if text, ok := plain[s[1]]; ok {
		return text, 2
	}
	if s[1] == 'x' && len(s) >= 4 {
		if n, err := strconv.ParseUint(string(s[2:4]), 16, 8); err == nil {
			return string([]byte{byte(n)}), 4
		}
	}
	r, ok := hex4(s)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(s[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return string(both), 12
			}
		}
	}
	return string(r), 6
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}

// entity reads the five of XML and those by number (XML 1.0, section 4.1).
func entity(s []byte) (string, int) {
	end := bytes.IndexByte(s[:min(len(s), 12)], ';')
	if end < 2 {
		return "", 0
	}
	name := string(s[1:end])
	if text, ok := entities[name]; ok {
		return text, end + 1
	}
	if name[0] != '#' || len(name) < 2 {
		return "", 0
	}
	base, digits := 10, name[1:]
	if digits[0] == 'x' || digits[0] == 'X' {
		base, digits = 16, digits[1:]
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune {
		return "", 0
	}
	return string(rune(n)), end + 1
}
