package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
)

// A shape is what a struct takes from a mapping.
type shape struct {
	fields []field
	byKey  map[string]int
	keys   []string // in the order of the struct
	sorted []field  // by key
}

// A field takes one key. An embedded struct without a tag gives its fields to
// the struct it is in.
type field struct {
	key   string
	index []int
	typ   reflect.Type
	doc   string
	text  bool // it spells itself: encoding.TextMarshaler
	aside bool // `settings:"-"`: it does not decide what the lists hold
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// shapeOf returns the shape of a struct type: keys are the `yaml` tags, else
// the fields' names in lower case. "-" leaves a field out.
func shapeOf(t reflect.Type) *shape {
	s := &shape{byKey: map[string]int{}}
	s.collect(t, nil)
	s.sorted = slices.SortedFunc(slices.Values(s.fields), func(a, b field) int { return strings.Compare(a.key, b.key) })
	return s
}

func (s *shape) collect(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), prefix...), i)
		tag, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.Type.Kind() == reflect.Struct && (f.Anonymous && tag == "" || options == "inline") {
			s.collect(f.Type, index)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		key := tag
		if key == "" {
			key = strings.ToLower(f.Name)
		}
		if _, ok := s.byKey[key]; ok {
			continue
		}
		s.byKey[key] = len(s.fields)
		s.keys = append(s.keys, key)
		s.fields = append(s.fields, field{key, index, f.Type, f.Tag.Get("doc"), f.Type.Implements(textMarshaler), f.Tag.Get("settings") == "-"})
	}
}
