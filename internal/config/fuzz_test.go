package config

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse reads anything. It never panics, returns either a configuration or
// errors, and every error is at a place that the file has.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for _, seed := range []string{
		"", "a", "[]", good, strings.ReplaceAll(good, "\n", "\r\n"), "\ufeff" + good, good + "---\n", "\xff\xfe", "---", "a: *a", "&a [*a]",
		"schedule: @daily", "a:\n\tb: 1", "a: 'b\nc: d", "a: \u2028b: c\n\u0085@x", "? a\n: b\n", "<<: {a: b}\n<<: [c]", "{a: {b: [c, d: e}}",
		"store: ${A}\nproviders: {a: {connector: csv, options: {key: ~}}}\nsources: [{}, ~, {user: \"\\ud83d\", provider: a@}]",
		"!!map {store: !x y}", "%YAML 1.2\n---\na: |\n  b\n", "x: &x {<<: *x}\n", "providers: {github: {connector: github, rate: {}, budget: ~}}",
		"a: &a [x]\nb: &b [*a,*a]\nc: *b\n", "\t", "'", "\"\\", "- - - a", "a: >-\n b\n  @c\n",
	} {
		f.Add(seed)
	}
	connectors := fakes()
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := Parse("f", []byte(text), connectors, environment(map[string]string{"A": "\x00"}))
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got configuration %v and error %v", cfg, err)
		}
		var list Errors
		if err != nil && (!errors.As(err, &list) || len(list) == 0) {
			t.Fatalf("got error %T %v, want Errors", err, err)
		}
		if cfg != nil {
			list = cfg.Warnings
		}
		text = strings.TrimPrefix(text, "\ufeff")
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
		for i, e := range list {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1])+1 {
				t.Errorf("error %q is outside of a file of %d lines:\n%q", e, len(lines), text)
			}
			if e.Message == "" || strings.Contains(e.Message, "\n") {
				t.Errorf("error %q has no message of one line", e)
			}
			if i > 0 && (e.Line < list[i-1].Line || e.Line == list[i-1].Line && e.Column < list[i-1].Column) {
				t.Errorf("errors are not in order: %q after %q", e, list[i-1])
			}
		}
	})
}
