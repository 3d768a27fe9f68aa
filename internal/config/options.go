package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
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
// names, in the source's options (nil for a source without), the provider's or
// the provider file, else where the source or its options stand. Errors that
// are joined are reported one by one.
func (l *loader) optionsError(p *provider, own *subtree, source *yaml.Node, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			l.optionsError(p, own, source, err)
		}
		return
	}
	if e, ok := errors.AsType[errConnector](err); ok {
		l.add(p.shape.Connector.mark(), fmt.Sprintf("the connector %s is at fault: %s", p.Connector.Name, l.scrub(e.Error(), p, own)), "")
		return
	}
	at, label := source, "options"
	if own != nil && own.given() {
		at = own.mark()
		if own.key != nil {
			at = own.key
		}
	}
	if e, ok := errors.AsType[*syncd.OptionError](err); ok {
		if n := l.nodeOf(p, own, e.Option); n != nil {
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

// nodeOf returns where an option is written: the place that spells most of its
// path, the source's before the provider's before the file's. Nil is nowhere.
func (l *loader) nodeOf(p *provider, own *subtree, option string) *yaml.Node {
	var best *yaml.Node
	most := 0
	for _, root := range []*yaml.Node{nodeIn(own), p.shape.Options.node, p.file.node()} {
		if n, depth := find(root, option); depth > most {
			best, most = n, depth
		}
	}
	return best
}

func nodeIn(t *subtree) *yaml.Node {
	if t == nil {
		return nil
	}
	return t.node
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
		if t != nil && t.given() {
			walk(t.node, 0)
		}
	}
	if n := p.file.node(); n != nil {
		walk(n, 0)
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

// noRequests is under the client that options are checked with.
type noRequests struct{}

func (noRequests) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no requests can be made while the configuration is checked")
}
