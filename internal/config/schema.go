package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/syncdhq/syncd"
)

// Schema returns a JSON Schema (draft 2020-12) of the whole configuration, for
// editors: of the file's own keys, and of the options of the connectors. It is
// made of the very shapes that the file is decoded by. What is right by Parse is
// right by the schema; what only a check of the whole can tell (a time zone, an
// expression, a range) the schema lets pass.
func Schema(connectors []syncd.Connector) ([]byte, error) {
	g := newGenerator()
	root := g.object(reflect.ValueOf(defaults()))
	root["patternProperties"] = object{"^x-": object{}}
	properties := root["properties"].(object)
	described(properties, "providers", object{"type": "object", "propertyNames": object{"pattern": "^" + namePattern + "$"}, "additionalProperties": g.ref("provider")})
	described(properties, "sources", object{"type": "array", "items": g.ref("source")})
	g.provider(connectors)
	g.source()
	return g.document("The configuration of syncd", root)
}

// FileSchema returns a JSON Schema of provider files: of the options of the
// connector rest.
func FileSchema(connectors []syncd.Connector) ([]byte, error) {
	i := slices.IndexFunc(connectors, func(c syncd.Connector) bool { return c.Name == restName })
	if i < 0 {
		return nil, fmt.Errorf("this program lacks the connector %s, which reads provider files", restName)
	}
	options, ok := optionsOf(connectors[i])
	if !ok {
		return nil, fmt.Errorf("the connector %s is at fault: its Options do not return a pointer to a struct", restName)
	}
	g := newGenerator()
	root := g.object(options)
	root["required"] = []string{"streams"}
	return g.document("A provider file of syncd", root)
}

// optionsOf returns the struct with the connector's default options.
func optionsOf(c syncd.Connector) (reflect.Value, bool) {
	if c.Options == nil {
		return reflect.Value{}, false
	}
	v := reflect.ValueOf(c.Options())
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	return v.Elem(), true
}

// document writes the schema that has root at its root.
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

// pathPattern is of what isFile takes for the path of a provider file.
const pathPattern = `[/\\]|\.ya?ml$`

// provider makes the schema of a provider: its options are those of its connector.
func (g *generator) provider(connectors []syncd.Connector) {
	p := g.object(reflect.ValueOf(providerDefaults()))
	known := []string{}
	for _, c := range connectors {
		known = append(known, c.Name)
	}
	slices.Sort(known)
	ways := []any{object{"enum": known}, g.ref("variable")}
	if slices.Contains(known, restName) {
		ways = append(ways, filePath())
	}
	properties := p["properties"].(object)
	described(properties, "connector", anyOf(ways...))
	described(properties, "options", object{"type": "object"})
	var all []any
	for _, o := range g.options(connectors) {
		all = append(all, object{
			"if":   object{"properties": object{"connector": anyOf(o.names...)}, "required": []string{"connector"}},
			"then": object{"properties": object{"options": o.schema}},
		})
	}
	if all != nil {
		p["allOf"] = all
	}
	g.defs["provider"] = p
}

func filePath() object {
	return with(pattern(pathPattern), "description", "the path of a provider file")
}

// A choice is a schema of options, and what `connector:` says for them.
type choice struct {
	schema object
	names  []any
}

// options returns the options of the connectors, those of several once.
func (g *generator) options(connectors []syncd.Connector) []*choice {
	var all []*choice
	for _, c := range connectors {
		v, ok := optionsOf(c)
		switch {
		case !ok: // the loader refuses it
			continue
		case c.File != nil: // what it sets is the file's to say
			v = reflect.Zero(v.Type())
		}
		schema := g.value(v)
		i := slices.IndexFunc(all, func(o *choice) bool { return reflect.DeepEqual(o.schema, schema) })
		if i < 0 {
			i = len(all)
			all = append(all, &choice{schema: schema})
		}
		all[i].names = append(all[i].names, object{"const": c.Name})
		if c.Name == restName {
			all[i].names = append(all[i].names, filePath())
		}
	}
	return all
}

// source makes the schema of a source. Which connector its options are for is
// not to be seen in the source.
func (g *generator) source() {
	s := g.object(reflect.ValueOf(sourceShape{}))
	properties := s["properties"].(object)
	described(properties, "user", with(with(g.ref("text"), "minLength", 1), "maxLength", maxUser))
	described(properties, "options", object{"type": "object"})
	described(properties, "provider", anyOf(
		pattern("^"+namePattern+"(@"+namePattern+")?$"),
		object{"type": []string{"number", "boolean"}}, // how editors read names such as 2024
		g.ref("variable"),
	))
	credentials := object{}
	for key, doc := range map[string]string{
		"token":    "of connectors that sign by a token or a key",
		"username": "of connectors that sign in by name",
		"password": "of connectors that sign in by name",
	} {
		credentials[key] = with(g.ref("text"), "description", doc)
	}
	described(properties, "credentials", object{"type": "object", "additionalProperties": false, "properties": credentials})
	g.defs["source"] = s
}
