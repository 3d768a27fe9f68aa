package config

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
)

// A pathResolver is an Options with paths of files in it. ResolvePaths is
// called once after decoding and before Streams; it joins relative paths to
// dir, the absolute folder of the configuration.
type pathResolver interface{ ResolvePaths(dir string) }

type optionsKey struct {
	provider *provider
	settings string
}

type optionsValue struct {
	options syncd.Options
	err     error // of Streams
}

// options decodes what a node sets over a copy of base.
func (l *loader) options(base syncd.Options, t *subtree) (syncd.Options, bool) {
	copied := clone(reflect.ValueOf(base)).Interface().(syncd.Options)
	ok := l.decode(spot{"options", t.key, t.node}, reflect.ValueOf(copied).Elem())
	return copied, ok
}

// finish turns decoded options into those that a source uses: fingerprinted,
// with paths made absolute, checked, and the same for all that are equal.
func (l *loader) finish(p *provider, decoded syncd.Options) (optionsValue, string) {
	settings := l.fingerprint(p.Connector.Name, p.BaseURL, decoded)
	key := optionsKey{p, settings}
	if v, ok := l.shared.options[key]; ok {
		return v, settings
	}
	v := optionsValue{options: decoded}
	if _, ok := decoded.(pathResolver); ok {
		// The provider's are the base of others, with their paths as written.
		v.options = clone(reflect.ValueOf(decoded)).Interface().(syncd.Options)
		v.options.(pathResolver).ResolvePaths(l.cfg.Dir)
	}
	v.err = checkStreams(v.options, p.client)
	l.shared.options[key] = v
	return v, settings
}

// errConnector is a fault of the connector and not of the configuration.
type errConnector struct{ message string }

func (e errConnector) Error() string { return e.message }

// checkStreams has the connector check the options, and checks what it returns.
func checkStreams(o syncd.Options, c *syncd.Client) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errConnector{fmt.Sprintf("its check of the options panics: %v", p)}
		}
	}()
	streams, err := o.Streams(c)
	if err != nil {
		return err
	}
	if len(streams) == 0 {
		return errors.New("the options select nothing to read")
	}
	seen := map[string]bool{}
	for _, s := range streams {
		switch {
		case !isName(s.Name, "_"):
			return errConnector{fmt.Sprintf("its stream %q is not named in lower case letters, digits and underscores", clip(s.Name))}
		case seen[s.Name]:
			return errConnector{fmt.Sprintf("it has two streams named %s", s.Name)}
		case s.Fetch == nil:
			return errConnector{fmt.Sprintf("its stream %s has no Fetch", s.Name)}
		}
		seen[s.Name] = true
	}
	return nil
}

// isName reports whether a text is of 1 to 64 lower case letters, digits and
// the other characters given.
func isName(s, others string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789"+others) == ""
}

// optionsError reports what a connector found wrong: at the option that it
// names, in the source's options (nil for a source without) or the provider's,
// else where the source or its options stand.
func (l *loader) optionsError(p *provider, own *subtree, source *yaml.Node, err error) {
	if e, ok := errors.AsType[errConnector](err); ok {
		l.add(p.shape.Connector.mark(), fmt.Sprintf("the connector %s is at fault: %s", p.Connector.Name, l.scrub(e.Error(), p, own)), "")
		return
	}
	at, label := source, "options"
	if own.given() {
		at = own.mark()
		if own.key != nil {
			at = own.key
		}
	}
	if e, ok := errors.AsType[*syncd.OptionError](err); ok {
		if n := find(own.node, e.Option); n != nil {
			at = n
		} else if n := find(p.shape.Options.node, e.Option); n != nil {
			at = n
		}
		label, err = e.Option, e.Err
	}
	message := l.scrub(err.Error(), p, own)
	if hasVariable(at) {
		message = "what " + variables(at) + " stands for is refused by the connector " + p.Connector.Name
	}
	l.add(at, label+": "+message, "")
}

// scrub takes a connector's text out of an error if it may show a value that
// came from a variable.
func (l *loader) scrub(text string, p *provider, own *subtree) string {
	shown := false
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		if n = resolve(n); depth > 20 {
			return
		}
		if hasVariable(n) {
			value, _ := expand(n.Value, l.env)
			shown = shown || shows(text, value)
		}
		for _, c := range n.Content {
			walk(c, depth+1)
		}
	}
	for _, t := range []*subtree{own, &p.shape.Options, {p.shape.BaseURL.standing}} {
		if t.given() {
			walk(t.node, 0)
		}
	}
	if shown {
		return "a value that comes from a variable is refused by the connector " + p.Connector.Name
	}
	return text
}

// shows reports whether a text holds a value, or its beginning, in some spelling.
func shows(text, value string) bool {
	if value == "" {
		return false
	}
	quoted := strconv.Quote(value)
	for _, v := range []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value)} {
		if strings.Contains(text, v[:min(len(v), 8)]) {
			return true
		}
	}
	return false
}

// clone copies a value deeply, as far as decoding could change it.
func clone(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(clone(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(clone(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(clone(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), clone(it.Value()))
			}
		}
	}
	return out
}

// fingerprint identifies settings. Fields with their zero value do not count,
// so that a new option changes nothing for those who do not set it.
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

// noRequests is under the client that options are checked with.
type noRequests struct{}

func (noRequests) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no requests can be made while the configuration is checked")
}

// An Option is one setting of a connector, for listings.
type Option struct {
	Key     string // in a nested struct with the keys around it: filter.state
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
