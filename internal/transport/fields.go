package transport

import (
	"errors"
	"strings"
)

// A member is one member of a structured field (RFC 9651) that is a list of
// items or a dictionary of items. Values are kept as text.
type member struct {
	key    string // of a dictionary
	value  string // a string without its quotes and escapes; a number as written; a boolean as "?1" or "?0"
	params map[string]string
}

var errField = errors.New("not a structured field")

// parseList parses a field that is a list of items by RFC 9651, section 4.2.1.
// Inner lists, which no field here has, are errors.
func parseList(field string) ([]member, error) {
	p := fieldParser{s: field}
	return p.members(func() (member, error) { return p.item("") })
}

// parseDictionary parses a field that is a dictionary of items by RFC 9651,
// section 4.2.2. Of a key that occurs twice the last counts, in the first place.
func parseDictionary(field string) ([]member, error) {
	p := fieldParser{s: field}
	all, err := p.members(func() (member, error) {
		key, err := p.key()
		if err != nil {
			return member{}, err
		}
		if !p.take('=') {
			params, err := p.params()
			return member{key, "?1", params}, err
		}
		return p.item(key)
	})
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(all))
	folded := all[:0]
	for _, m := range all {
		if i, ok := at[m.key]; ok {
			folded[i] = m
			continue
		}
		at[m.key] = len(folded)
		folded = append(folded, m)
	}
	return folded, nil
}

type fieldParser struct {
	s  string
	at int
}

func (p *fieldParser) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

func (p *fieldParser) take(c byte) bool {
	if p.at < len(p.s) && p.s[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *fieldParser) skip(blanks string) {
	for p.at < len(p.s) && strings.IndexByte(blanks, p.s[p.at]) >= 0 {
		p.at++
	}
}

// members reads what one reads, separated by commas, to the end of the field.
func (p *fieldParser) members(one func() (member, error)) ([]member, error) {
	p.skip(" ")
	var all []member
	for p.at < len(p.s) {
		m, err := one()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		p.skip(" \t")
		if p.at == len(p.s) {
			return all, nil
		}
		if !p.take(',') {
			return nil, errField
		}
		p.skip(" \t")
		if p.at == len(p.s) {
			return nil, errField // a comma at the end
		}
	}
	return all, nil
}

func (p *fieldParser) item(key string) (member, error) {
	value, err := p.bare()
	if err != nil {
		return member{}, err
	}
	params, err := p.params()
	return member{key, value, params}, err
}

func (p *fieldParser) params() (map[string]string, error) {
	params := map[string]string{}
	for p.take(';') {
		p.skip(" ")
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		params[key] = "?1"
		if p.take('=') {
			if params[key], err = p.bare(); err != nil {
				return nil, err
			}
		}
	}
	return params, nil
}

func (p *fieldParser) key() (string, error) {
	if c := p.peek(); c != '*' && (c < 'a' || c > 'z') {
		return "", errField
	}
	return p.run(func(c byte) bool {
		return c >= 'a' && c <= 'z' || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
	}), nil
}

func (p *fieldParser) run(in func(byte) bool) string {
	start := p.at
	for p.at < len(p.s) && in(p.s[p.at]) {
		p.at++
	}
	return p.s[start:p.at]
}

func (p *fieldParser) bare() (string, error) {
	switch c := p.peek(); {
	case c == '"':
		return p.quoted()
	case c == '-' || isDigit(c):
		return p.number()
	case c == '?':
		if p.at++; p.take('0') {
			return "?0", nil
		} else if p.take('1') {
			return "?1", nil
		}
	case c == '*' || isAlpha(c):
		return p.run(func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		}), nil
	case c == ':':
		p.at++
		text := p.run(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("+/=", c) >= 0 })
		if p.take(':') {
			return text, nil
		}
	}
	return "", errField
}

func (p *fieldParser) quoted() (string, error) {
	p.at++
	var b strings.Builder
	for p.at < len(p.s) {
		c := p.s[p.at]
		p.at++
		switch {
		case c == '"':
			return b.String(), nil
		case c == '\\':
			if c = p.peek(); c != '"' && c != '\\' {
				return "", errField
			}
			p.at++
		case c < ' ' || c > '~':
			return "", errField
		}
		b.WriteByte(c)
	}
	return "", errField
}

// number reads an integer of up to 15 digits, or a decimal of up to 12 and 3.
func (p *fieldParser) number() (string, error) {
	start := p.at
	p.take('-')
	whole := p.run(isDigit)
	if len(whole) == 0 || len(whole) > 15 {
		return "", errField
	}
	if p.take('.') {
		fraction := p.run(isDigit)
		if len(whole) > 12 || len(fraction) == 0 || len(fraction) > 3 {
			return "", errField
		}
	}
	return p.s[start:p.at], nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
