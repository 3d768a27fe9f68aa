package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

// A tree of options that holds itself in every way there is.
type tree struct {
	Name     string           `doc:"its name"`
	Children []tree           `doc:"below it"`
	ByName   map[string]*tree `yaml:"by_name" doc:"below it, by name"`
	Left     *tree            `doc:"on its left"`
	When     *condition       `doc:"when it counts"`
	Deep     nest             `doc:"mappings of mappings"`
	Wide     row              `doc:"lists of lists"`
	Small    uint8            `doc:"a small number"`
	Weight   float64          `doc:"a weight"`
	Level    level            `doc:"low or high"`
	Key      oneOrMore        `doc:"in ways that are not known"`
	Odd      chan int         `doc:"what no configuration can fill"`
	Inner    struct {
		Deep bool `doc:"how deep"`
	} `doc:"a mapping"`
	Generic pair[tree] `doc:"two of them"`
}

type (
	nest map[string]nest
	row  []row

	pair[T any] struct {
		A, B *T `doc:"one of two"`
	}

	// A condition is a text, a list of conditions, or a mapping.
	condition struct {
		Not *condition `doc:"the opposite"`
	}
)

func (c *condition) UnmarshalYAML(decode func(any) error) error {
	var text string
	return decode(&text)
}

func (condition) Spellings() []any {
	type mapping condition
	return []any{"", []condition(nil), mapping{}}
}

func (o *tree) Streams(*syncd.Client) ([]syncd.Stream, error) { return nil, nil }

func TestSchemaOfAnyType(t *testing.T) {
	connectors := []syncd.Connector{
		{Name: "tree", Options: func() syncd.Options {
			return &tree{Name: "oak", Left: &tree{Name: "ash", Small: 7}}
		}},
		{Name: "other", Options: func() syncd.Options { return &tree{Name: "elm"} }},
		{Name: "none"},
	}
	text, err := Schema(connectors)
	s := compiled(t, text, err)
	again, err := Schema(connectors)
	if err != nil || string(again) != string(text) {
		t.Errorf("the schema is another the second time (%v)", err)
	}
	validate := func(connector, options string) error {
		return s.Validate(asJSON(t, "store: sqlite:x\nproviders: { a: { connector: "+connector+", options: "+options+" } }\nsources: []\n"))
	}
	for _, right := range []string{
		"{ children: [{ name: a, children: [{ left: { small: 255 } }] }], by_name: { x: { by_name: {} } } }",
		"{ when: a }", "{ when: [a, [b, { not: [c] }]] }", "{ when: { not: { not: a } } }",
		"{ deep: { a: { b: {} } }, wide: [[], [[]]] }", "{ small: 0, weight: 0.5, level: high, inner: { deep: on } }",
		"{ key: a }", "{ key: [a] }", "{ generic: { a: { generic: { b: { name: x } } } } }", "{ small: \"${N}\", weight: \"${W}\" }",
	} {
		if err := validate("tree", right); err != nil {
			t.Errorf("%v in %s", err, right)
		}
	}
	for _, wrong := range []string{
		"{ children: [{ nam: a }] }", "{ children: [{ children: [{ left: { smal: 1 } }] }] }", "{ by_name: { x: [] } }", "{ by_name: [] }",
		"{ when: { no: a } }", "{ when: [[{}], [{ not: { nope: 1 } }]] }", "{ deep: { a: { b: c } } }", "{ wide: [[a]] }", "{ small: -1 }",
		"{ weight: heavy }", "{ level: [high] }", "{ odd: 1 }", "{ inner: { deep: deeper } }", "{ inner: { shallow: on } }", "{ generic: { c: {} } }",
	} {
		if validate("tree", wrong) == nil {
			t.Errorf("it is taken: %s", wrong)
		}
	}
	if err := validate("none", "{ any: thing }"); err != nil {
		t.Errorf("a connector without options: %v", err)
	}
	// The defaults are those of each connector, and of each place.
	for connector, want := range map[string][]string{"tree": {"oak", "ash"}, "other": {"elm"}} {
		var got []string
		for _, p := range parts(t, text) {
			if d, ok := p.schema["default"].(string); ok && strings.HasSuffix(p.pointer, "/properties/name") && slices.Contains(want, d) {
				got = append(got, d)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("defaults of %s: got %q, want %q", connector, got, want)
		}
	}
}

// Options that hold themselves are listed as deep as they are other than before.
func TestDescribeAnyType(t *testing.T) {
	var got []string
	for _, o := range Describe(syncd.Connector{Options: func() syncd.Options { return &tree{} }}) {
		got = append(got, o.Key)
	}
	want := []string{"name", "children", "by_name", "left", "when.not", "deep", "wide", "small", "weight", "level", "key", "odd",
		"inner.deep", "generic.a", "generic.b"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A program without connectors, and with none but one, has a schema.
func TestSchemaOfFewConnectors(t *testing.T) {
	for _, connectors := range [][]syncd.Connector{nil, {{Name: "none"}}} {
		text, err := Schema(connectors)
		s := compiled(t, text, err)
		if err := s.Validate(asJSON(t, "store: sqlite:x\nproviders: {}\nsources: []\n")); err != nil {
			t.Error(err)
		}
		if s.Validate(asJSON(t, "store: sqlite:x\nproviders: { a: { connector: ./a.yaml } }\nsources: []\n")) == nil {
			t.Error("a provider file is taken without the connector rest")
		}
	}
}
