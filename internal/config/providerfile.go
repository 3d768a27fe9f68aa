package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
)

// restName is the connector that provider files are options of.
const restName = "rest"

// A providerFile is a connector written in YAML: the options of the connector
// rest, in a file of their own.
type providerFile struct {
	doc       *document
	root      *yaml.Node
	connector *syncd.Connector // nil: it is wrong
}

func (f *providerFile) node() *yaml.Node {
	if f == nil {
		return nil
	}
	return f.root
}

// isFile reports whether what stands for a connector names a provider file.
func isFile(connector string) bool {
	return strings.ContainsAny(connector, `/\`) || strings.HasSuffix(connector, ".yaml") || strings.HasSuffix(connector, ".yml")
}

// Expand returns the connectors with those that are provider files made ready
// to use. An error is a fault of the program that they come with.
func Expand(connectors []syncd.Connector) ([]syncd.Connector, error) {
	out := make([]syncd.Connector, len(connectors))
	for i, c := range connectors {
		out[i] = c
		if c.File == nil {
			continue
		}
		made, err := FromFile(c.Name+".yaml", c.File, connectors, nil)
		if err != nil {
			return nil, fmt.Errorf("the connector %s: %w", c.Name, err)
		}
		out[i] = made
	}
	return out, nil
}

// FromFile returns the connector that the bytes of a provider file of that
// name describe. Its error is of type Errors where the file is wrong.
func FromFile(name string, data []byte, connectors []syncd.Connector, env func(string) (string, bool)) (syncd.Connector, error) {
	l := newLoader(&document{name: name}, connectors, env)
	f := l.readProviderFile(name, data)
	if f.connector != nil {
		p := &provider{Provider: &Provider{Name: f.connector.Name, Connector: *f.connector}, file: f, decoded: f.connector.Options()}
		if api, err := p.decoded.(syncd.Describer).API(); err != nil {
			l.optionsError(p, nil, f.root, err)
		} else {
			f.connector.Summary, f.connector.BaseURL, f.connector.Auth, f.connector.Rate = api.Summary, api.BaseURL, api.Auth, api.Rate
		}
	}
	if len(l.errs) > 0 {
		return syncd.Connector{}, Errors(sorted(l.errs))
	}
	return *f.connector, nil
}

// connectorFile returns the connector of a provider file that a provider names.
func (l *loader) connectorFile(p *provider, a *at[string]) *syncd.Connector {
	path, shown := a.Value, a.Value
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.cfg.Dir, path)
		shown = filepath.Join(filepath.Dir(l.cfg.Path), shown) // as seen from where the command runs, like the configuration's own name
	}
	f := l.files[path]
	if f == nil {
		data, err := readProviderFile(path)
		if err != nil {
			l.refuse(a.spot, "a provider file", problem{fmt.Sprintf("the provider file can't be read: %v", err), "a connector of this program is named without a path: one of " + strings.Join(l.known, ", ")})
			return nil
		}
		f = l.readProviderFile(shown, data)
		l.files[path] = f
		l.cfg.Files = append(l.cfg.Files, path)
	}
	p.file = f
	return f.connector
}

func readProviderFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// readProviderFile decodes a provider file. What is wrong with it is added to
// the errors, under the name of the file.
func (l *loader) readProviderFile(name string, data []byte) *providerFile {
	f := &providerFile{doc: &document{name: name, data: data}}
	before := len(l.errs)
	f.root = f.doc.parse("streams:")
	if f.root != nil && f.doc.cycles(f.root) {
		f.root = nil
	}
	l.errs = append(l.errs, f.doc.errs...)
	if f.root == nil {
		return f
	}
	l.adopt(f.doc, f.root)
	rest := l.connectors[restName]
	if rest == nil {
		l.add(f.root, "this program lacks the connector rest, which reads provider files", "")
		return f
	}
	base := rest.Options()
	if !l.decode(spot{label: "the provider file", node: f.root}, reflect.ValueOf(base).Elem()) && len(l.errs) == before {
		l.errs = append(l.errs, Error{File: name, Line: 1, Column: 1, Message: "the provider file can't be read"})
	}
	if len(l.errs) > before {
		return f
	}
	f.connector = &syncd.Connector{Name: stem(name), File: data, Options: func() syncd.Options {
		return clone(reflect.ValueOf(base)).Interface().(syncd.Options)
	}}
	if !isName(f.connector.Name, "_-") {
		l.add(f.root, fmt.Sprintf("the provider file's name %q is not of 1 to 64 lower case letters, digits, - and _", clip(f.connector.Name)), "rename it")
		f.connector = nil
	}
	return f
}

// adopt notes that the nodes of a tree stand in another file.
func (l *loader) adopt(doc *document, n *yaml.Node) {
	if l.others == nil {
		l.others = map[*yaml.Node]*document{}
	}
	if l.others[n] != nil {
		return
	}
	l.others[n] = doc
	if n.Alias != nil {
		l.adopt(doc, n.Alias)
	}
	for _, c := range n.Content {
		l.adopt(doc, c)
	}
}

// stem is a file's name without its folder and ending.
func stem(path string) string {
	name := filepath.Base(filepath.FromSlash(path))
	return strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
}
