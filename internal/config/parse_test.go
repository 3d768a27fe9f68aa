package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The parts of a file that is right. Tests replace one of them.
const (
	goodStore     = "store: sqlite:syncd.db\n"
	goodProviders = `providers:
  github: { connector: github, schedule: "@hourly" }
`
	goodSources = `sources:
- { user: alice, provider: github, options: { repo: a/b }, credentials: { token: t } }
`
	good = goodStore + goodProviders + goodSources
)

// lines returns the errors of a file without its name.
func parseErrors(t *testing.T, text string, env map[string]string) []string {
	t.Helper()
	cfg, err := Parse("syncd.yaml", []byte(text), fakes(), environment(env))
	if err == nil {
		return nil
	}
	if cfg != nil {
		t.Errorf("Parse returned a configuration with its errors")
	}
	var list Errors
	if !errors.As(err, &list) {
		t.Fatalf("Parse: got error %T %v, want Errors", err, err)
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimPrefix(e.Error(), "syncd.yaml:"))
	}
	if got, want := err.Error(), "syncd.yaml:"+strings.Join(out, "\nsyncd.yaml:"); got != want {
		t.Errorf("Errors.Error: got\n%s\nwant\n%s", got, want)
	}
	return out
}

// wrong checks the errors of each text. An empty list is a text without errors.
func wrong(t *testing.T, tests []faulty) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := parseErrors(t, test.text, nil)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors of\n%s\n(-want +got)\n%s", test.text, diff)
			}
		})
	}
}

type faulty struct {
	name, text string
	want       []string
}

func TestDocument(t *testing.T) {
	const empty = "the file is empty: it needs at least store:, providers: and sources:"
	wrong(t, []faulty{
		{"good", good, nil},
		{"byte order mark", "\ufeff" + good, nil},
		{"windows line ends", strings.ReplaceAll(good, "\n", "\r\n"), nil},
		{"explicit document", "---\n" + good + "...\n", nil},
		{"empty", "", []string{"1:1: " + empty}},
		{"comments only", "# nothing\n\n", []string{"1:1: " + empty}},
		{"null document", "---\n", []string{"1:1: " + empty}},
		{"second document", good + "---\nsources: []\n", []string{
			"6:1: the file has a second document: take out the line --- and what does not belong"}},
		{"text", "store\n", []string{"1:1: the file must be a mapping of keys to values, not a single value"}},
		{"list", "- store\n", []string{"1:1: the file must be a mapping of keys to values, not a list"}},
		{"null sections", "store:\nproviders:\nsources:\n", []string{
			"1:1: store is empty: write a value, or take it out",
			"2:1: providers is empty: write a value, or take it out",
			"3:1: sources is empty: write a value, or take it out"}},
		{"spelled null", goodStore + "providers: ~\nsources: null\n", []string{
			`2:12: providers is empty: write a value, or "~" in quotes if that text is meant`,
			`3:10: sources is empty: write a value, or "null" in quotes if that text is meant`}},
		{"no sections", "workers: 3\n", []string{
			"1:1: the file has no providers: name the services to read from, or write providers: {} for none",
			"1:1: the file has no sources: list whose data to keep, or write sources: [] for none",
			"1:1: the file has no store: write store: sqlite:syncd.db, or postgres://USER:PASSWORD@HOST/DATABASE"}},
		{"wrong case", goodStore + goodProviders + "Sources: []\n", []string{
			"1:1: the file has no sources: list whose data to keep, or write sources: [] for none",
			`4:1: the file has no key "Sources": did you mean sources?`}},
		{"sections of the wrong kind", goodStore + "providers: []\nsources: {}\n", []string{
			"2:12: providers must be a mapping of keys to values, not a list",
			"3:10: sources must be a list, not a mapping: begin each source with a dash: - user: ..."}},
		{"duplicate key", goodStore + "workers: 1\nworkers: 2\n" + goodProviders + goodSources, []string{
			`3:1: the key "workers" is given twice: it is also in line 2`}},
		{"keys that are no text", goodStore + "[a]: 1\n~: 2\n" + goodProviders + goodSources, []string{
			"2:1: a key must be a text, not a list",
			"3:1: a key must be a text, not nothing"}},
		{"extras", "x-anchors: [1, 2]\n" + good, nil},
		{"utf-16", "\xff\xfes\x00", []string{"1:1: the file is in UTF-16: save it as UTF-8"}},
		{"latin-1", goodStore + "# caf\xe9\n", []string{"2:6: the byte 0xE9 is not UTF-8: save the file as UTF-8"}},
		{"control character", goodStore + "a: \"\a\"\n", []string{
			"2:5: the control character U+0007 can't be in a configuration: take it out"}},
		{"columns in characters", "# é\n" + `{ store: "sqlite:é", wörkers: 1, providers: {}, sources: [] }`, []string{
			`2:22: the file has no key "wörkers": did you mean workers?`}},
	})
}

func TestTooLarge(t *testing.T) {
	text := strings.Repeat("#", maxSize+1)
	want := []string{"1:1: the file has 67108865 bytes, and 67108864 are allowed"}
	if diff := cmp.Diff(want, parseErrors(t, text, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestTop(t *testing.T) {
	top := func(lines string) string { return lines + goodProviders + goodSources }
	wrong(t, []faulty{
		{"keys of no file", top(goodStore + "keys: \"\"\n"), []string{"2:7: keys: it is empty: write the path of a file, or take it out"}},
		{"all wrong at once", top(`store: mysql://u:hunter2@h/d
listen: "8400"
workers: 0
lease: 30
grace: -5m
spread: 2d
catch_up: twice
changes: y
budget: { time: 1y, pages: -1, page: 3 }
limits: { body: 1000, inline_wait: 11m, park: 30s, rejects: 30 }
log: { level: INFO, format: yaml }
`), []string{
			"1:8: store: it is neither sqlite:PATH nor postgres://...: write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE",
			`2:9: listen: "8400" is not HOST:PORT: write it such as 127.0.0.1:8400`,
			"3:10: workers: 0 is out of range: it must be between 1 and 1000",
			"4:8: lease: 30 of what? write 30s",
			"5:8: grace: -5m is negative: write 5m",
			"6:9: spread: 2d is out of range: it must be between 0s and 1d",
			`7:11: catch_up: "twice" is not known: known: once, none`,
			`8:10: changes: "y" is not true or false: write true or false`,
			`9:17: time: "1y" has the unit "y", which is not known: write it with w, d, h, m, s or ms and without spaces, such as 90s, 1h30m or 2d`,
			"9:28: pages: -1 is out of range: it must be between 0 and 1073741824",
			`9:32: budget has no key "page": did you mean pages?`,
			"10:17: body: 1000 of what? write 1000MiB",
			"10:36: inline_wait: 11m is out of range: it must be between 0s and 10m",
			"10:47: park: 30s is out of range: it must be between 1m and 31d",
			"10:61: rejects: 30 of what? write 30%",
			`11:15: level: "INFO" is not known: did you mean info?`,
			`11:29: format: "yaml" is not known: known: auto, text, json`,
		}},
		{"sqlite without a path", top("store: 'sqlite:'\n"), []string{"1:8: store: sqlite: lacks a path: write it such as sqlite:syncd.db"}},
		{"memory", top("store: 'sqlite::memory:'\n"), []string{"1:8: store: a database in memory forgets everything when the daemon stops: write sqlite:PATH"}},
		{"sqlite as a URL", top("store: sqlite://x.db\n"), []string{"1:8: store: sqlite:// is not read: write sqlite:PATH, without the slashes"}},
		{"parameters", top("store: sqlite:x.db?mode=ro\n"), []string{"1:8: store: the path holds a question mark or a zero byte: write the path alone: there are no parameters"}},
		{"bare path", top("store: syncd.db\n"), []string{"1:8: store: it is neither sqlite:PATH nor postgres://...: write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE"}},
		{"empty store", top("store: ''\n"), []string{"1:8: store: it is empty: write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE"}},
		{"slashes", top("store: postgres:db\n"), []string{"1:8: store: postgres: is not followed by //: write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE"}},
		{"password with a percent sign", top("store: postgres://u:hunter%2@h/d\n"), []string{
			"1:8: store: it is not a URL: write a password's special characters as %HH, such as %40 for @"}},
		{"postgresql", top("store: postgresql://u:p@h/d?sslmode=disable\n"), nil},
		{"quoted number", top("store: sqlite:x\nworkers: \"8\"\n"), []string{
			"2:10: workers must be a whole number, not a text in quotes: take out the quotes"}},
		{"floats and octal", top("store: sqlite:x\nworkers: 010\nbudget: { pages: 1.0 }\n"), []string{
			`2:10: workers: "010" begins with a zero, which some read as octal: take out the leading zeros`,
			`3:18: pages: "1.0" is not a whole number: write it in plain digits, such as 1000`}},
		{"tags", top("store: !!binary c3FsaXRlOng=\nworkers: !!int 3\n"), []string{
			"1:8: store: YAML tags such as !!binary are not read: take it out",
			"2:10: workers: YAML tags such as !!int are not read: take it out"}},
		{"lists and mappings for values", top("store: [a]\nworkers: {a: b}\n"), []string{
			"1:8: store must be a text, not a list",
			"2:10: workers must be a whole number, not a mapping"}},
	})
}

func TestProviders(t *testing.T) {
	providers := func(text string) string { return goodStore + "providers:\n" + text + "sources: []\n" }
	wrong(t, []faulty{
		{"all wrong at once", providers(`  Git: { connector: githb }
  a:
  b: x
  c: { schedule: "@daily" }
  d:
    connector: github
    schedul: "@daily"
    on_missing: drop
    max_missing: 0.305
    base_url: https://u:hunter2@h/
    rate: { requests: 0, per: 0s, burst: 0 }
    user_rate: { requests: 5 }
    allow_hosts: [ok.example.com, "x:80", https://h, ""]
`), []string{
			`3:3: the provider's name "Git" is not of 1 to 64 lower case letters, digits, - and _`,
			`3:21: connector: "githb" is not known: did you mean github?`,
			"4:3: the provider a is empty: write a value, or take it out",
			"5:6: the provider b must be a mapping of keys to values, not a single value",
			"6:3: the provider c has no connector: known: github, csv, sample, calendar, broken",
			`9:5: the provider d has no key "schedul": did you mean schedule?`,
			`10:17: on_missing: "drop" is not known: known: keep, mark`,
			`11:18: max_missing: "0.305" is not in whole percents: write whole percents, such as 30%, or a part of 1, such as 0.3`,
			"12:15: base_url: it has a user or password in it: take them out; they belong under credentials:",
			"13:23: requests: it must be more than 0: take the key out for no limit of your own",
			"13:31: per: it must be more than 0: take the key out for no limit of your own",
			"13:42: burst: it must be more than 0: take the key out for no limit of your own",
			"14:16: user_rate has no per: write it such as { requests: 100, per: 1m }",
			`15:43: allow_hosts: "https://h" is not HOST or HOST:PORT: write it such as files.example.com`,
			`15:54: allow_hosts: "" is not HOST or HOST:PORT: write it such as files.example.com`,
		}},
		{"base URL", providers("  a: { connector: github, base_url: api.example.com }\n  b: { connector: csv, base_url: 'http://h/?token=hunter2' }\n"), []string{
			"3:37: base_url: it is not http://HOST or https://HOST: write it such as https://api.example.com",
			"4:34: base_url: it has a query or a fragment, which requests would not have: take it out"}},
		{"synonyms", providers("  a: { type: github, cron: '@daily', tz: UTC, cronn: '@daily' }\n"), []string{
			"3:3: the provider a has no connector: known: github, csv, sample, calendar, broken",
			`3:8: the provider a has no key "type": did you mean connector?`,
			`3:22: the provider a has no key "cron": did you mean schedule?`,
			`3:38: the provider a has no key "tz": did you mean timezone?`,
			`3:47: the provider a has no key "cronn": did you mean schedule?`}},
		{"options are checked without a source", providers("  a: { connector: csv, options: { pth: x, key: vendor, delimiter: {} } }\n"), []string{
			`3:35: options has no key "pth": did you mean path?`,
			"3:48: key must be a list, not a single value: write it in brackets: key: [...]",
			"3:67: delimiter must be a text, not a mapping"}},
		{"name too long", providers("  " + strings.Repeat("a", 65) + ": { connector: csv }\n"), []string{
			`3:3: the provider's name "` + strings.Repeat("a", 60) + `..." is not of 1 to 64 lower case letters, digits, - and _`}},
	})
}

func TestSources(t *testing.T) {
	sources := func(text string) string { return goodStore + goodProviders + "sources:\n" + text }
	const lacks = `the connector github needs credentials: token: write credentials: { token: "${GITHUB_TOKEN}" }`
	wrong(t, []faulty{
		{"all wrong at once", sources(`- { user: "", provider: githup }
- { user: ~, provider: github@Work, options: { repo: a/b }, credentials: { token: t } }
- x
-
- { credentials: { token: t }, options: { repo: a/b } }
- { user: "a\tb", provider: github, options: { repo: a/b } }
- { user: [a], provider: github, options: { repo: a/b, stat: all }, credentials: { tokn: hunter2, token: "" } }
`), []string{
			"5:11: user: it is empty: name whose data it is",
			`5:25: provider: "githup" is not among the providers: did you mean github?`,
			`6:11: user is empty: write a value, or "~" in quotes if that text is meant`,
			`6:24: provider: the account "Work" is not of 1 to 64 lower case letters, digits, - and _: write it such as github@work`,
			"7:3: a source must be a mapping of keys to values, not a single value",
			"8:2: a source is empty: write a value, or take it out",
			"9:3: the source has no provider: known: github",
			"9:3: the source has no user: name whose data it is",
			"10:3: " + lacks,
			"10:11: user: it holds a control character: take it out",
			"11:11: user must be a text, not a list",
			`11:56: options has no key "stat": did you mean state?`,
			`11:84: credentials has no key "tokn": did you mean token?`,
			"11:106: token: it is empty",
		}},
		{"given twice", sources(`- { user: "7", provider: github, options: { repo: a/b }, credentials: { token: t } }
- { user: alice, provider: github, options: { repo: a/b }, credentials: { token: t } }
- user: 7
  provider: github
  options: { repo: c/d }
  credentials: { token: t }
- { user: 7, provider: github@two, options: { repo: a/b }, credentials: { token: t } }
- { user: 07, provider: github, options: { repo: a/b }, credentials: { token: t } }
`), []string{
			"7:3: the sources of lines 5 and 7 have the same user and provider: take one out, or write provider: github@NAME for a second account"}},
		{"too long", sources("- { user: " + strings.Repeat("ü", 128) + ", provider: github, options: { repo: a/b }, credentials: { token: t } }\n"), []string{
			"5:11: user: it has 256 bytes, and 255 are allowed"}},
		{"credentials of the wrong kind", sources("- { user: a, provider: github, options: { repo: a/b }, credentials: hunter2 }\n- { user: b, provider: github, options: { repo: a/b }, credentials: { token: [hunter2] } }\n- { user: c, provider: github, options: { repo: a/b }, credentials: {} }\n- { user: d, provider: github, options: { repo: a/b }, credentials: { token: \" hunter2\" } }\n"), []string{
			"5:69: credentials must be a mapping of keys to values, not a single value",
			"6:78: token must be a text, not a list",
			"7:69: " + lacks,
			"8:78: token: it begins or ends with white space or a line break"}},
		{"misspelt option of many", sources("- { user: a, provider: github, options: { rep: a/b }, credentials: { token: t } }\n- { user: b, provider: github, options: { rep: a/b }, credentials: { token: t } }\n"), []string{
			`5:43: options has no key "rep": did you mean repo?`,
			`6:43: options has no key "rep": did you mean repo?`}},
	})
}

func TestOptionalCredentials(t *testing.T) {
	text := func(credentials string) string {
		return goodStore + "providers:\n  s: { connector: sample, schedule: '@daily' }\n  c: { connector: csv, schedule: '@daily', options: { path: x } }\nsources:\n" + credentials
	}
	wrong(t, []faulty{
		{"none", text("- { user: a, provider: s }\n- { user: b, provider: s, credentials: {} }\n"), nil},
		{"both", text("- { user: a, provider: s, credentials: { username: u, password: '' } }\n"), nil},
		{"half", text("- { user: a, provider: s, credentials: { username: u } }\n"), []string{
			`6:40: the connector sample needs credentials: password: write credentials: { password: "${S_PASSWORD}" }`}},
		{"of a connector that takes none", text("- { user: a, provider: c, credentials: { token: t } }\n"), []string{
			`6:42: credentials has no key "token": the connector csv takes none`}},
	})
}
