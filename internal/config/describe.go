package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
)

// An Option is one setting of a connector, for listings.
type Option struct {
	Key     string // with the keys around it: filter.state, columns[].name, streams.NAME.path
	Type    string // text, number, true or false, duration, list, mapping
	Default string // "" for none
	Doc     string
}

// Describe lists the options of a connector. What holds itself is listed without
// what it holds.
func Describe(c syncd.Connector) []Option {
	v, ok := optionsOf(c)
	if !ok {
		return nil
	}
	return describe(nil, "", v, nil)
}

// describe appends the options of a struct, which is in structs of the types around.
func describe(out []Option, prefix string, v reflect.Value, around []reflect.Type) []Option {
	d := &decoder{}
	around = append(slices.Clip(around), v.Type())
	opens := func(t reflect.Type) bool { return t.Kind() == reflect.Struct && !slices.Contains(around, t) }
	for _, f := range shapeOf(v.Type()).fields {
		to := reflect.New(f.typ).Elem()
		to.Set(v.FieldByIndex(f.index))
		if to.Kind() == reflect.Pointer {
			value := reflect.New(f.typ.Elem()).Elem()
			if !to.IsNil() {
				value.Set(to.Elem())
			}
			to = value
		}
		o := Option{Key: prefix + f.key, Doc: f.doc}
		parse, noun := d.scalar(to)
		_, spelled := to.Addr().Interface().(encoding.TextUnmarshaler)
		switch {
		case spelled:
			o.Type = "text"
		case parse != nil:
			o.Type, _, _ = strings.Cut(strings.TrimPrefix(noun, "a "), " such as ")
		case opens(to.Type()):
			out = describe(out, o.Key+".", to, around)
			continue
		case to.Kind() == reflect.Slice && opens(to.Type().Elem()):
			o.Type = "list"
			out = describe(append(out, o), o.Key+"[].", reflect.Zero(to.Type().Elem()), around)
			continue
		case to.Kind() == reflect.Map && opens(to.Type().Elem()):
			o.Type = "mapping"
			out = describe(append(out, o), o.Key+".NAME.", reflect.Zero(to.Type().Elem()), around)
			continue
		case to.Kind() == reflect.Slice:
			o.Type = "list"
		default:
			o.Type = "mapping"
		}
		if !isZero(to) {
			o.Default = spell(to)
		}
		out = append(out, o)
	}
	return out
}

// spell writes a default as the configuration would have it.
func spell(v reflect.Value) string {
	if v.Kind() != reflect.Slice {
		return amount(v.Interface())
	}
	list := make([]string, v.Len())
	for i := range list {
		list[i] = amount(v.Index(i).Interface())
	}
	return "[" + strings.Join(list, ", ") + "]"
}
