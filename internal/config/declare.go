package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A declarer checks sources that are added at run time against the providers of
// a configuration. It keeps what was read of them, and of nothing else.
type declarer struct {
	loader *loader
}

// newDeclarer keeps of a loader what declarations need.
func newDeclarer(l *loader) *declarer {
	kept := newLoader(&document{others: maps.Clone(l.others)}, nil, nil)
	kept.connectors, kept.known = l.connectors, l.known
	kept.base, kept.budget, kept.providers, kept.names = l.base, l.budget, l.providers, l.names
	kept.cfg.Dir = l.cfg.Dir
	file := &document{name: l.name, lines: l.lines}
	for _, p := range l.providers {
		kept.adopt(file, p.key)
		kept.adopt(file, p.value)
	}
	return &declarer{kept}
}

// declarationName stands for the file in errors about a declaration.
const declarationName = "declaration"

// Keys of a source in the file that a declaration can't have: the first two are
// given beside it, and secrets belong to the vault.
var undeclared = []string{"user", "provider", "credentials"}

// Declare returns the source that was added at run time with a declaration: a
// JSON object with the keys of a source in the file, without user, provider
// and credentials. ${ stands for itself in it: who declares a source does not
// see the environment. For the same reason it has no options where they name
// files of this machine. An error is of type Errors. It may be called by many
// at once.
func (c *Config) Declare(user, provider, declaration string) (*Source, error) {
	node, err := declarationNode(user, provider, declaration)
	if err != nil {
		return nil, Errors{{File: declarationName, Line: 1, Column: 1, Message: err.Error()}}
	}
	kept := c.declarer.loader
	l := newLoader(&document{name: declarationName, others: kept.others}, nil, nil)
	l.connectors, l.known, l.base, l.budget, l.names = kept.connectors, kept.known, kept.base, kept.budget, kept.names
	l.cfg.Dir = kept.cfg.Dir
	l.declared = declaration
	base, _, _ := strings.Cut(provider, "@")
	if p := kept.providers[base]; p != nil {
		own := *p // it notes what it has reported
		l.providers[base] = &own
	}
	l.seen = map[sourceKey]*yaml.Node{}
	l.oneSource(node)
	if len(l.errs) > 0 {
		return nil, Errors(sorted(l.errs))
	}
	return l.cfg.Sources[0], nil
}

// declarationNode returns a declaration as it would stand in the file.
func declarationNode(user, provider, declaration string) (*yaml.Node, error) {
	// What is no UTF-8, or half a surrogate pair, becomes U+FFFD in JSON: two users
	// would become one.
	if strings.ContainsRune(user+provider, utf8.RuneError) {
		return nil, errors.New("the user or the provider is not UTF-8, or holds U+FFFD, which stands for what is not")
	}
	d := json.NewDecoder(strings.NewReader(declaration))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil || fields == nil {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	for _, key := range undeclared {
		if _, ok := fields[key]; ok {
			return nil, fmt.Errorf("%s is not part of it", key)
		}
	}
	fields["user"], fields["provider"] = user, provider
	text, err := json.Marshal(literal(fields)) // JSON of this spelling is YAML
	if err != nil {
		return nil, err
	}
	root, err := parseYAML(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("it can't be read")
	}
	return root, nil
}

// literal makes every ${ in the texts of a JSON value stand for itself.
func literal(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "${", "$${")
	case []any:
		for i := range v {
			v[i] = literal(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = literal(v[key])
		}
	}
	return v
}

// declaredOptions refuses the options of a declaration where they name files: who
// adds a source does not choose what is read of this machine.
func (l *loader) declaredOptions(p *provider, s *sourceShape) bool {
	if _, files := p.decoded.(pathResolver); !files || l.declared == "" {
		return true
	}
	l.add(s.Options.key, fmt.Sprintf("options: the connector %s reads files of this machine, so they are for the configuration to say", p.Connector.Name), "declare the source there")
	return false
}

// Declared are the keys that a declaration can have.
func Declared() []string {
	var keys []string
	for _, key := range shapeOf(reflect.TypeFor[sourceShape]()).keys {
		if !slices.Contains(undeclared, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
