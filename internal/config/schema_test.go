package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors"
)

func allConnectors(t *testing.T) []syncd.Connector {
	t.Helper()
	all, err := Expand(connectors.All)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const schemaURL = "https://example.com/schema.json"

// compiler has the schema, and takes it as one of draft 2020-12 at its strictest.
func compiler(t testing.TB, text []byte) *jsonschema.Compiler {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.AssertContent()
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, doc); err != nil {
		t.Fatal(err)
	}
	return c
}

func compiled(t testing.TB, text []byte, err error) *jsonschema.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := compiler(t, text).Compile(schemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// generated are the schemas that ship, by the names of their files.
func generated(t *testing.T) map[string][]byte {
	t.Helper()
	all := allConnectors(t)
	out := map[string][]byte{}
	for name, make := range map[string]func([]syncd.Connector) ([]byte, error){"syncd": Schema, "provider": FileSchema} {
		text, err := make(all)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	return out
}

// What ships is what the code makes.
func TestSchemaFiles(t *testing.T) {
	commands := map[string]string{
		"syncd":    "go run ./cmd/syncd schema > schema/syncd.schema.json",
		"provider": "go run ./cmd/syncd schema --provider > schema/provider.schema.json",
	}
	for name, want := range generated(t) {
		got, err := os.ReadFile("../../schema/" + name + ".schema.json")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("schema/%s.schema.json is not what the code makes (%v): run %s", name, err, commands[name])
		}
	}
}

// A part is a schema within a schema.
type part struct {
	pointer string
	schema  map[string]any
	named   bool // it is what a key takes, and not within if or then
}

// parts returns the schema and all in it, and reports keywords that no draft has:
// schemas that are misspelt take everything.
func parts(t *testing.T, text []byte) []part {
	t.Helper()
	var out []part
	var walk func(pointer string, v any, named bool)
	walk = func(pointer string, v any, named bool) {
		s, ok := v.(map[string]any)
		if !ok {
			if _, ok := v.(bool); !ok {
				t.Fatalf("%s is no schema: %v", pointer, v)
			}
			return
		}
		out = append(out, part{pointer, s, named})
		for _, keyword := range slices.Sorted(maps.Keys(s)) {
			at := pointer + "/" + keyword
			switch keyword {
			case "$schema", "$ref", "title", "description", "default", "type", "enum", "const", "pattern", "required",
				"minimum", "maximum", "minLength", "maxLength":
			case "$defs", "properties", "patternProperties":
				for key, inner := range s[keyword].(map[string]any) {
					walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1", "^", "%5E").Replace(key), inner, keyword == "properties" && !strings.Contains(pointer, "/allOf/"))
				}
			case "anyOf", "allOf":
				for i, inner := range s[keyword].([]any) {
					walk(fmt.Sprintf("%s/%d", at, i), inner, false)
				}
			case "items", "additionalProperties", "propertyNames", "not", "if", "then":
				walk(at, s[keyword], false)
			default:
				t.Errorf("%s is no keyword", at)
			}
		}
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	walk("#", doc, false)
	return out
}

// Each key is described, no mapping takes keys that it does not know, and what
// is said to be a default may be written.
func TestSchemaParts(t *testing.T) {
	for name, text := range generated(t) {
		c := compiler(t, text)
		keys, defaults, closed := 0, 0, 0
		for _, p := range parts(t, text) {
			if p.named {
				keys++
				if d, _ := p.schema["description"].(string); d == "" || strings.HasSuffix(d, ".") && !strings.HasSuffix(d, "..") {
					t.Errorf("%s: %s: %q is no description, or ends with a full stop", name, p.pointer, d)
				}
			}
			if p.schema["properties"] != nil && !strings.Contains(p.pointer, "/allOf/") {
				closed++
				if p.schema["additionalProperties"] != false {
					t.Errorf("%s: %s takes any keys", name, p.pointer)
				}
			}
			value, ok := p.schema["default"]
			if !ok {
				continue
			}
			defaults++
			if s, err := c.Compile(schemaURL + p.pointer); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := s.Validate(value); err != nil {
				t.Errorf("%s: the default of %s: %v", name, p.pointer, err)
			}
		}
		if keys < 40 || defaults < 5 || closed < 8 {
			t.Errorf("%s: %d keys with %d defaults in %d mappings: they are not found", name, keys, defaults, closed)
		}
	}
}

// The defaults of the file are the loader's.
func TestSchemaDefaults(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(generated(t)["syncd"], &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"properties workers":                                       8.0,
		"properties lease":                                         "1m",
		"properties grace":                                         "25s",
		"properties spread":                                        "30s",
		"properties catch_up":                                      "once",
		"properties changes":                                       false,
		"properties store":                                         nil,
		"$defs config.limits properties body":                      "64MiB",
		"$defs config.limits properties rejects":                   "50%",
		"$defs config.log properties level":                        "info",
		"$defs provider properties on_missing":                     "keep",
		"$defs provider properties max_missing":                    "30%",
		"$defs provider properties spread":                         nil, // the file's
		"$defs csv.options properties delimiter":                   ",",
		"$defs rest.options properties params":                     nil,
		"$defs source properties credentials additionalProperties": nil,
	} {
		var at any = doc
		for _, step := range strings.Fields(path) {
			at = at.(map[string]any)[step]
		}
		var got any
		if s, ok := at.(map[string]any); ok {
			got = s["default"]
		} else if at != false {
			t.Errorf("%s is not there", path)
		}
		if got != want {
			t.Errorf("the default of %s: got %v, want %v", path, got, want)
		}
	}
}

// Each key of the shapes, and each option, says what it is.
func TestShapesAreDescribed(t *testing.T) {
	var walk func(t *testing.T, typ reflect.Type, path string)
	walk = func(t *testing.T, typ reflect.Type, path string) {
		for _, f := range shapeOf(typ).fields {
			if f.doc == "" || strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s%s: %q is no description, or ends with a full stop", path, f.key, f.doc)
			}
			inner := f.typ
			if value, ok := inner.FieldByName("Value"); ok && inner.Kind() == reflect.Struct {
				inner = value.Type
			}
			if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[subtree]() {
				walk(t, inner, path+f.key+".")
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[fileShape](), reflect.TypeFor[providerShape](), reflect.TypeFor[sourceShape]()} {
		walk(t, typ, "")
	}
	for _, c := range allConnectors(t) {
		for _, o := range Describe(c) {
			if o.Doc == "" {
				t.Errorf("the option %s of the connector %s is not described", o.Key, c.Name)
			}
		}
	}
}

func TestSchemaOfProviderFiles(t *testing.T) {
	text, err := FileSchema(allConnectors(t))
	s := compiled(t, text, err)
	files, err := filepath.Glob("../../providers/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../connectors/example/example.yaml") {
		if err := s.Validate(asJSON(t, readText(t, file))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, wrong := range []string{"stream: {}\n", "streams: []\n", "streams: { a: { path: [x] } }\n", "streams: {}\nconnector: rest\n"} {
		if s.Validate(asJSON(t, wrong)) == nil {
			t.Errorf("it is taken: %s", wrong)
		}
	}
	if _, err := FileSchema(nil); err == nil {
		t.Error("a program without the connector rest has a schema of provider files")
	}
	if _, err := FileSchema([]syncd.Connector{{Name: restName}}); err == nil {
		t.Error("a connector without options has a schema of provider files")
	}
}

func readText(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
