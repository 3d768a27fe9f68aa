package config

import (
	"encoding"
	"fmt"
	"reflect"
	"time"
)

// defaultOf returns what a key stands for where it is not written, as the
// configuration would have it. The zero value says nothing, but of booleans.
func defaultOf(v reflect.Value) (any, bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, false
		}
		return defaultOf(v.Elem())
	}
	switch reflect.New(v.Type()).Interface().(type) {
	case *subtree:
		return nil, false
	case stander:
		return defaultOf(v.FieldByName("Value"))
	}
	if v.Kind() == reflect.Bool {
		return v.Bool(), true
	}
	if v.IsZero() {
		return nil, false
	}
	switch value := v.Interface().(type) {
	case Share:
		return fmt.Sprintf("%d%%", value), true
	case time.Duration, size:
		return amount(value), true
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		return string(text), err == nil
	}
	switch reflect.New(v.Type()).Interface().(type) {
	case unmarshaler, encoding.TextUnmarshaler:
		return nil, false // how it is spelled is its own affair
	}
	switch v.Kind() {
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			one, ok := defaultOf(v.Index(i))
			if !ok {
				return nil, false
			}
			list[i] = one
		}
		return list, len(list) > 0
	case reflect.Struct, reflect.Map:
		return nil, false // a struct's fields have their own
	}
	return v.Interface(), true
}
