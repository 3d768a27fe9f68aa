package config

import (
	"fmt"
	"testing"
)

// What is not YAML at all: the parser names the wrong line or none.
func TestSyntax(t *testing.T) {
	const notYAML = "this is not YAML: "
	const quote = "a value that begins with * must be in quotes: quote the expression: "
	wrong(t, []faulty{
		{"unquoted star", "providers:\n  p:\n    schedule: */5 * * * *\n    connector: x\n", []string{`3:15: ` + quote + `"*/5 * * * *"`}},
		{"unquoted stars", "providers:\n  p:\n    connector: x\n    schedule: * * * * *   # every minute\n", []string{`4:15: ` + quote + `"* * * * *"`}},
		{"unquoted at", "providers:\n  p:\n    schedule: @daily\n", []string{
			`3:15: a value that begins with @ must be in quotes: quote the expression: "@daily"`}},
		{"several, also in braces", "providers:\n  p: {schedule: @every 5m, x: 1}\n  q: { full: \"@daily\", schedule: */5 1-3 * * MON }\nsources:\n- schedule: * * * * *\n- * 1 * * *\n", []string{
			`2:17: a value that begins with @ must be in quotes: quote the expression: "@every 5m"`,
			`3:34: ` + quote + `"*/5 1-3 * * MON"`,
			`5:13: ` + quote + `"* * * * *"`,
			`6:3: ` + quote + `"* 1 * * *"`}},
		{"in a windows file", "a: 1\r\nschedule: @daily\r\n", []string{
			`2:11: a value that begins with @ must be in quotes: quote the expression: "@daily"`}},
		{"in a file of carriage returns", "a: 1\rschedule: @daily\r", []string{
			`2:11: a value that begins with @ must be in quotes: quote the expression: "@daily"`}},
		{"after a separator that YAML takes for a line end", "a: 1 # \u2028 x\nschedule: @daily\n", []string{
			`2:11: a value that begins with @ must be in quotes: quote the expression: "@daily"`}},
		{"a secret is not shown", "a: 1\ntoken: @hunter2\n", []string{"2:8: a value that begins with @ must be in quotes: put it in quotes"}},
		{"a secret that looks like an alias", "a: 1\ntoken: *hunter2\n", []string{
			"2:8: a value that begins with * is an alias, and its anchor is not defined: put the value in quotes"}},
		{"tabs", "a:\n  b: 1\n\tc: 1\n", []string{"3:1: a tab in the indentation: use spaces"}},
		{"tab after spaces", "a:\n  b: 1\n  \tc: 1\n", []string{"3:3: a tab in the indentation: use spaces"}},
		{"tab below a key", "x: 1\na:\n\tb: 2\n", []string{"3:1: a tab in the indentation: use spaces"}},
		{"two colons", "a: 1\nb:\n  c: d: e\nx: 1\n", []string{
			"3:7: " + notYAML + `a colon where there can be none: check the indentation, and put a value that has ": " in it in quotes`}},
		{"indentation that fits nothing", "store: x\nproviders:\n  x: 1\n y: 2\nsources: []\n", []string{
			"4:2: " + notYAML + "a key is expected here: check the indentation, and the brackets and quotes before"}},
		{"list among keys", "x: 1\na: b\n- c\n", []string{
			"3:1: " + notYAML + "a key is expected here: check the indentation, and the brackets and quotes before"}},
		{"key among a list", "x:\n- a\ny: 1\nz:\n  - a\n  b: c\n", []string{
			"6:3: " + notYAML + "a list goes on without a dash: check the indentation"}},
		{"key without a colon", "x: 1\na\nb: 2\n", []string{"2:1: " + notYAML + "a key without a colon: write KEY: VALUE"}},
		{"text after a quoted one", "x: 1\nkey: \"a\" b\nc: d\n", []string{
			"2:1: " + notYAML + "a key is expected here: check the indentation, and the brackets and quotes before"}},
		{"open quote in the first line", "a: 'abc\nb: 2\nc: 3\n", []string{
			"1:1: " + notYAML + "a quote that is opened here or later in this line is not closed: close it"}},
		{"open quote in a later line", "x: 1\n  \ny:\n  a: \"abc\nb: 2\nc: 3\n", []string{
			"4:3: " + notYAML + "a quote that is opened here or later in this line is not closed: close it"}},
		{"open bracket", "x: 1\na: [1, 2\nb: 2\n", []string{"2:1: " + notYAML + "a comma or a closing bracket is missing: check the brackets"}},
		{"closing bracket", "x: 1\na: ]\n", []string{"2:4: " + notYAML + "a value is expected here: check the brackets and commas"}},
		{"backtick", "x: 1\na: `x`\n", []string{"2:4: " + notYAML + "a value can't begin with this character: put the value in quotes"}},
		{"percent", "x: 1\na: %x", []string{"2:4: " + notYAML + "a value can't begin with this character: put the value in quotes"}},
		{"ampersand", "a: & b\n", []string{"1:4: " + notYAML + "a value that begins with * or & is an alias or an anchor, and lacks its name: put the value in quotes"}},
		{"escape", "a: \"\\d\"\n", []string{
			"1:5: " + notYAML + "in double quotes a backslash begins an escape, and this one is not known: use single quotes, or write the backslash twice"}},
	})
}

func TestAliases(t *testing.T) {
	wrong(t, []faulty{
		{"anchors and merges", `x-github: &github { connector: github, schedule: "@daily", catch_up: none }
store: sqlite:x
providers:
  a: *github
  b: { <<: *github, schedule: "@hourly" }
  c:
    <<: [ { schedule: "@weekly" }, *github ]
sources:
- &alice { user: alice, provider: a, options: &options { repo: a/b }, credentials: { token: t } }
- { <<: *alice, provider: b }
- { user: bob, provider: c, options: *options, credentials: { token: t } }
`, nil},
		{"wrong in one place, used in two", `x-github: &github { connector: github, schedul: "@daily" }
store: sqlite:x
providers: { a: *github, b: { <<: *github } }
sources: []
`, []string{
			`1:40: the provider a has no key "schedul": did you mean schedule?`,
			`1:40: the provider b has no key "schedul": did you mean schedule?`}},
		{"an alias to the wrong kind", "x-a: &a [1]\nstore: *a\n" + goodProviders + goodSources, []string{"2:8: store must be a text, not a list"}},
		{"merges of the wrong kind", "store: sqlite:x\nproviders: { a: { <<: x, connector: csv }, b: { <<: [x], connector: csv } }\nsources: []\n", []string{
			"2:23: << merges a mapping, not a single value",
			"2:54: << merges mappings, not a single value"}},
		{"cycles", "store: sqlite:x\nproviders: &p { a: *p }\nsources: &s [ *s, { <<: *s } ]\nx-a: &a { <<: *a }\n", []string{
			"2:20: the alias *p is part of what it stands for",
			"3:15: the alias *s is part of what it stands for",
			"3:25: the alias *s is part of what it stands for",
			"4:15: the alias *a is part of what it stands for"}},
	})
}

// A few lines of aliases must not keep the daemon busy.
func TestAliasBomb(t *testing.T) {
	text := "x-0: &a0 { repo: a/b }\n"
	for i := range 30 {
		text += fmt.Sprintf("x-%d: &a%d { <<: [*a%d, *a%d, *a%d, *a%d] }\n", i+1, i+1, i, i, i, i)
	}
	text += goodStore + goodProviders + "sources: [{ user: a, provider: github, options: *a30, credentials: { token: t } }]\n"
	if got := parseErrors(t, text, nil); got != nil {
		t.Errorf("errors: got %q, want none", got)
	}
}
