package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MinInterval is the shortest duration that @every accepts.
const MinInterval = time.Second

// maxLength bounds an expression. The longest sensible one, every minute
// spelled out, is a fifth of it.
const maxLength = 1000

// descriptors are the names that stand for expressions, as robfig/cron knows them.
var descriptors = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// Parse reads a five-field cron expression, a descriptor such as "@daily", or
// "@every DURATION", in the given zone; nil is UTC. Every error quotes the
// expression, names the problem and says what to write instead. What Parse
// accepts is due again and again: an expression that never fires is an error.
func Parse(expr string, zone *time.Location) (Schedule, error) {
	if zone == nil {
		zone = time.UTC
	}
	s, err := parse(expr, zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %s: %w", quote(expr), err)
	}
	return s, nil
}

func parse(expr string, zone *time.Location) (Schedule, error) {
	if len(expr) > maxLength {
		return Schedule{}, fmt.Errorf("it is %d bytes long: use at most %d, with ranges and steps in place of lists", len(expr), maxLength)
	}
	words := strings.Fields(expr)
	if len(words) == 0 {
		return Schedule{}, errors.New(`it is empty: write five fields such as "0 3 * * *", or "@hourly", or "@every 10m"`)
	}
	s := Schedule{expr: strings.Join(words, " "), zone: zone}
	first := strings.ToUpper(words[0])
	switch {
	case strings.HasPrefix(first, "TZ=") || strings.HasPrefix(first, "CRON_TZ="):
		return Schedule{}, errors.New("a zone inside the expression is not read: set timezone: instead")
	case strings.EqualFold(words[0], "@every"):
		every, err := interval(words)
		s.every = every
		return s, err
	case strings.HasPrefix(first, "@"):
		if err := descriptor(words); err != nil {
			return Schedule{}, err
		}
		return s, s.read(words)
	}
	if err := count(words); err != nil {
		return Schedule{}, err
	}
	given := slices.Clone(words)
	for i, f := range fields {
		word, err := f.rewrite(words[i])
		if err != nil {
			return Schedule{}, err
		}
		words[i] = word
	}
	if err := s.read(words); err != nil {
		return Schedule{}, err
	}
	if day, months, never := impossible(s.spec); never {
		return Schedule{}, fmt.Errorf("it never fires, as there is no day %d in %s: choose a day that the month has", day, months)
	}
	s.elapsed = strings.HasPrefix(given[1], "*")
	s.warnings = warnings(given, s.spec)
	return s, nil
}

// read has robfig/cron read the words, which the checks above have made safe.
func (s *Schedule) read(words []string) error {
	parsed, err := cron.ParseStandard(strings.Join(words, " "))
	if err != nil {
		return fmt.Errorf("%w: use numbers, ranges, steps and lists only", err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return fmt.Errorf("it reads as %T: write five fields instead", parsed)
	}
	s.spec = spec
	s.elapsed = spec.Hour&star != 0
	return nil
}

// interval reads "@every DURATION".
func interval(words []string) (time.Duration, error) {
	if words[0] != "@every" {
		return 0, fmt.Errorf("%s is not known: write @every, in lower case", quote(words[0]))
	}
	if len(words) == 1 {
		return 0, errors.New("@every lacks a duration: write one after it, such as @every 10m")
	}
	text := strings.Join(words[1:], "")
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration: use h, m and s, such as 90s, 10m, 1h30m or 24h", quote(strings.Join(words[1:], " ")))
	case len(words) > 2:
		return 0, fmt.Errorf("the duration has a space in it: write @every %s", text)
	case d < MinInterval:
		return 0, fmt.Errorf("the interval %s is too short: use at least %s", d, MinInterval)
	case d%time.Second != 0:
		return 0, fmt.Errorf("the interval %s has a fraction of a second: use whole seconds, such as %s", d, d.Round(time.Second))
	}
	return d, nil
}

// descriptor reports whether the words are one of the descriptors.
func descriptor(words []string) error {
	lower := strings.ToLower(words[0])
	known := slices.Contains(descriptors, lower)
	switch {
	case lower == "@reboot":
		return errors.New("@reboot is not supported, as schedules outlive restarts: use @every 10m, @hourly or the like")
	case strings.HasPrefix(lower, "@every"):
		return errors.New("it is not known: write @every and a duration with a space between, such as @every 10m")
	case !known:
		return fmt.Errorf("%s is not known: use %s or @every DURATION", quote(words[0]), strings.Join(descriptors, ", "))
	case words[0] != lower:
		return fmt.Errorf("%s is not known: write %s, in lower case", quote(words[0]), lower)
	case len(words) > 1:
		return fmt.Errorf("%s takes nothing after it: remove %s", lower, quote(strings.Join(words[1:], " ")))
	}
	return nil
}

// count checks that there are five words.
func count(words []string) error {
	const want = "write five: minute, hour, day of month, month, day of week"
	switch n := len(words); {
	case n == len(fields):
		return nil
	case n == 6:
		return fmt.Errorf("it has 6 fields: %s (there are no seconds: remove the first, or the last if it is a year)", want)
	case n == 7:
		return fmt.Errorf("it has 7 fields: %s (there are no seconds and no years: remove the first and the last)", want)
	case n == 1 && slices.Contains(descriptors, "@"+strings.ToLower(words[0])):
		return fmt.Errorf("it has 1 field: write @%s for the descriptor", strings.ToLower(words[0]))
	case n == 1:
		if _, err := time.ParseDuration(words[0]); err == nil {
			return fmt.Errorf("it has 1 field: write @every %s for an interval", words[0])
		}
		return fmt.Errorf("it has 1 field: %s", want)
	default:
		return fmt.Errorf("it has %d fields: %s", n, want)
	}
}

// impossible reports whether no month of the schedule has a day of it, with the
// lowest such day and the names of the months. Leap days are possible.
func impossible(spec *cron.SpecSchedule) (day int, months string, never bool) {
	if spec.Dom&star != 0 || spec.Dow&star == 0 {
		return 0, "", false // every month has all days of the week
	}
	day = bits.TrailingZeros64(spec.Dom)
	var names []string
	for m := time.January; m <= time.December; m++ {
		if spec.Month&(1<<m) == 0 {
			continue
		}
		if day <= longest(m) {
			return 0, "", false
		}
		names = append(names, m.String())
	}
	return day, strings.Join(names, ", "), true
}

// longest returns the number of days that the month has in a leap year.
func longest(m time.Month) int {
	const leap = 2024
	return time.Date(leap, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// quote quotes a text that came from a configuration, cut to what a line of a
// terminal can show.
func quote(s string) string {
	const most, wide = 60, 100 // bytes of s, and as they are spelt
	cut := s[:min(len(s), most)]
	for len(cut) > 0 && len(strconv.Quote(cut)) > wide {
		cut = cut[:len(cut)-1]
	}
	if len(cut) < len(s) {
		return strconv.Quote(cut) + "..."
	}
	return strconv.Quote(s)
}
