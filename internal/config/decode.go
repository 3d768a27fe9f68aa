package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// A decoder fills structs from nodes, strictly, and goes on after an error so
// as to report all of them. A value that is wrong leaves its field as it was.
//
// The rules: every key must be a field's and occur once; nothing is taken for
// a value but one; text fields take any single value as it is spelled (007,
// no, 1.0); booleans and numbers must be written without quotes, unless they
// come from a variable; lists and maps must be written as such. A list replaces
// the one it is decoded over, a struct is merged into it field by field, and
// a map key by key.
type decoder struct {
	*document
	env    func(string) (string, bool)
	shapes map[reflect.Type]*shape
	left   int // visits to values: what aliases may multiply is bounded
}

// A spot is where a value stands.
type spot struct {
	label string     // the key that names it
	key   *yaml.Node // of node, if it has one
	node  *yaml.Node // as it stands there: perhaps an alias
}

// mark returns the node to report the spot at: of a value that is not written
// at all, its key.
func (s spot) mark() *yaml.Node {
	if s.key != nil && s.node.Kind == yaml.ScalarNode && s.node.Value == "" && !isQuoted(s.node) {
		return s.key
	}
	return s.node
}

// A standing is where a value stands in the file, if it does.
type standing struct {
	spot
	good bool // it could be decoded
}

func (s *standing) given() bool       { return s.node != nil }
func (s *standing) stands(at spot)    { s.spot = at }
func (s *standing) decoded(good bool) { s.good = good }
func (t *subtree) target() any        { return nil }
func (a *at[T]) target() any          { return &a.Value }

// An at is a value that knows where it stands.
type at[T any] struct {
	Value T
	standing
}

// A subtree is a node that is decoded later.
type subtree struct{ standing }

// A stander is told where it stands, returns a pointer to what to fill (nil for
// nothing), and is told whether that went well.
type stander interface {
	stands(at spot)
	target() any
	decoded(good bool)
}

// decode fills v, which must be settable, and reports whether all went well.
func (d *decoder) decode(s spot, v reflect.Value) bool {
	if d.left--; d.left < 0 {
		if d.left == -1 {
			d.add(s.mark(), "aliases make too much of this file", "repeat less")
		}
		return false
	}
	if to, ok := v.Addr().Interface().(stander); ok {
		to.stands(s)
		var good bool
		switch target := to.target(); {
		case isNull(resolve(s.node)):
			good = d.empty(s)
		default:
			good = target == nil || d.decode(s, reflect.ValueOf(target).Elem())
		}
		to.decoded(good)
		return good
	}
	n := resolve(s.node)
	if isNull(n) {
		return d.empty(s)
	}
	if !d.tagged(s, n) {
		return false
	}
	if to, ok := v.Addr().Interface().(unmarshaler); ok {
		return d.unmarshal(s, to)
	}
	if to, ok := v.Addr().Interface().(*string); ok && n.Kind == yaml.ScalarNode {
		text, ok := d.text(s, n) // the usual case, and the quick one
		if ok {
			*to = text
		}
		return ok
	}
	if parse, noun := d.scalar(v); parse != nil {
		return d.single(s, n, noun, parse)
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.mapping(s, n) && d.fields(s, n, v)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			return d.mapping(s, n) && d.toMap(n, v)
		}
	case reflect.Slice:
		return d.list(s, n, v)
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			to.Elem().Set(v.Elem())
		}
		ok := d.decode(s, to.Elem())
		v.Set(to)
		return ok
	}
	d.add(s.mark(), fmt.Sprintf("%s: the connector's field is of type %s, which no configuration can fill", s.label, v.Type()), "")
	return false
}

func (d *decoder) empty(s spot) bool {
	hint := "write a value, or take it out"
	if n := resolve(s.node); n.Value != "" {
		hint = fmt.Sprintf("write a value, or %q in quotes if that text is meant", n.Value)
	}
	d.add(s.mark(), s.label+" is empty", hint)
	return false
}

// tagged refuses explicit tags but those that change nothing.
func (d *decoder) tagged(s spot, n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == "!!str" && n.Kind == yaml.ScalarNode || n.Tag == "!!map" || n.Tag == "!!seq" {
		return true
	}
	d.add(s.mark(), fmt.Sprintf("%s: YAML tags such as %s are not read", s.label, clip(n.Tag)), "take it out")
	return false
}

func (d *decoder) mapping(s spot, n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	d.add(s.mark(), fmt.Sprintf("%s must be a mapping of keys to values, not %s", s.label, kind(n)), "")
	return false
}

// shape returns the shape of a type, which is made once.
func (d *decoder) shape(t reflect.Type) *shape {
	s := d.shapes[t]
	if s == nil {
		s = shapeOf(t)
		d.shapes[t] = s
	}
	return s
}

// fields fills a struct.
func (d *decoder) fields(s spot, n *yaml.Node, v reflect.Value) bool {
	sh := d.shape(v.Type())
	ok := true
	for _, e := range d.entries(n) {
		name := resolve(e.key).Value
		i, known := sh.byKey[name]
		if !known {
			d.add(e.key, fmt.Sprintf("%s has no key %q", s.label, clip(name)), didYouMean(name, sh.keys))
			ok = false
			continue
		}
		f := sh.fields[i]
		ok = d.decode(spot{name, e.key, e.value}, v.FieldByIndex(f.index)) && ok
	}
	return ok
}

func (d *decoder) toMap(n *yaml.Node, v reflect.Value) bool {
	ok := true
	m := reflect.MakeMap(v.Type())
	for it := v.MapRange(); it.Next(); {
		m.SetMapIndex(it.Key(), it.Value())
	}
	for _, e := range d.entries(n) {
		name := resolve(e.key).Value
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		to := reflect.New(v.Type().Elem()).Elem()
		if old := m.MapIndex(key); old.IsValid() {
			to.Set(old)
		}
		if !d.decode(spot{name, e.key, e.value}, to) {
			ok = false
			continue
		}
		m.SetMapIndex(key, to)
	}
	v.Set(m)
	return ok
}

func (d *decoder) list(s spot, n *yaml.Node, v reflect.Value) bool {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = "write it in brackets: " + s.label + ": [...]"
		}
		d.add(s.mark(), fmt.Sprintf("%s must be a list, not %s", s.label, kind(n)), hint)
		return false
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	ok := true
	for i, element := range n.Content {
		ok = d.decode(spot{label: s.label, node: element}, list.Index(i)) && ok
	}
	if ok {
		v.Set(list)
	}
	return ok
}

// single fills a field from one value.
func (d *decoder) single(s spot, n *yaml.Node, noun string, parse func(text string) error) bool {
	if n.Kind != yaml.ScalarNode {
		d.add(s.mark(), fmt.Sprintf("%s must be %s, not %s", s.label, noun, kind(n)), "")
		return false
	}
	text, ok := d.text(s, n)
	if !ok {
		return false
	}
	if isQuoted(n) && !hasVariable(n) && (noun == nounBool || noun == nounInt || noun == nounFloat) {
		d.add(s.mark(), fmt.Sprintf("%s must be %s, not a text in quotes", s.label, noun), "take out the quotes")
		return false
	}
	err := parse(text)
	if err == nil {
		return true
	}
	d.refuse(s, noun, err)
	return false
}

// refuse reports what is wrong with a value, without showing it if it came
// from a variable.
func (d *decoder) refuse(s spot, noun string, err error) {
	if hasVariable(s.node) {
		d.add(s.mark(), fmt.Sprintf("%s: what %s stands for is not %s", s.label, variables(s.node), noun), "")
		return
	}
	hint := ""
	if p, ok := err.(problem); ok {
		hint = p.hint
	}
	d.add(s.mark(), s.label+": "+err.Error(), hint)
}

// text returns a scalar's text with its variables replaced.
func (d *decoder) text(s spot, n *yaml.Node) (string, bool) {
	if !strings.Contains(n.Value, "${") {
		return n.Value, true
	}
	value, problems := expand(n.Value, d.env)
	for _, p := range problems {
		d.add(s.mark(), s.label+": "+p.message, p.hint)
	}
	return value, problems == nil
}

// What values must be, for errors. Those without quotes are told by these names.
const (
	nounText  = "a text"
	nounBool  = "true or false"
	nounInt   = "a whole number"
	nounFloat = "a number"
)

// scalar returns how to fill v from one value, and what that must be; nil if v
// is not filled from one value.
func (d *decoder) scalar(v reflect.Value) (parse func(text string) error, noun string) {
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		return func(text string) error { return into(to, text, notNegative(parseDuration)) }, "a duration such as 30s"
	case *size:
		return func(text string) error { return into((*int64)(to), text, notNegative(parseSize)) }, "a size such as 64MiB"
	case *Share:
		return func(text string) error { return into(to, text, parseShare) }, "a share such as 30%"
	case *time.Time:
		return func(text string) error { return into(to, text, parseTime) }, "a time such as 2026-01-31T15:04:05Z"
	case encoding.TextUnmarshaler:
		return func(text string) error { return to.UnmarshalText([]byte(text)) }, "as its type wants it"
	}
	switch v.Kind() {
	case reflect.String:
		return func(text string) error { v.SetString(text); return nil }, nounText
	case reflect.Bool:
		return func(text string) error {
			b, err := parseBool(text)
			v.SetBool(b || err != nil && v.Bool())
			return err
		}, nounBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(text string) error { return setInt(v, text) }, nounInt
	case reflect.Float32, reflect.Float64:
		return func(text string) error {
			f, err := parseFloat(text)
			if err == nil {
				v.SetFloat(f)
			}
			return err
		}, nounFloat
	}
	return nil, ""
}

// An unmarshaler is an option that may be written in several ways: it tries to
// decode its value into one type after the other.
type unmarshaler interface {
	UnmarshalYAML(decode func(any) error) error
}

// unmarshal decodes an option by its own method, which is handed this decoder:
// so the types that it tries are as strict as any.
func (d *decoder) unmarshal(s spot, to unmarshaler) bool {
	err := to.UnmarshalYAML(func(into any) error {
		v := reflect.ValueOf(into)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			return fmt.Errorf("the connector decodes into %T, which is no pointer", into)
		}
		attempt := *d
		attempt.document = &document{name: d.name, data: d.data, lines: d.lines, others: d.others}
		if attempt.decode(s, v.Elem()) {
			return nil
		}
		return Errors(attempt.errs)
	})
	if err == nil {
		return true
	}
	if list, ok := errors.AsType[Errors](err); ok {
		d.errs = append(d.errs, list...)
	} else {
		d.refuse(s, "as the connector wants it", err)
	}
	return false
}

// A size is a number of bytes.
type size int64

func into[T any](to *T, text string, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err == nil {
		*to = v
	}
	return err
}

func notNegative[T ~int64](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		v, err := parse(text)
		if err == nil && v < 0 {
			err = problem{fmt.Sprintf("%s is negative", clip(text)), "write " + clip(strings.TrimPrefix(text, "-"))}
		}
		return v, err
	}
}

func setInt(v reflect.Value, text string) error {
	n, err := parseInt(text)
	if err != nil {
		return err
	}
	if v.CanInt() {
		if v.OverflowInt(n) {
			return problem{fmt.Sprintf("%d is too large", n), ""}
		}
		v.SetInt(n)
		return nil
	}
	if n < 0 {
		return problem{fmt.Sprintf("%d is negative", n), ""}
	}
	if v.OverflowUint(uint64(n)) {
		return problem{fmt.Sprintf("%d is too large", n), ""}
	}
	v.SetUint(uint64(n))
	return nil
}

// variables names the variables of a value, as it is written.
func variables(n *yaml.Node) string {
	var names []string
	text := strings.ReplaceAll(resolve(n).Value, "$${", "")
	for {
		_, rest, ok := strings.Cut(text, "${")
		if !ok {
			return strings.Join(names, " ")
		}
		name, after, _ := strings.Cut(rest, "}")
		names, text = append(names, "${"+name+"}"), after
	}
}
