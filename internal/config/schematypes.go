package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// An object is one JSON object.
type object = map[string]any

// needed are the keys that a mapping of the file must have.
var needed = map[reflect.Type][]string{
	reflect.TypeFor[fileShape]():     {"store", "providers", "sources"},
	reflect.TypeFor[providerShape](): {"connector"},
	reflect.TypeFor[rateShape]():     {"requests", "per"},
	reflect.TypeFor[oauthShape]():    {"client_id"},
	reflect.TypeFor[sourceShape]():   {"user", "provider"},
}

// A speller is an unmarshaler whose spellings are known: values of the types
// that it is decoded from.
type speller interface{ Spellings() []any }

// A generator makes schemas of values: of their types, with what they hold as
// the defaults. Types that have a name are made once, under $defs, so that they
// may hold themselves.
type generator struct {
	defs  object
	names map[made]string
}

// A made is a type that has its schema. With other defaults it has another.
type made struct {
	typ      reflect.Type
	defaults string
}

func newGenerator() *generator {
	return &generator{names: map[made]string{}, defs: object{}}
}

// ref returns a reference to a schema under $defs.
func (g *generator) ref(name string) object {
	if s := basic(name); s != nil {
		g.defs[name] = s
		g.defs["variable"] = basic("variable")
	}
	return object{"$ref": "#/$defs/" + name}
}

func pattern(p string) object { return object{"type": "string", "pattern": p} }

func anyOf(schemas ...any) object { return object{"anyOf": schemas} }

// with returns a schema with one key more. Others may stand beside $ref, so
// nothing has to be wrapped.
func with(s object, key string, value any) object {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// object returns the schema of a struct.
func (g *generator) object(v reflect.Value) object {
	t := v.Type()
	properties := object{}
	for _, f := range shapeOf(t).fields {
		value := v.FieldByIndex(f.index)
		s := g.value(value)
		switch list := words[f.key]; {
		case list != nil && f.typ == reflect.TypeFor[at[string]](): // it is the file's
			s = anyOf(object{"enum": list}, g.ref("variable"))
		case f.key == "store" && t == reflect.TypeFor[fileShape]():
			s = anyOf(pattern(storePattern), g.ref("variable"))
		}
		if f.doc != "" {
			s = with(s, "description", f.doc)
		}
		if d, ok := defaultOf(value); ok {
			s = with(s, "default", d)
		}
		properties[f.key] = s
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if keys := needed[t]; keys != nil {
		s["required"] = keys
	}
	return s
}

// value returns the schema of what a field that holds v takes. Its cases come in
// the order of decoder.decode.
func (g *generator) value(v reflect.Value) object {
	t := v.Type()
	switch to := reflect.New(t).Interface().(type) {
	case *subtree:
		return object{}
	case stander:
		return g.value(v.FieldByName("Value"))
	case unmarshaler:
		if s, ok := to.(speller); ok {
			return g.named(reflect.Zero(t), func() object { return g.spellings(s) })
		}
		return object{} // it may take anything
	case *time.Duration:
		return g.ref("duration")
	case *size:
		return g.ref("size")
	case *Share:
		return g.ref("share")
	case *time.Time:
		return g.ref("time")
	case encoding.TextUnmarshaler:
		return g.ref("text")
	}
	switch t.Kind() {
	case reflect.String:
		return g.ref("text")
	case reflect.Bool:
		return g.ref("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return g.ref("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return g.ref("natural")
	case reflect.Float32, reflect.Float64:
		return g.ref("number")
	case reflect.Struct:
		return g.named(v, func() object { return g.object(v) })
	case reflect.Slice:
		return g.named(reflect.Zero(t), func() object {
			return object{"type": "array", "items": g.value(reflect.Zero(t.Elem()))}
		})
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return g.named(reflect.Zero(t), func() object {
				return object{"type": "object", "additionalProperties": g.value(reflect.Zero(t.Elem()))}
			})
		}
	case reflect.Pointer:
		if v.IsNil() {
			return g.value(reflect.Zero(t.Elem()))
		}
		return g.value(v.Elem())
	}
	return object{"not": object{}} // no configuration can fill it
}

// spellings returns the schema of an option that may be written in several ways.
func (g *generator) spellings(s speller) object {
	var ways []any
	for _, sample := range s.Spellings() {
		v := reflect.ValueOf(sample)
		_, other := reflect.New(v.Type()).Interface().(unmarshaler)
		if v.Kind() == reflect.Struct && !other {
			ways = append(ways, g.object(v)) // its name is the method's own affair
			continue
		}
		ways = append(ways, g.value(v))
	}
	return anyOf(ways...)
}

var notOfNames = regexp.MustCompile(`[^a-z0-9_.]+`)

// named returns a reference to the schema of v, which is made once for each type
// and defaults. A type without a name is its own schema.
func (g *generator) named(v reflect.Value, schema func() object) object {
	t := v.Type()
	if t.Name() == "" {
		return schema()
	}
	key := made{typ: t}
	if !v.IsZero() {
		key.defaults = fmt.Sprintf("%+v", v)
	}
	name, ok := g.names[key]
	if !ok {
		pkg, typ := t.PkgPath(), strings.TrimSuffix(t.Name(), "Shape")
		name = notOfNames.ReplaceAllString(strings.ToLower(pkg[strings.LastIndex(pkg, "/")+1:]+"."+typ), "_")
		for base, n := name, 2; g.defs[name] != nil; n++ {
			name = fmt.Sprintf("%s%d", base, n)
		}
		g.names[key] = name
		g.defs[name] = object{} // it is taken
		g.defs[name] = schema()
	}
	return g.ref(name)
}
