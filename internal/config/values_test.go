package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "1d": 24 * time.Hour,
		"2w": 14 * 24 * time.Hour, "1d12h": 36 * time.Hour, "250ms": 250 * time.Millisecond, "10us": 10 * time.Microsecond,
		"0.1s": 100 * time.Millisecond, "5ns": 5, "-5m": -5 * time.Minute, "15250w": 15250 * 7 * 24 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("parseDuration(%q): got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "30", "0", "1.5", "s", "1 s", "1h 30m", "1S", "5min", "2 days", "1mo", "1y", ".5s", "1.s", "1..5s",
		"1e3s", "+5s", "0x10s", "--5s", "0.1ns", "15251w", "99999999999999999999w", "1h-30m", "١s", "1234567890123456789012345678901s"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("parseDuration(%q): got %v, want an error", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"64MiB": 64 << 20, "1KiB": 1024, "0B": 0, "1.5KiB": 1536, "1kB": 1000, "2GB": 2e9, "1TiB": 1 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q): got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "64", "64M", "64 MiB", "64mib", "MiB", "0.5B", "9999999TiB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q): got %v, want an error", text, got)
		}
	}
}

func TestShares(t *testing.T) {
	for text, want := range map[string]Share{"0%": 0, "30%": 30, "100%": 100, "0.3": 30, "0.29": 29, "1": 100, "0": 0, "1.0": 100, "0.57": 57} {
		if got, err := parseShare(text); err != nil || got != want {
			t.Errorf("parseShare(%q): got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "30", "1.5", "101%", "-1%", "30.5%", "0.305", "30 %", "a"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("parseShare(%q): got %v, want an error", text, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "10": 10, "-3": -3, "9223372036854775807": 1<<63 - 1} {
		if got, err := parseInt(text); err != nil || got != want {
			t.Errorf("parseInt(%q): got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "010", "00", "0x10", "0o7", "1_000", "1e3", "1.0", "+1", " 1", "9223372036854775808", "١"} {
		if got, err := parseInt(text); err == nil {
			t.Errorf("parseInt(%q): got %v, want an error", text, got)
		}
	}
	for text, want := range map[string]float64{"0.5": 0.5, "-2": -2, "0": 0} {
		if got, err := parseFloat(text); err != nil || got != want {
			t.Errorf("parseFloat(%q): got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".5", "1e3", "NaN", ".inf", "00.5", "1.2.3"} {
		if got, err := parseFloat(text); err == nil {
			t.Errorf("parseFloat(%q): got %v, want an error", text, got)
		}
	}
}

func TestExpand(t *testing.T) {
	env := environment(map[string]string{"A": "1", "B_2": "${A}", "EMPTY": ""})
	for text, want := range map[string]string{
		"": "", "plain": "plain", "$A": "$A", "a$": "a$", "${A}": "1", "x${A}${A}y": "x11y", "${B_2}": "${A}", "${EMPTY}": "",
		"$${A}": "${A}", "$$${A}": "$${A}", "$${A}${A}": "${A}1", "$$": "$$",
	} {
		if got, problems := expand(text, env); problems != nil || got != want {
			t.Errorf("expand(%q): got %q %v, want %q", text, got, problems, want)
		}
	}
	for text, want := range map[string][]problem{
		"${X} ${Y}": {
			{"the environment variable X is not set", "set it, or write $${ for the two characters themselves"},
			{"the environment variable Y is not set", "set it, or write $${ for the two characters themselves"}},
		"${A":     {{"${ lacks its }", "write ${NAME} for a variable, or $${ for the two characters themselves"}},
		"${A:-x}": {{"${...} does not hold the name of a variable", "write ${NAME}, where a name has letters, digits and _ (there are no default values), or $${ for the two characters themselves"}},
		"${}":     {{"${...} does not hold the name of a variable", "write ${NAME}, where a name has letters, digits and _ (there are no default values), or $${ for the two characters themselves"}},
	} {
		_, got := expand(text, env)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(problem{})); diff != "" {
			t.Errorf("expand(%q): problems (-want +got)\n%s", text, diff)
		}
	}
}

func TestSuggest(t *testing.T) {
	keys := []string{"user", "provider", "schedule", "timezone", "catch_up", "credentials"}
	for word, want := range map[string]string{
		"schedul": "schedule", "shcedule": "schedule", "Schedule": "schedule", "catch-up": "catch_up", "catchup": "catch_up",
		"TIMEZONE": "timezone", "cron": "schedule", "cronn": "schedule", "tz": "timezone", "usr": "user", "token": "credentials",
		"xyzzy": "", "store": "",
	} {
		if got := suggest(word, keys); got != want {
			t.Errorf("suggest(%q): got %q, want %q", word, got, want)
		}
	}
}
