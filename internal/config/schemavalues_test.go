package config

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// asJSON returns a YAML text as an editor hands it to a schema.
func asJSON(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return plainJSON(v)
}

// plainJSON returns what YAML holds and JSON does not as editors do: keys are
// texts, and so are times.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plainJSON(v[key])
		}
	case map[any]any:
		out := map[string]any{}
		for key := range v {
			out[fmt.Sprint(key)] = plainJSON(v[key])
		}
		return out
	case []any:
		for i := range v {
			v[i] = plainJSON(v[i])
		}
	case int:
		return json.Number(fmt.Sprint(v))
	case int64:
		return json.Number(fmt.Sprint(v))
	case uint64:
		return json.Number(fmt.Sprint(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// uncommented takes out the # before every setting of the example, as
// TestExampleComments does.
func uncommented(text string) (string, int) {
	keys := allSettings()
	keys["github"] = true
	setting := regexp.MustCompile(`^(\s*)# (\s*(?:- )?([a-z_]+):.*)$`)
	lines := strings.Split(text, "\n")
	taken := 0
	for i, line := range lines {
		if m := setting.FindStringSubmatch(line); m != nil && keys[m[3]] {
			lines[i] = m[1] + m[2]
			taken++
		}
	}
	return strings.Join(lines, "\n"), taken
}

func TestSchemaTakesWhatIsRight(t *testing.T) {
	text, err := Schema(allConnectors(t))
	s := compiled(t, text, err)
	plain := readText(t, example)
	all, taken := uncommented(plain)
	if taken < 35 {
		t.Errorf("got %d settings in comments, want at least 35: they are not found", taken)
	}
	if !strings.HasPrefix(plain, "# yaml-language-server: $schema=./schema/syncd.schema.json\n") {
		t.Error("config.example.yaml does not name its schema")
	}
	const head = "store: sqlite:x.db\n"
	for _, right := range []string{
		plain,
		all,
		head + "x-any: [1]\nproviders: {}\nsources: []\n",
		head + "workers: \"${WORKERS}\"\nchanges: ${CHANGES}\nlease: 1h30m\nlimits: { body: 64MiB, rejects: 0.5 }\nproviders:\n  a: { connector: csv, schedule: \"@daily\", max_missing: 30%, options: { path: a.csv, key: [a], header: on, skip_lines: \"${SKIP}\" } }\nsources:\n- { user: 007, provider: a@work, credentials: { token: \"${T}\" } }\n",
		"store: ${STORE}\ncatch_up: ${C}\nlog: { level: \"${L}\" }\nproviders:\n  a: { connector: \"${CONNECTOR}\", options: { any: 1 } }\n  2024: { connector: sample }\nsources: [{ user: true, provider: 2024 }, { user: \"${U}\", provider: \"${P}@work\" }]\n",
		head + "providers:\n  a: { connector: ./tickets.yaml, options: { params: { team: blue } } }\nsources: []\n",
		head + "providers:\n  a: { connector: hacker_news, options: { only: [stories] } }\nsources: []\n",
		head + "providers:\n  a:\n    connector: rest\n    options:\n      streams:\n        x: { path: /x, id: [a, b], mark: t, since: { param: s, precision: 1s }, paging: link, errors: [{ status: 410, as: resync }] }\n        y: { path: /y, id: a, mark: { field: t }, paging: { by: page, first: 0 }, parts: [a, b] }\nsources: []\n",
		"x-base: &base { schedule: \"@daily\", connector: sample }\n" + head + "providers:\n  a: { <<: *base, timezone: UTC }\nsources: []\n",
	} {
		if err := s.Validate(asJSON(t, right)); err != nil {
			t.Errorf("%v in\n%s", err, right)
		}
	}
}

// What the pages tell to write is right by the schema.
func TestSchemaTakesTheDocumentation(t *testing.T) {
	text, err := Schema(allConnectors(t))
	s := compiled(t, text, err)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readText(t, page), -1) {
			doc, ok := asJSON(t, m[1]).(map[string]any)
			if !ok || doc["providers"] == nil && doc["sources"] == nil {
				continue // a provider file, or some of its lines
			}
			found++
			for key, value := range map[string]any{"store": "sqlite:x.db", "providers": map[string]any{}, "sources": []any{}} {
				if doc[key] == nil {
					doc[key] = value
				}
			}
			if err := s.Validate(doc); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("got %d configurations in the pages: they are not found", found)
	}
}

func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	text, err := Schema(allConnectors(t))
	s := compiled(t, text, err)
	const head, none = "store: sqlite:x.db\n", "providers: {}\nsources: []\n"
	for name, wrong := range map[string]string{
		"nothing":                     "",
		"a list":                      "[]\n",
		"no store":                    none,
		"an unknown store":            "store: mysql://host\n" + none,
		"an unknown key":              head + "worker: 8\n" + none,
		"an unknown key below":        head + "limits: { bodies: 1MiB }\n" + none,
		"an empty value":              head + "workers:\n" + none,
		"a duration without a unit":   head + "lease: 30\n" + none,
		"a nought without a unit":     head + "grace: 0\n" + none,
		"a duration with a space":     head + "lease: 1h 30m\n" + none,
		"a negative duration":         head + "lease: -5m\n" + none,
		"a size without a unit":       head + "limits: { body: 64 }\n" + none,
		"a size with a space":         head + "limits: { body: 64 MiB }\n" + none,
		"a share above all":           head + "limits: { rejects: 130 }\n" + none,
		"a percentage above all":      head + "limits: { rejects: 130% }\n" + none,
		"a text for a number":         head + "workers: many\n" + none,
		"a number in quotes":          head + "workers: \"8\"\n" + none,
		"a fraction":                  head + "workers: 8.5\n" + none,
		"a letter for a boolean":      head + "changes: y\n" + none,
		"an escaped variable":         head + "workers: $${WORKERS}\n" + none,
		"a variable with a default":   head + "workers: ${WORKERS:-8}\n" + none,
		"an unknown word":             head + "log: { level: loud }\n" + none,
		"an unknown format":           head + "log: { format: yaml }\n" + none,
		"another unknown word":        head + "catch_up: twice\n" + none,
		"providers in a list":         head + "providers: []\nsources: []\n",
		"sources in a mapping":        head + "providers: {}\nsources: {}\n",
		"a provider with capitals":    head + "providers: { Git: { connector: github } }\nsources: []\n",
		"a provider's name too long":  head + "providers: { " + strings.Repeat("a", 65) + ": { connector: github } }\nsources: []\n",
		"a provider of one word":      head + "providers: { a: github }\nsources: []\n",
		"an unknown connector":        head + "providers: { a: { connector: gitlub } }\nsources: []\n",
		"no connector":                head + "providers: { a: { schedule: \"@daily\" } }\nsources: []\n",
		"an unknown on_missing":       head + "providers: { a: { connector: csv, on_missing: drop } }\nsources: []\n",
		"half a rate":                 head + "providers: { a: { connector: csv, rate: { requests: 5 } } }\nsources: []\n",
		"a host alone":                head + "providers: { a: { connector: csv, allow_hosts: files.example.com } }\nsources: []\n",
		"the option of another":       head + "providers: { a: { connector: github, options: { path: x.csv } } }\nsources: []\n",
		"an option of no provider":    head + "providers: { a: { connector: hacker_news, options: { repo: a/b } } }\nsources: []\n",
		"an option of no file":        head + "providers: { a: { connector: ./a.yaml, options: { repo: a/b } } }\nsources: []\n",
		"a text for a list":           head + "providers: { a: { connector: csv, options: { key: a } } }\nsources: []\n",
		"an unknown key deep in rest": head + "providers: { a: { connector: rest, options: { streams: { x: { pth: /x } } } } }\nsources: []\n",
		"a text for a number in rest": head + "providers: { a: { connector: rest, options: { streams: { x: { paging: { size: many } } } } } }\nsources: []\n",
		"a mapping for an id in rest": head + "providers: { a: { connector: rest, options: { streams: { x: { id: { field: a } } } } } }\nsources: []\n",
		"a source without a user":     head + "providers: {}\nsources: [{ provider: a }]\n",
		"a source without a name":     head + "providers: {}\nsources: [{ user: \"\", provider: a }]\n",
		"a source without a provider": head + "providers: {}\nsources: [{ user: a }]\n",
		"an account with capitals":    head + "providers: {}\nsources: [{ user: a, provider: a@Work }]\n",
		"a source with a connector":   head + "providers: {}\nsources: [{ user: a, provider: a, connector: csv }]\n",
		"an unknown credential":       head + "providers: {}\nsources: [{ user: a, provider: a, credentials: { key: x } }]\n",
		"credentials in a list":       head + "providers: {}\nsources: [{ user: a, provider: a, credentials: [x] }]\n",
		"options in a list":           head + "providers: {}\nsources: [{ user: a, provider: a, options: [x] }]\n",
	} {
		if s.Validate(asJSON(t, wrong)) == nil {
			t.Errorf("%s is taken:\n%s", name, wrong)
		}
	}
}

// The patterns are those of the parsers.
func TestSchemaPatterns(t *testing.T) {
	for _, kind := range []struct {
		name, pattern string
		parse         func(string) error
		texts         []string
	}{
		{"duration", unitsPattern(durationUnits), func(s string) error { _, err := notNegative(parseDuration)(s); return err }, []string{
			"0s", "30s", "1h30m", "1.5h", "1d12h", "250ms", "10us", "10µs", "5ns", "2w", "-5m", "", "30", "0", "s", "1 s", "1S", "5min", "1y", ".5s", "1.s", "1..5s", "1e3s", "+5s"}},
		{"size", unitsPattern(sizeUnits), func(s string) error { _, err := notNegative(parseSize)(s); return err }, []string{
			"64MiB", "1KiB", "0B", "1.5KiB", "1kB", "1KB", "2GB", "1TB", "1TiB", "1GiB512MiB", "", "64", "64M", "64 MiB", "64mib", "MiB", "-1B"}},
		{"share", sharePattern, func(s string) error { _, err := parseShare(s); return err }, []string{
			"0%", "30%", "30.0%", "030%", "100%", "0.3", "0.29", "0.290", "1", "0", "1.0", "", "%", "30", "1.5", "101%", "-1%", "30.5%", "0.305", "30 %", "a"}},
		{"time", timePattern, func(s string) error { _, err := parseTime(s); return err }, []string{
			"2026-01-31", "2026-01-31T15:04:05Z", "2026-01-31T15:04:05.123+01:00", "2026-01-31T15:04:05", "2026-01-31 15:04:05Z", "yesterday", "31.01.2026", ""}},
		{"name", "^" + namePattern + "$", func(s string) error {
			if !isName(s, "_-") {
				return fmt.Errorf("no name")
			}
			return nil
		}, []string{"a", "stripe-eu", "a_1", strings.Repeat("a", 64), "", "A", "a.b", "é", strings.Repeat("a", 65)}},
		{"boolean", "^true$|^false$|" + booleanPattern, func(s string) error { _, err := parseBool(s); return err }, []string{
			"true", "false", "on", "Off", "YES", "no", "y", "n", "oN", "1", ""}},
		{"path", pathPattern, func(s string) error {
			if !isFile(s) {
				return fmt.Errorf("no file")
			}
			return nil
		}, []string{"./a.yaml", "a.yml", "a/b", `a\b`, "rest", "a.yaml.bak", "yaml"}},
		{"store", storePattern, func(s string) error {
			l := newLoader(&document{}, nil, nil)
			l.store(&at[string]{Value: s, standing: standing{spot: spot{node: &yaml.Node{Kind: yaml.ScalarNode, Value: s}}}})
			if len(l.errs) > 0 {
				return l.errs[0]
			}
			return nil
		}, []string{"sqlite:x.db", "sqlite:/var/x.db", "postgres://u:p@h/d", "postgresql://h", "mysql://h", "syncd.db", "", "sqlite:", "sqlite://x.db", "postgres:d"}},
	} {
		pattern := regexp.MustCompile(kind.pattern)
		for _, text := range kind.texts {
			if err := kind.parse(text); pattern.MatchString(text) != (err == nil) {
				t.Errorf("%s %q: the pattern has it %v, and the parser says %v", kind.name, text, pattern.MatchString(text), err)
			}
		}
	}
	variable := regexp.MustCompile(variablePattern)
	for _, text := range []string{"${A}", "x${A}y", "$${A}${B}", "$${${A}", "$${A}", "$$${A}", "$A", "${A", "plain"} {
		if got, want := variable.MatchString(text), hasVariable(&yaml.Node{Kind: yaml.ScalarNode, Value: text}) && strings.Contains(text, "}"); got != want {
			t.Errorf("variable %q: the pattern has it %v, and the loader %v", text, got, want)
		}
	}
}

// The words are those that the loader takes: it names them in its errors.
func TestSchemaWords(t *testing.T) {
	for key, line := range map[string]string{
		"catch_up": "catch_up: %s\n", "level": "log: { level: %s }\n", "format": "log: { format: %s }\n",
		"on_missing": "on_missing: %s", "on_disconnect": "on_disconnect: %s",
		"grant":       "oauth: { client_id: a, grant: %s }",
		"client_auth": "oauth: { client_id: a, client_auth: %s }",
	} {
		file := func(word string) string {
			switch line := fmt.Sprintf(line, word); {
			case strings.HasSuffix(line, "\n"):
				return line + good
			case strings.HasPrefix(line, "oauth"):
				return goodStore + "providers:\n  cal: { connector: calendar, schedule: '@hourly', " + line + " }\nsources: []\n"
			default:
				return goodStore + "providers:\n  github: { connector: github, schedule: '@hourly', " + line + " }\n" + goodSources
			}
		}
		_, known, _ := strings.Cut(strings.Join(parseErrors(t, file("xyzzyx"), nil), "\n"), ": known: ")
		if got := strings.Split(known, ", "); !slices.Equal(got, words[key]) {
			t.Errorf("%s: the schema has %q, and the loader knows %q", key, words[key], got)
		}
		for _, word := range words[key] {
			if errs := parseErrors(t, file(word), nil); errs != nil {
				t.Errorf("%s: %s: %v", key, word, errs)
			}
		}
	}
	if len(words) != 7 {
		t.Errorf("got %d keys with words, want 7: test what is new", len(words))
	}
}

// FuzzSchema reads anything. What Parse takes, the schema takes.
func FuzzSchema(f *testing.F) {
	text, err := Schema(fakes())
	s := compiled(f, text, err)
	plain := readText(f, example)
	all, _ := uncommented(plain)
	for _, seed := range []string{
		plain, all, good, strings.ReplaceAll(good, "\n", "\r\n"), string(manySources(6)),
		"store: postgres://h/d\nworkers: ${ONE}\nlimits: { body: 1.5KiB, rejects: 1 }\n" + goodProviders + goodSources,
		goodStore + "providers: { 2024: { connector: csv, schedule: '@daily', options: { path: 1.0, key: [1, no, 2026-01-31] }, rate: { requests: 1, per: 1s } } }\nsources: [{ user: .inf, provider: 2024 }]\n",
		goodStore + goodProviders + "sources:\n- { user: 2026-01-31, provider: github@1, options: { repo: 1e3, since: 2026-01-31, lookback: 1d, enabled: off, labels: { 1: yes }, filter: { author: 0x1F }, columns: [{ name: ~x }] }, credentials: { token: 1 } }\n",
	} {
		if _, err := Parse("f", []byte(seed), fakes(), environment(map[string]string{"ONE": "1", "GITHUB_TOKEN": "t", "SYNCD_API_TOKEN": "an-application-of-ours"})); err != nil {
			f.Fatalf("a seed is wrong: %v in\n%s", err, seed)
		}
		f.Add(seed)
	}
	for name, c := range translated {
		if c.want == nil {
			f.Log(name)
			f.Add(c.text)
		}
	}
	connectors := fakes()
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Parse("f", []byte(text), connectors, environment(map[string]string{"ONE": "1", "GITHUB_TOKEN": "t", "SYNCD_API_TOKEN": "an-application-of-ours"})); err != nil {
			return
		}
		var v any
		if yaml.Unmarshal([]byte(text), &v) != nil {
			return // what a node holds and no value does: a key [a] below x-
		}
		if err := s.Validate(plainJSON(v)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	})
}
