package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// Schema returns a JSON Schema (draft 2020-12) of the whole configuration, for
// editors: of the file's own keys, and of the options of the connectors. It is
// made of the very shapes that the file is decoded by. What only a check of the
// whole can tell (a time zone, an expression) it lets pass.
func Schema(connectors []syncd.Connector) ([]byte, error) {
	g := newGenerator()
	root := g.object(reflect.TypeFor[fileShape]())
	root["patternProperties"] = object{"^x-": object{}}
	root["required"] = []string{"store", "providers", "sources"}
	properties := root["properties"].(object)
	described(properties, "providers", object{"type": "object", "propertyNames": object{"pattern": namePattern}, "additionalProperties": g.ref("provider")})
	described(properties, "sources", object{"type": "array", "items": g.ref("source")})
	g.provider(connectors)
	g.source()
	return g.document("The configuration of syncd", root)
}

// FileSchema returns a JSON Schema of provider files: of the options of the
// connector rest.
func FileSchema(connectors []syncd.Connector) ([]byte, error) {
	for _, c := range connectors {
		if c.Name == restName {
			g := newGenerator()
			root := g.object(reflect.TypeOf(c.Options()).Elem())
			root["required"] = []string{"streams"}
			return g.document("A provider file of syncd", root)
		}
	}
	return nil, fmt.Errorf("this program lacks the connector %s, which reads provider files", restName)
}

// Patterns of values. A variable may stand in any of them.
const (
	namePattern     = `^[a-z0-9_-]{1,64}$`
	variablePattern = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`
	durationPattern = `^([0-9]+(\.[0-9]+)?(ms|us|ns|s|m|h|d|w))+$`
	sizePattern     = `^[0-9]+(\.[0-9]+)? ?(B|KiB|MiB|GiB|kB|MB|GB)$`
	sharePattern    = `^([0-9]+(\.[0-9]+)?%|0(\.[0-9]+)?|1(\.0+)?)$`
)

// An object is one JSON object.
type object = map[string]any

// A generator makes schemas of types. Types that have a name of their own are
// made once, under $defs.
type generator struct {
	defs  object
	names map[reflect.Type]string
}

func newGenerator() *generator {
	variable := object{"type": "string", "pattern": variablePattern, "description": "a value from the environment: ${NAME}"}
	text := func(pattern, description string) object {
		return object{"description": description, "anyOf": []any{
			object{"type": "string", "pattern": pattern}, object{"const": 0}, object{"$ref": "#/$defs/variable"},
		}}
	}
	return &generator{names: map[reflect.Type]string{}, defs: object{
		"variable": variable,
		"text":     object{"type": []string{"string", "number", "boolean"}},
		"boolean":  object{"anyOf": []any{object{"type": "boolean"}, object{"$ref": "#/$defs/variable"}}},
		"integer":  object{"anyOf": []any{object{"type": "integer"}, object{"$ref": "#/$defs/variable"}}},
		"number":   object{"anyOf": []any{object{"type": "number"}, object{"$ref": "#/$defs/variable"}}},
		"duration": text(durationPattern, "a duration such as 30s, 1h30m or 2d"),
		"size":     text(sizePattern, "a size such as 64MiB"),
		"share":    object{"description": "a share such as 30% or 0.3", "anyOf": []any{object{"type": "number", "minimum": 0, "maximum": 1}, object{"type": "string", "pattern": sharePattern}, object{"$ref": "#/$defs/variable"}}},
	}}
}

func (g *generator) ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func (g *generator) document(title string, root object) ([]byte, error) {
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["$defs"] = g.defs
	text, err := json.MarshalIndent(root, "", "  ") // its keys come in order
	return append(text, '\n'), err
}

// described replaces a property's schema and keeps its description.
func described(properties object, key string, schema object) {
	if old, ok := properties[key].(object); ok && old["description"] != nil {
		schema["description"] = old["description"]
	}
	properties[key] = schema
}

// words are the keys that take one of a few words.
var words = map[string][]string{
	"catch_up":   {"once", "none"},
	"on_missing": {string(Keep), string(Mark)},
	"level":      {"debug", "info", "warn", "error"},
	"format":     {"auto", "text", "json"},
}

// object returns the schema of a struct.
func (g *generator) object(t reflect.Type) object {
	properties := object{}
	ours := t.PkgPath() == reflect.TypeFor[fileShape]().PkgPath()
	for _, f := range shapeOf(t).fields {
		s := g.value(f.typ)
		if list, ok := words[f.key]; ok && ours {
			s = object{"anyOf": []any{object{"enum": list}, g.ref("variable")}}
		}
		if f.doc != "" {
			s = with(s, "description", f.doc)
		}
		properties[f.key] = s
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

// with returns a schema with one key more. Beside $ref others may stand, so
// nothing has to be wrapped.
func with(s object, key string, value any) object {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// A speller is an option that may be written in several ways: its Spellings
// are zero values of the types that it is decoded from.
type speller interface{ Spellings() []any }

// value returns the schema of what a field takes.
func (g *generator) value(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return g.value(t.Elem())
	}
	if _, wrapped := reflect.New(t).Interface().(stander); wrapped {
		if t == reflect.TypeFor[subtree]() {
			return object{}
		}
		f, _ := t.FieldByName("Value")
		return g.value(f.Type)
	}
	if s, ok := reflect.New(t).Interface().(speller); ok {
		var any1 []any
		for _, v := range s.Spellings() {
			any1 = append(any1, g.value(reflect.TypeOf(v)))
		}
		return object{"anyOf": any1}
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return g.ref("duration")
	case reflect.TypeFor[size]():
		return g.ref("size")
	case reflect.TypeFor[Share]():
		return g.ref("share")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || t == reflect.TypeFor[time.Time]() {
		return g.ref("text")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return object{} // it may take anything
	}
	return g.plain(t)
}

func (g *generator) plain(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return g.ref("text")
	case reflect.Bool:
		return g.ref("boolean")
	case reflect.Float32, reflect.Float64:
		return g.ref("number")
	case reflect.Slice:
		return object{"type": "array", "items": g.value(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.value(t.Elem())}
	case reflect.Struct:
		return g.named(t)
	}
	return g.ref("integer")
}

// named returns a reference to the schema of a struct, which is made once: it
// may hold itself.
func (g *generator) named(t reflect.Type) object {
	name, ok := g.names[t]
	if !ok {
		pkg := t.PkgPath()
		name = strings.ToLower(pkg[strings.LastIndex(pkg, "/")+1:] + "." + t.Name())
		for base, n := name, 2; g.defs[name] != nil; n++ {
			name = fmt.Sprintf("%s%d", base, n)
		}
		g.names[t] = name
		g.defs[name] = object{}
		g.defs[name] = g.object(t)
	}
	return g.ref(name)
}

// provider makes the schema of a provider: its options are those of its connector.
func (g *generator) provider(connectors []syncd.Connector) {
	p := g.object(reflect.TypeFor[providerShape]())
	properties := p["properties"].(object)
	var known []string
	var all []any
	for _, c := range connectors {
		known = append(known, c.Name)
		if c.Options == nil {
			continue
		}
		options := g.named(reflect.TypeOf(c.Options()).Elem())
		all = append(all, object{
			"if":   object{"properties": object{"connector": object{"const": c.Name}}, "required": []string{"connector"}},
			"then": object{"properties": object{"options": options}},
		})
	}
	slices.Sort(known)
	described(properties, "connector", object{"anyOf": []any{
		object{"enum": known},
		object{"type": "string", "pattern": `[/\\]|\.ya?ml$`, "description": "the path of a provider file"},
		g.ref("variable"),
	}})
	described(properties, "options", object{"type": "object"})
	p["required"] = []string{"connector"}
	p["allOf"] = all
	g.defs["provider"] = p
}

// source makes the schema of a source. Which connector its options are for is
// not to be seen in the source.
func (g *generator) source() {
	s := g.object(reflect.TypeFor[sourceShape]())
	properties := s["properties"].(object)
	described(properties, "options", object{"type": "object"})
	described(properties, "provider", object{"anyOf": []any{object{"type": "string", "pattern": `^[a-z0-9_-]{1,64}(@[a-z0-9_-]{1,64})?$`}, g.ref("variable")}})
	described(properties, "credentials", object{
		"type": "object", "additionalProperties": false,
		"properties": object{"token": g.ref("text"), "username": g.ref("text"), "password": g.ref("text")},
	})
	s["required"] = []string{"user", "provider"}
	g.defs["source"] = s
}
