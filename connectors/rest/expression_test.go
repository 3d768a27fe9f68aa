package rest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpressions(t *testing.T) {
	env := map[string]any{
		"type": "x", "count": 3, "date": "2026", "id": "9", "none": nil,
		"list": []any{map[string]any{"a": "x"}, map[string]any{"a": "y"}}, "of": map[string]any{"a": map[string]any{"b": 7}},
	}
	for source, want := range map[string]any{
		`id`:                            "9",
		`of.a.b`:                        7,
		`$env["id"]`:                    "9",
		`type == "x" and count > 2`:     true, // named as functions of the language are
		`date + type`:                   "2026x",
		`missing`:                       nil,
		`missing?.deeper`:               nil,
		`missing ?? id`:                 "9",
		`let kind = "y"; kind`:          "y",
		`map(list, .a)`:                 []any{"x", "y"},
		`filter(list, .a == type)[0].a`: "x",
		`count == 3 ? "three" : "more"`: "three",
		`id matches "^[0-9]$"`:          true,
		`string(9007199254740993)`:      "9007199254740993",
	} {
		e, err := parseExpression(source, nil)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := e.on(env)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", source, err, diff)
		}
	}
}

func TestExpressionsRefused(t *testing.T) {
	for source, want := range map[string]string{
		"":              "empty",
		"a b":           `unexpected token Identifier("b"), at character 3`,
		"a + (":         "unexpected token EOF",
		`"open`:         "literal not terminated",
		"fetch(a)":      "there is no function fetch",
		"now()":         "function now is not to be had",
		"float(a)":      "function float is not to be had",
		"fromJSON(a).b": "function fromJSON is not to be had",
		"a / 2":         "/ is not to be had",
		"keys(a)":       "function keys is not to be had",
		"a > 1.5":       "numbers with a fraction",
		`a matches "("`: "missing closing )",
		"b + a":         "there is no b here, only a, params",
		"$env":          "$env can't be used here",
	} {
		if _, err := parseExpression(source, []string{"a", "params"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
}

// Only an expression that names a place is looked up in the bytes.
func TestPlaces(t *testing.T) {
	for source, want := range map[string][]string{
		"id": {"id"}, "a.b.c": {"a", "b", "c"}, "a?.b": {"a", "b"}, `$env["first-name"].x`: {"first-name", "x"}, `a["b c"]`: {"a", "b c"},
		"a[0]": nil, "a + b": nil, "a ?? b": nil, "len(a)": nil, "a.b()": nil,
	} {
		e, err := parseExpression(source, nil)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, e.path); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}

// No number of a provider's JSON becomes a float.
func TestTree(t *testing.T) {
	got, err := tree([]byte(`{"a": 9007199254740993, "b": 12345678901234567890, "c": 1.50, "d": 1e3, "e": [true, null, "x"]}`))
	want := map[string]any{"a": 9007199254740993, "b": "12345678901234567890", "c": "1.50", "d": "1e3", "e": []any{true, nil, "x"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{"", "{", "{} {}", "nul"} {
		if v, err := tree([]byte(bad)); err == nil {
			t.Errorf("%q: got %v", bad, v)
		}
	}
}

func TestTemplates(t *testing.T) {
	env := map[string]any{"page": nil, "since": 5, "params": map[string]any{"repo": "a b/c%d"}, "part": "x"}
	known := []string{"page", "since", "params", "part"}
	for source, want := range map[string]string{
		"":                       "",
		"plain":                  "plain",
		"{{ page }}":             "",
		"a{{since}}b{{ part }}c": "a5bxc",
		`{"after": {{ toJSON(page) }}, "of": {{ toJSON(part) }}, "n": {{ since }}}`: `{"after": null, "of": "x", "n": 5}`,
		`{{ since == nil ? "" : "updated >= '" + string(since) + "'" }}`:            "updated >= '5'",
	} {
		tpl, err := parseTemplate(source, known)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := tpl.render(env, nil); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", source, got, err, want)
		}
	}
	tpl, err := parseTemplate("/r/{{ params.repo }}/{{ part }}", known)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tpl.render(env, inPath); err != nil || got != "/r/a%20b/c%25d/x" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "..", "a/../b", "/a", "a//b", "."} {
		env["part"] = bad
		if got, err := tpl.render(env, inPath); err == nil {
			t.Errorf("part %q: got %q, want an error", bad, got)
		}
	}
	for _, bad := range []string{"{{ page", "page }}", "{{ pages }}", "{{ }}"} {
		if _, err := parseTemplate(bad, known); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
