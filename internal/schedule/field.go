package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A field is one of the five of an expression.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on, in lower case
	day      bool     // ? means * here, as in Quartz
	week     bool     // 7 is another name of 0
}

var fields = [5]field{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31, day: true},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", max: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, day: true, week: true},
}

// rewrite checks the text of a field and returns it in the form that
// robfig/cron reads: without ? and without a 7 for Sunday. It checks all of the
// grammar, because robfig/cron lets pass what it does not understand: empty
// elements of lists, signs, "*-5", steps that are never taken.
func (f field) rewrite(text string) (string, error) {
	if text == "?" && f.day {
		// The one extension that is safe to take over: whoever writes it means
		// "any", in every dialect that has it.
		return "*", nil
	}
	elements := strings.Split(text, ",")
	for i, element := range elements {
		if element == "" {
			return "", fmt.Errorf("the %s %s has an empty element: remove the comma that is too many", f.name, quote(text))
		}
		rewritten, err := f.element(element)
		if err != nil {
			return "", err
		}
		elements[i] = rewritten
	}
	return strings.Join(elements, ","), nil
}

// element checks one element of a list: *, N, N-M, each with or without /STEP.
func (f field) element(text string) (string, error) {
	base, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, ok := number(stepText)
		switch {
		case !ok:
			return "", f.unknown(text, "step "+quote(stepText))
		case n == 0:
			return "", fmt.Errorf("the %s %s has a step of 0: use 1 or more", f.name, quote(text))
		case n > f.max-f.min:
			return "", fmt.Errorf("the %s %s has a step larger than the field, which goes from %d to %d: use a step of at most %d, or the one value that is meant",
				f.name, quote(text), f.min, f.max, f.max-f.min)
		}
		step = n
	}
	if base == "*" {
		return text, nil
	}
	lowText, highText, ranged := strings.Cut(base, "-")
	low, err := f.value(text, lowText)
	if err != nil {
		return "", err
	}
	if !ranged {
		if f.week && low == 7 {
			return "0" + text[len(lowText):], nil
		}
		return text, nil
	}
	high, err := f.value(text, highText)
	if err != nil {
		return "", err
	}
	if f.week {
		// Sunday begins a range as 0 and ends it as 7, however it is written.
		switch {
		case low == 7 && high == 7:
			low, high = 0, 0
		case low == 7:
			low = 0
		case high == 0 && low > 0:
			high = 7
		}
	}
	if low > high {
		return "", fmt.Errorf("the %s %s runs backwards: write %d-%d,%d-%d", f.name, quote(text), low, f.max, f.min, high)
	}
	if high <= f.max {
		return fmt.Sprintf("%d-%d/%d", low, high, step), nil
	}
	var days []string
	for day := low; day <= high; day += step {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ","), nil
}

// value reads a number or a name. The element that it is part of is for errors.
func (f field) value(element, text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	n, ok := number(text)
	if !ok {
		return 0, f.unknown(element, quote(text))
	}
	highest := f.max
	if f.week {
		highest = 7
	}
	if n < f.min || n > highest {
		return 0, fmt.Errorf("the %s %s is out of range: use %s", f.name, quote(text), f.usage())
	}
	return n, nil
}

// usage says what values the field takes.
func (f field) usage() string {
	u := fmt.Sprintf("%d to %d", f.min, f.max)
	if len(f.names) > 0 {
		u += fmt.Sprintf(", or %s to %s", strings.ToUpper(f.names[0]), strings.ToUpper(f.names[len(f.names)-1]))
	}
	return u
}

// number reads digits only: no sign, no fraction. A number that is too large
// for any field is read as a number that is too large.
func number(text string) (n int, ok bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1 << 30, true
	}
	return n, true
}
