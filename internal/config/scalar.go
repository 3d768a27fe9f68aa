package config

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// parseBool reads the words that YAML 1.1 and 1.2 have for it, but y and n:
// those are read as text by some and as booleans by others.
func parseBool(text string) (bool, error) {
	switch text {
	case "true", "True", "TRUE", "on", "On", "ON", "yes", "Yes", "YES":
		return true, nil
	case "false", "False", "FALSE", "off", "Off", "OFF", "no", "No", "NO":
		return false, nil
	}
	return false, problem{fmt.Sprintf("%q is not true or false", clip(text)), "write true or false"}
}

// parseInt reads a whole number in plain digits.
func parseInt(text string) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	switch {
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return 0, problem{fmt.Sprintf("%q is not a whole number", clip(text)), "write it in plain digits, such as 1000"}
	case len(digits) > 1 && digits[0] == '0':
		return 0, problem{fmt.Sprintf("%q begins with a zero, which some read as octal", clip(text)), "take out the leading zeros"}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, problem{fmt.Sprintf("%s is too large", clip(text)), ""}
	}
	return n, nil
}

// parseFloat reads a decimal number.
func parseFloat(text string) (float64, error) {
	digits := strings.TrimPrefix(text, "-")
	whole, _, _ := strings.Cut(digits, ".")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" || whole == "" || len(whole) > 1 && whole[0] == '0' {
		return 0, problem{fmt.Sprintf("%q is not a number", clip(text)), "write it in plain digits, such as 0.5"}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, problem{fmt.Sprintf("%q is not a number", clip(text)), "write it in plain digits, such as 0.5"}
	}
	return f, nil
}

// A unit is a word after a number, and what it stands for.
type unit struct {
	name string
	size int64
}

var durationUnits = []unit{
	{"w", int64(7 * 24 * time.Hour)}, {"d", int64(24 * time.Hour)}, {"h", int64(time.Hour)}, {"m", int64(time.Minute)},
	{"s", int64(time.Second)}, {"ms", int64(time.Millisecond)}, {"us", int64(time.Microsecond)}, {"µs", int64(time.Microsecond)}, {"ns", 1},
}

var sizeUnits = []unit{
	{"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

// parseDuration reads numbers with units: 90s, 1h30m, 1.5h, 2d, 1w. A day is
// 24 hours and a week 7 days.
func parseDuration(text string) (time.Duration, error) {
	n, err := parseUnits(text, durationUnits, "30", "30s", "write it with w, d, h, m, s or ms and without spaces, such as 90s, 1h30m or 2d")
	return time.Duration(n), err
}

// parseSize reads a number of bytes: 512KiB, 64MiB, 1GB.
func parseSize(text string) (int64, error) {
	return parseUnits(text, sizeUnits, "64", "64MiB", "write it with B, KiB, MiB, GiB, kB, MB or GB and without spaces, such as 64MiB")
}

// parseUnits adds up numbers with units, exactly.
func parseUnits(text string, units []unit, example, complete, usage string) (int64, error) {
	rest, negative := strings.CutPrefix(text, "-")
	if rest == "" {
		return 0, problem{fmt.Sprintf("%q is not a number with a unit", text), usage}
	}
	total := new(big.Rat)
	for rest != "" {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(digits):]
		name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune("0123456789.", r) }))]
		rest = rest[len(name):]
		number, ok := parseDecimal(digits)
		if !ok {
			return 0, problem{fmt.Sprintf("%q is not a number with a unit", clip(text)), usage}
		}
		if name == "" {
			if digits == text {
				example, complete = digits, digits+strings.TrimPrefix(complete, example)
			}
			return 0, problem{fmt.Sprintf("%s of what?", clip(text)), "write " + complete}
		}
		size, ok := unitSize(units, name)
		if !ok {
			return 0, problem{fmt.Sprintf("%q has the unit %q, which is not known", clip(text), clip(name)), usage}
		}
		total.Add(total, number.Mul(number, new(big.Rat).SetInt64(size)))
	}
	if negative {
		total.Neg(total)
	}
	if !total.IsInt() {
		return 0, problem{fmt.Sprintf("%q is finer than can be kept", clip(text)), usage}
	}
	if !total.Num().IsInt64() {
		return 0, problem{fmt.Sprintf("%q is too large", clip(text)), ""}
	}
	return total.Num().Int64(), nil
}

// parseDecimal reads digits with at most one point between them.
func parseDecimal(digits string) (*big.Rat, bool) {
	whole, fraction, point := strings.Cut(digits, ".")
	if strings.Trim(digits, "0123456789.") != "" || whole == "" || point && fraction == "" || strings.Contains(fraction, ".") || len(digits) > 30 {
		return nil, false
	}
	return new(big.Rat).SetString(digits)
}

func unitSize(units []unit, name string) (int64, bool) {
	for _, u := range units {
		if u.name == name {
			return u.size, true
		}
	}
	return 0, false
}

// parseShare reads whole percents: 30%, or 0.3 for the same.
func parseShare(text string) (Share, error) {
	usage := "write whole percents, such as 30%, or a part of 1, such as 0.3"
	digits, percent := strings.CutSuffix(text, "%")
	n, ok := parseDecimal(digits)
	if !ok {
		return 0, problem{fmt.Sprintf("%q is not a share", clip(text)), usage}
	}
	if !percent {
		if n.Cmp(big.NewRat(1, 1)) > 0 {
			return 0, problem{fmt.Sprintf("%s of what?", clip(text)), "write " + clip(text) + "%"}
		}
		n.Mul(n, big.NewRat(100, 1))
	}
	if n.Cmp(big.NewRat(100, 1)) > 0 {
		return 0, problem{fmt.Sprintf("%q is more than the whole", clip(text)), usage}
	}
	if !n.IsInt() {
		return 0, problem{fmt.Sprintf("%q is not in whole percents", clip(text)), usage}
	}
	return Share(n.Num().Int64()), nil
}

// parseTime reads a time in RFC 3339, or a day, which begins at midnight UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, problem{fmt.Sprintf("%q is not a time", clip(text)), "write it with its offset from UTC, such as 2026-01-31T15:04:05Z, or as a day, such as 2026-01-31"}
}

// clip cuts a value to what an error can show.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
