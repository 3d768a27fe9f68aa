package schedule

import (
	"fmt"
	"strings"
)

// unknown says why a part of an element cannot be read, and what to write
// instead: above all for what other schedulers have and crontab has not.
func (f field) unknown(element, part string) error {
	upper := strings.ToUpper(element)
	switch {
	case part == `""` || part == `step ""`:
		return fmt.Errorf("the %s %s lacks a number: use %s", f.name, quote(element), f.usage())
	case strings.Contains(element, "?"):
		return fmt.Errorf("the %s %s: ? stands only for a whole day field: use *", f.name, quote(element))
	case strings.Contains(element, "#"):
		return fmt.Errorf("the %s %s: # (the nth weekday of a month) is not supported: use the weekday alone for every week, or a range of days of the month alone, such as 8-14", f.name, quote(element))
	case strings.Contains(element, "~"):
		return fmt.Errorf("the %s %s: ~ (a random value) is not supported: use a fixed number", f.name, quote(element))
	case upper[0] == 'H' && strings.Trim(upper[1:], "()-/0123456789") == "":
		return fmt.Errorf("the %s %s: H (a value of the scheduler's choice) is not supported: use a fixed number", f.name, quote(element))
	}
	if name, ok := f.longName(strings.Trim(part, `"`)); ok {
		return fmt.Errorf("the %s %s is spelled out: write %s", f.name, part, strings.ToUpper(name))
	}
	// Of letters only those two: L, 5L, L-3, LW, 15W.
	if strings.ContainsAny(upper, "LW") && strings.Trim(upper, "LW-/0123456789") == "" {
		if strings.Contains(upper, "W") {
			return fmt.Errorf("the %s %s: W (the nearest weekday) is not supported: use a fixed day", f.name, quote(element))
		}
		return fmt.Errorf("the %s %s: L (the last) is not supported: use a fixed day, such as 1 for the first of the month or 28 for one that every month has", f.name, quote(element))
	}
	return fmt.Errorf("the %s %s: %s is not known: use %s", f.name, quote(element), part, f.usage())
}

// longName returns the short name of a month or weekday that is written in full.
func (f field) longName(text string) (string, bool) {
	text = strings.ToLower(text)
	for _, name := range f.names {
		if len(text) > len(name) && strings.HasPrefix(text, name) && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == "" {
			return name, true
		}
	}
	return "", false
}
