package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

// parse reads a file that must be right.
func parse(t *testing.T, text string, env map[string]string) *Config {
	t.Helper()
	cfg, err := Parse("folder/syncd.yaml", []byte(text), fakes(), environment(env))
	if err != nil {
		t.Fatalf("Parse: got errors\n%v\nof\n%s", err, text)
	}
	return cfg
}

// TestOptionsOver decodes the source's options over the provider's over the defaults.
func TestOptionsOver(t *testing.T) {
	cfg := parse(t, goodStore+`providers:
  github:
    connector: github
    schedule: "@hourly"
    options:
      repo: a/b
      page_size: 50
      since: 2026-01-31
      lookback: 2d
      enabled: on
      country: no
      labels: { a: 1, b: yes }
      filter: { author: 007, branch: y }
      columns: [{ name: x }, { name: ~x }]
sources:
- { user: a, provider: github, credentials: { token: t } }
- { user: b, provider: github, credentials: { token: t }, options: { repo: 1.0, enabled: off, labels: { b: n, c: 0x1F }, filter: { branch: 1e3 }, columns: [] } }
`, nil)
	type column = struct{ Name string }
	first := &githubOptions{
		Repo: "a/b", State: "all", PageSize: 50, Since: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), Lookback: 48 * time.Hour,
		Enabled: true, Country: "no", Labels: map[string]string{"a": "1", "b": "yes"}, Columns: []column{{"x"}, {"~x"}},
	}
	first.Filter.Author, first.Filter.Branch = "007", "y"
	if diff := cmp.Diff(syncd.Options(first), cfg.Sources[0].Options); diff != "" {
		t.Errorf("options of a (-want +got)\n%s", diff)
	}
	second := *first
	second.Repo, second.Enabled, second.Columns = "1.0", false, []column{}
	second.Labels = map[string]string{"a": "1", "b": "n", "c": "0x1F"}
	second.Filter.Branch = "1e3"
	if diff := cmp.Diff(syncd.Options(&second), cfg.Sources[1].Options); diff != "" {
		t.Errorf("options of b (-want +got)\n%s", diff)
	}
}

func TestOptionsErrors(t *testing.T) {
	file := func(provider, source string) string {
		return goodStore + "providers:\n  github: { connector: github, schedule: '@daily', options: " + provider + " }\nsources:\n- { user: a, provider: github, credentials: { token: t }" + source + " }\n"
	}
	wrong(t, []faulty{
		{"at the source's own", file("{}", ", options: { repo: a/b, page_size: 101 }"), []string{"5:92: page_size: 101 is more than 100"}},
		{"at the provider's", file("{ page_size: 101 }", ", options: { repo: a/b }"), []string{"3:74: page_size: 101 is more than 100"}},
		{"missing, with options", file("{}", ", options: { page_size: 3 }"), []string{"5:59: repo: name a repository, such as robfig/cron"}},
		{"missing, without options", file("{}", ""), []string{"5:3: repo: name a repository, such as robfig/cron"}},
		{"nested", file("{}", ", options: { repo: a/b, filter: { branch: none } }"), []string{`5:99: filter.branch: there is no branch "none"`}},
		{"in a list", file("{}", ", options: { repo: a/b, columns: [{ name: x }, { name: '' }] }"), []string{"5:112: columns[1].name: is empty"}},
		{"of no one option", file("{}", ", options: { repo: a/b, state: closed }"), []string{"5:59: options: state closed is not possible in a/b"}},
		{"empty", file("{}", ", options:"), []string{"5:59: options is empty: write a value, or take it out"}},
		{"numbers", file("{}", ", options: { repo: a/b, page_size: 010, since: yesterday, lookback: 30, enabled: y, columns: {} }"), []string{
			`5:92: page_size: "010" begins with a zero, which some read as octal: take out the leading zeros`,
			`5:104: since: "yesterday" is not a time: write it with its offset from UTC, such as 2026-01-31T15:04:05Z, or as a day, such as 2026-01-31`,
			"5:125: lookback: 30 of what? write 30s",
			`5:138: enabled: "y" is not true or false: write true or false`,
			"5:150: columns must be a list, not a mapping"}},
	})
}

// TestPaths makes paths absolute at the configuration's folder, once, whoever
// sets them.
func TestPaths(t *testing.T) {
	cfg := parse(t, goodStore+`providers:
  orders: { connector: csv, schedule: "@daily", options: { path: feeds/a.csv, key: [k] } }
sources:
- { user: a, provider: orders }
- { user: b, provider: orders, options: { delimiter: ";" } }
- { user: c, provider: orders, options: { path: /abs/b.csv } }
- { user: d, provider: orders, options: { path: feeds/../feeds/a.csv } }
`, nil)
	dir, err := filepath.Abs("folder")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Dir != dir {
		t.Errorf("Dir: got %s, want %s", cfg.Dir, dir)
	}
	if got, want := cfg.Store, "sqlite:"+filepath.Join(dir, "syncd.db"); got != want {
		t.Errorf("Store: got %s, want %s", got, want)
	}
	a := filepath.Join(dir, "feeds", "a.csv")
	for i, want := range []string{a, a, "/abs/b.csv", a} {
		if got := cfg.Sources[i].Options.(*csvOptions).Path; got != want {
			t.Errorf("path of source %d: got %s, want %s", i, got, want)
		}
	}
}

// TestSettings compares fingerprints: equal settings share one, and no other does.
func TestSettings(t *testing.T) {
	sources := `
sources:
- { user: a, provider: one, credentials: { token: t } }
- { user: b, provider: one, credentials: { token: other }, options: { page_size: 100, labels: {}, columns: [] } }
- { user: c, provider: two, schedule: "@daily", credentials: { token: t }, options: { repo: a/b } }
- { user: d, provider: one, credentials: { token: t }, options: { repo: a/c } }
- { user: e, provider: one, credentials: { token: t }, options: { labels: { a: "1" } } }
- { user: f, provider: one, credentials: { token: t }, options: { labels: { a: "", "1": "" } } }
- { user: g, provider: three, credentials: { token: t } }
`
	providers := goodStore + `providers:
  one: { connector: github, schedule: "@hourly", options: { repo: a/b } }
  two: { connector: github, schedule: "@hourly", timezone: Europe/Berlin }
  three: { connector: github, schedule: "@hourly", base_url: "https://ghe.example.com", options: { repo: a/b } }`
	cfg := parse(t, providers+sources, nil)
	s := cfg.Sources
	for _, same := range [][2]int{{0, 1}, {0, 2}} {
		if s[same[0]].Settings != s[same[1]].Settings {
			t.Errorf("sources %v: settings differ", same)
		}
	}
	seen := map[string]int{}
	for _, i := range []int{0, 3, 4, 5, 6} {
		if j, ok := seen[s[i].Settings]; ok {
			t.Errorf("sources %d and %d: settings are the same", j, i)
		}
		seen[s[i].Settings] = i
	}
	if s[0].Options != s[1].Options {
		t.Errorf("equal options of one provider are not shared")
	}
	// The fingerprint is kept in the store: it must be the same in every release.
	if got, want := s[0].Settings, "fa38549530861ac18f046b68e93bcbd4"; got != want {
		t.Errorf("Settings: got %s, want %s", got, want)
	}
}

func TestBrokenConnectors(t *testing.T) {
	for how, want := range map[string]string{
		"panic": "its check of the options panics: index out of range",
		"name":  `its stream "Issues" is not named in lower case letters, digits and underscores`,
		"twice": "it has two streams named a",
		"fetch": "its stream a has no Fetch",
	} {
		got := parseErrors(t, goodStore+"providers:\n  b: { connector: broken, schedule: '@daily' }\nsources:\n- { user: a, provider: b, options: { how: "+how+" } }\n", nil)
		if diff := cmp.Diff([]string{"3:19: the connector broken is at fault: " + want}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", how, diff)
		}
	}
	wrong(t, []faulty{{"nothing to read", goodStore + "providers:\n  b: { connector: broken, schedule: '@daily' }\nsources:\n- { user: a, provider: b, options: { how: none } }\n", []string{
		"5:27: options: the options select nothing to read"}}})
}

// oneOrMore may be written as one name or as a list.
type oneOrMore []string

func (n *oneOrMore) UnmarshalYAML(decode func(any) error) error {
	var one string
	if err := decode(&one); err == nil {
		*n = oneOrMore{one}
		return nil
	}
	var list []string
	err := decode(&list)
	*n = list
	return err
}

type odd struct {
	Key    oneOrMore
	Chan   chan int
	Ptr    *int
	Level  level
	Ignore string `yaml:"-"`
	secret string
	embedded
	Small uint8
}

type embedded struct {
	Deep bool `doc:"how deep"`
}

type level int

func (l *level) UnmarshalText(text []byte) error {
	if *l = level(strings.Index("low high", string(text))); *l < 0 {
		return syncd.BadOption("level", "is not low or high")
	}
	return nil
}

func (o *odd) Streams(*syncd.Client) ([]syncd.Stream, error) {
	o.secret = "set by the connector itself"
	return []syncd.Stream{{Name: "a", Fetch: noFetch}}, nil
}

func TestOddOptions(t *testing.T) {
	connectors := []syncd.Connector{{Name: "odd", Options: func() syncd.Options { n := 7; return &odd{Ptr: &n} }}}
	load := func(options string) (*Config, error) {
		return Parse("f", []byte(goodStore+"providers: { o: { connector: odd, schedule: '@daily' } }\nsources:\n- { user: a, provider: o, options: "+options+" }\n"), connectors, nil)
	}
	cfg, err := load("{ key: a, ptr: 8, level: high, deep: yes, small: 255 }")
	if err != nil {
		t.Fatal(err)
	}
	eight := 8
	want := &odd{secret: "set by the connector itself", Key: oneOrMore{"a"}, Ptr: &eight, Level: 4, embedded: embedded{true}, Small: 255}
	if diff := cmp.Diff(want, cfg.Sources[0].Options, cmp.AllowUnexported(odd{}, embedded{})); diff != "" {
		t.Errorf("options (-want +got)\n%s", diff)
	}
	_, err = load("{ key: { a: b }, ptr: x, level: mid, chan: 1, ignore: x, secret: x, small: 256, deep: 1 }")
	wantErrors := strings.Join([]string{
		"f:4:43: key must be a list, not a mapping",
		`f:4:58: ptr: "x" is not a whole number: write it in plain digits, such as 1000`,
		"f:4:68: level: level: is not low or high",
		"f:4:79: chan: the connector's field is of type chan int, which no configuration can fill",
		`f:4:82: options has no key "ignore": known: key, chan, ptr, level, deep, small`,
		`f:4:93: options has no key "secret": known: key, chan, ptr, level, deep, small`,
		"f:4:111: small: 256 is too large",
		`f:4:122: deep: "1" is not true or false: write true or false`,
	}, "\n")
	if diff := cmp.Diff(wantErrors, err.Error()); diff != "" {
		t.Errorf("errors (-want +got)\n%s", diff)
	}
	got := Describe(connectors[0])
	wantOptions := []Option{
		{"key", "list", "", ""}, {"chan", "mapping", "", ""}, {"ptr", "whole number", "7", ""}, {"level", "text", "", ""},
		{"deep", "true or false", "", "how deep"}, {"small", "whole number", "", ""},
	}
	if diff := cmp.Diff(wantOptions, got); diff != "" {
		t.Errorf("Describe (-want +got)\n%s", diff)
	}
}
