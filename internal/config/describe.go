package config

import (
	"encoding"
	"reflect"
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

// Describe lists the options of a connector.
func Describe(c syncd.Connector) []Option {
	if c.Options == nil {
		return nil
	}
	v := reflect.ValueOf(c.Options())
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	return describe(nil, "", v.Elem())
}

func describe(out []Option, prefix string, v reflect.Value) []Option {
	d := &decoder{}
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
		case to.Kind() == reflect.Struct:
			out = describe(out, o.Key+".", to)
			continue
		case to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Struct:
			o.Type = "list"
			out = describe(append(out, o), o.Key+"[].", reflect.Zero(to.Type().Elem()))
			continue
		case to.Kind() == reflect.Map && to.Type().Elem().Kind() == reflect.Struct:
			o.Type = "mapping"
			out = describe(append(out, o), o.Key+".NAME.", reflect.Zero(to.Type().Elem()))
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
