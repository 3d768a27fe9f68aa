package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A needle is one spelling of one of the source's credentials.
type needle struct {
	text   []byte
	secret string
	word   bool // it counts only where it is a word by itself
	run    bool // base64: what it is part of goes with it
}

const (
	shortest = 4 // bytes of a secret that can be told from other text
	surely   = 8 // bytes of a user name that is looked for within words as well
)

// needlesOf returns the spellings to look for. What percent signs, backslashes
// or entities hide is not among them: the layers undo those.
//
// A user name beside a password is hardly secret: a short one is replaced only
// where it is a word by itself, and one below four bytes only in base64 with
// its password. Any other value as short as that cannot be looked for, and is an error.
func needlesOf(credentials map[string]string) ([]needle, error) {
	var all []needle
	user, password := credentials["username"], credentials["password"]
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		value := credentials[key]
		mild := key == "username" && password != ""
		switch {
		case value == "" || mild && len(value) < shortest:
			continue
		case len(value) < shortest:
			return nil, fmt.Errorf("credentials: %s is shorter than %d bytes, so it cannot be told from other text", key, shortest)
		case mild && len(value) < surely:
			all = append(all, needle{text: []byte(value), secret: value, word: true})
		default:
			all = append(all, spellings(value)...)
		}
	}
	if user != "" || password != "" {
		pair := user + ":" + password
		for _, text := range encoded(pair, base64.StdEncoding, base64.RawURLEncoding) {
			all = append(all, needle{text: []byte(text), secret: pair, run: true})
		}
	}
	return all, nil
}

// spellings returns a secret's.
func spellings(secret string) []needle {
	all := []needle{{text: []byte(secret), secret: secret}}
	if escaped := url.QueryEscape(secret); strings.Contains(escaped, "+") { // a space: percent signs are for the layers
		all = append(all, needle{text: []byte(strings.ReplaceAll(secret, " ", "+")), secret: secret}, needle{text: []byte(escaped), secret: secret})
	}
	lower := hex.EncodeToString([]byte(secret))
	all = append(all, needle{text: []byte(lower), secret: secret}, needle{text: []byte(strings.ToUpper(lower)), secret: secret})
	inBase64 := within(secret)
	for _, other := range escapedForms(secret) { // the layers do not look below base64
		inBase64 = append(inBase64, within(other)...)
	}
	slices.Sort(inBase64)
	for _, text := range slices.Compact(inBase64) {
		all = append(all, needle{text: []byte(text), secret: secret, run: true})
	}
	return all
}

// escapedForms returns a secret as it is in a query and in JSON, where that is
// not as it is.
func escapedForms(secret string) (all []string) {
	quoted, plainly := jsonForms(secret)
	for _, form := range []string{
		url.QueryEscape(secret), url.PathEscape(secret), quoted, plainly,
		strings.ReplaceAll(quoted, "/", `\/`), strings.ReplaceAll(plainly, "/", `\/`),
	} {
		if form != secret && !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return all
}

// jsonForms returns what is between the quotes of a secret in JSON, as writers
// that care for HTML spell it and as the others do.
func jsonForms(secret string) (html, plainly string) {
	careful, err := json.Marshal(secret)
	other, err2 := encode(secret, "")
	if err != nil || err2 != nil {
		return secret, secret // never: a string has a JSON form
	}
	return string(careful[1 : len(careful)-1]), string(other[1 : len(other)-1])
}

// within returns what base64 of a longer text that holds the secret shows of
// it: the characters that depend on nothing else, for each of the three ways
// in which three bytes can fall on it.
func within(secret string) (all []string) {
	for shift := range 3 {
		padded := strings.Repeat("\x00", shift) + secret
		first := (shift*8 + 5) / 6  // characters that the bytes before it have a share in
		last := len(padded) * 8 / 6 // and those that the bytes after it have
		if last-first < shortest {
			continue
		}
		for _, text := range encoded(padded, base64.RawStdEncoding, base64.RawURLEncoding) {
			all = append(all, text[first:last])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func encoded(text string, encodings ...*base64.Encoding) (all []string) {
	for _, e := range encodings {
		all = append(all, e.EncodeToString([]byte(text)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// needles are looked for all at once, by their first bytes.
type needles struct {
	all     []needle
	byFirst [256][]needle
	longest int // bytes of a needle
}

func newNeedles(all []needle) *needles {
	s := &needles{all: all}
	for _, n := range all {
		s.byFirst[n.text[0]] = append(s.byFirst[n.text[0]], n)
		s.longest = max(s.longest, len(n.text))
	}
	return s
}

// in finds the credentials in a text.
func (s *needles) in(text []byte, is kind) (found []span) {
	end := 0 // of the last one: what begins in it is replaced already
	for i, c := range text {
		for _, n := range s.byFirst[c] {
			if i < end && (n.run || i+len(n.text) <= end) {
				continue
			}
			if sp, ok := n.at(text, i, is); ok {
				found, end = append(found, sp), sp.to
			}
		}
	}
	return found
}

// at returns what is to be replaced if the needle is in the text at i.
func (n needle) at(text []byte, i int, is kind) (span, bool) {
	if !bytes.HasPrefix(text[i:], n.text) {
		return span{}, false
	}
	from, to := i, i+len(n.text)
	if n.word && (is == name || from > 0 && wordByte(text[from-1]) || to < len(text) && wordByte(text[to])) {
		return span{}, false
	}
	if n.run {
		for from > 0 && base64Byte(text[from-1]) {
			from--
		}
		for to < len(text) && base64Byte(text[to]) {
			to++
		}
		for to < len(text) && text[to] == '=' {
			to++
		}
	}
	return span{from: from, to: to, secret: n.secret}, true
}

// base64Byte leaves the slash out: it is in paths as well, and what is beyond
// one is no part of the secret.
func base64Byte(c byte) bool { return wordByte(c) || c == '-' || c == '+' }
