package config

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/syncdhq/syncd"
)

// fingerprint identifies settings. Fields with their zero value do not count,
// so that a new option changes nothing for those who do not set it, nor do
// those that are marked as deciding nothing (`settings:"-"`).
func (d *decoder) fingerprint(connector, base string, o syncd.Options) string {
	text := strconv.AppendQuote(make([]byte, 0, 256), connector)
	text = strconv.AppendQuote(text, base)
	text = d.canonical(text, reflect.ValueOf(o))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// canonical spells a value: fields by their keys in order, without zero values.
func (d *decoder) canonical(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		return d.canonical(to, v.Elem())
	case reflect.Struct:
		to = append(to, '{')
		for _, f := range d.shape(v.Type()).sorted {
			if f.aside {
				continue
			}
			if value := v.FieldByIndex(f.index); !isZero(value) {
				to = strconv.AppendQuote(to, f.key)
				if f.text {
					to = marshalled(to, value)
				} else {
					to = d.canonical(to, value)
				}
			}
		}
		return append(to, '}')
	case reflect.Slice:
		to = append(to, '[')
		for i := range v.Len() {
			to = append(d.canonical(to, v.Index(i)), ',')
		}
		return append(to, ']')
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		to = append(to, '{')
		for _, name := range names {
			to = strconv.AppendQuote(to, name.String())
			to = append(d.canonical(to, v.MapIndex(name)), ',')
		}
		return append(to, '}')
	case reflect.String:
		return strconv.AppendQuote(to, v.String())
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	}
	if v.CanInt() {
		return strconv.AppendInt(to, v.Int(), 10)
	}
	return fmt.Append(to, v)
}

// marshalled spells a value that spells itself, such as a time.
func marshalled(to []byte, v reflect.Value) []byte {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Append(to, v)
	}
	return strconv.AppendQuote(to, string(text))
}

func isZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
