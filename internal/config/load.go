package config

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
)

// Load reads the file and checks it wholly against the connectors. env looks up
// an environment variable, as os.LookupEnv does; nil is an empty environment.
// The error is of type Errors if the file can be read and is wrong.
func Load(path string, connectors []syncd.Connector, env func(string) (string, bool)) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data, connectors, env)
}

// Parse is Load over the bytes of the file of that name, whose folder is where
// relative paths start.
func Parse(name string, data []byte, connectors []syncd.Connector, env func(string) (string, bool)) (*Config, error) {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	d := &document{name: name, data: data}
	if root := d.parse("store:, providers: and sources:"); root != nil && !d.cycles(root) {
		l := newLoader(d, connectors, env)
		l.cfg.Path, l.cfg.Dir = name, dir
		l.file(root)
		if len(d.errs) == 0 {
			l.cfg.Warnings = sorted(d.warnings)
			l.cfg.declarer = newDeclarer(l)
			return l.cfg, nil
		}
	}
	return nil, Errors(sorted(d.errs))
}

// A loader turns a document into a configuration.
type loader struct {
	*decoder
	cfg        *Config
	connectors map[string]*syncd.Connector
	known      []string                 // the connectors' names
	files      map[string]*providerFile // by path
	base       plan                     // the timing of the file itself
	budget     Budget                   // of the file itself
	providers  map[string]*provider
	names      []string // of the providers, in the file's order
	seen       map[sourceKey]*yaml.Node
	shared     shared
	declared   string // what is read was added with at run time; "" in the file
}

func newLoader(d *document, connectors []syncd.Connector, env func(string) (string, bool)) *loader {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	l := &loader{
		decoder:    &decoder{document: d, env: env, shapes: map[reflect.Type]*shape{}, left: 1<<20 + 8*len(d.data)},
		cfg:        &Config{Providers: map[string]*Provider{}},
		connectors: map[string]*syncd.Connector{},
		files:      map[string]*providerFile{},
		providers:  map[string]*provider{},
		shared:     newShared(),
	}
	for i := range connectors {
		l.connectors[connectors[i].Name] = &connectors[i]
		l.known = append(l.known, connectors[i].Name)
	}
	return l
}

func (l *loader) file(root *yaml.Node) {
	f := defaults()
	l.decode(spot{label: "the file", node: withoutExtras(root)}, reflect.ValueOf(&f).Elem())
	if root.Kind != yaml.MappingNode {
		return
	}
	l.top(root, &f)
	switch {
	case !f.Providers.given():
		l.add(root, "the file has no providers", "name the services to read from, or write providers: {} for none")
	case f.Providers.good:
		l.allProviders(f.Providers.spot)
	}
	switch {
	case !f.Sources.given():
		l.add(root, "the file has no sources", "list whose data to keep, or write sources: [] for none")
	case f.Sources.good:
		l.allSources(f.Sources.spot)
	}
}

// withoutExtras leaves out the keys that begin with x-: places for anchors.
func withoutExtras(root *yaml.Node) *yaml.Node {
	if root.Kind != yaml.MappingNode {
		return root
	}
	copied := *root
	copied.Content = make([]*yaml.Node, 0, len(root.Content))
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !strings.HasPrefix(root.Content[i].Value, "x-") {
			copied.Content = append(copied.Content, root.Content[i], root.Content[i+1])
		}
	}
	return &copied
}

// top takes over what is neither a provider nor a source.
func (l *loader) top(root *yaml.Node, f *fileShape) {
	if !f.Store.given() {
		l.add(root, "the file has no store", "write store: sqlite:syncd.db, or postgres://USER:PASSWORD@HOST/DATABASE")
	} else if f.Store.good {
		l.cfg.Store = l.store(&f.Store)
	}
	l.keys(&f.Keys)
	l.listen(&f.Listen)
	l.api(root, f)
	within(l, &f.Workers, 1, 1000)
	within(l, &f.Lease, time.Second, time.Hour)
	within(l, &f.Grace, 0, 10*time.Minute)
	within(l, &f.Spread, 0, maxSpread)
	within(l, &f.GiveUp.Failures, 0, 1<<20)
	within(l, &f.GiveUp.After, 0, 366*24*time.Hour)
	l.cfg.GiveUp = GiveUp{f.GiveUp.Failures.Value, f.GiveUp.After.Value}
	within(l, &f.Limits.Body, 1<<10, 1<<30)
	within(l, &f.Limits.InlineWait, 0, 10*time.Minute)
	within(l, &f.Limits.Park, time.Minute, 31*24*time.Hour)
	l.cfg.Listen, l.cfg.Workers = f.Listen.Value, f.Workers.Value
	l.cfg.Lease, l.cfg.Grace, l.cfg.Changes = f.Lease.Value, f.Grace.Value, f.Changes.Value
	l.cfg.Limits = Limits{
		Body:       int64(f.Limits.Body.Value),
		InlineWait: f.Limits.InlineWait.Value,
		Park:       f.Limits.Park.Value,
		Rejects:    f.Limits.Rejects.Value,
	}
	l.log(&f.Log)
	l.base = plan{zone: time.UTC, spread: f.Spread.Value, catchUp: l.catchUp(&f.CatchUp, true)}
	l.budget = l.budgetOver(Budget{}, &f.Budget)
	l.budget.Time = f.Budget.Time.Value
}

func (l *loader) log(s *logShape) {
	l.oneOf(&s.Format, "format")
	l.cfg.Log.Format = s.Format.Value
	if l.oneOf(&s.Level, "level") {
		// The four names are among those that slog reads.
		_ = l.cfg.Log.Level.UnmarshalText([]byte(s.Level.Value))
	}
}

// keys sets where the master keys are: beside the database if that is a file.
func (l *loader) keys(a *at[string]) {
	path, embedded := strings.CutPrefix(l.cfg.Store, "sqlite:")
	switch {
	case a.good && a.Value == "":
		l.refuse(a.spot, "the path of a file", problem{"it is empty", "write the path of a file, or take it out"})
	case a.good:
		l.cfg.Keys = a.Value
		if !filepath.IsAbs(a.Value) {
			l.cfg.Keys = filepath.Join(l.cfg.Dir, a.Value)
		}
	case embedded:
		l.cfg.Keys = filepath.Join(filepath.Dir(path), "syncd.keys")
	}
}

func (l *loader) listen(a *at[string]) {
	if !a.good {
		return
	}
	_, port, err := net.SplitHostPort(a.Value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		l.refuse(a.spot, "HOST:PORT", problem{fmt.Sprintf("%q is not HOST:PORT", clip(a.Value)), "write it such as 127.0.0.1:8400"})
	}
}

// budgetOver returns the budget that a shape sets over another.
func (l *loader) budgetOver(b Budget, s *budgetShape) Budget {
	within(l, &s.Time, 0, 31*24*time.Hour)
	within(l, &s.Pages, 0, 1<<30)
	if s.Time.good {
		b.Time = s.Time.Value
	}
	if s.Pages.good {
		b.Pages = s.Pages.Value
	}
	return b
}

// within checks a number that the file sets.
func within[T int | size | time.Duration](l *loader, a *at[T], least, most T) {
	if !a.good || a.Value >= least && a.Value <= most {
		return
	}
	noun := fmt.Sprintf("between %s and %s", amount(least), amount(most))
	l.refuse(a.spot, noun, problem{fmt.Sprintf("%s is out of range", amount(a.Value)), "it must be " + noun})
}

// amount spells a number as the file would.
func amount(v any) string {
	switch v := v.(type) {
	case size:
		for _, u := range []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
			if int64(v) >= u.size && int64(v)%u.size == 0 {
				return strconv.FormatInt(int64(v)/u.size, 10) + u.name
			}
		}
		return strconv.FormatInt(int64(v), 10) + "B"
	case time.Duration:
		for _, u := range durationUnits {
			if u.name != "w" && int64(v) >= u.size && int64(v)%u.size == 0 {
				return strconv.FormatInt(int64(v)/u.size, 10) + u.name
			}
		}
		return v.String()
	}
	return fmt.Sprint(v)
}

// oneOf checks a value that must be one of the words of its key.
func (l *loader) oneOf(a *at[string], key string) bool {
	known := words[key]
	if slices.Contains(known, a.Value) {
		return true
	}
	if a.good {
		noun := "one of " + strings.Join(known, ", ")
		l.refuse(a.spot, noun, problem{fmt.Sprintf("%q is not known", clip(a.Value)), didYouMean(a.Value, known)})
	}
	return false
}
