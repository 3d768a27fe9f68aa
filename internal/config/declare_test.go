package config

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// declaring returns a configuration with providers of each kind.
func declaring(t *testing.T) *Config {
	t.Helper()
	const text = `store: sqlite:x.db
providers:
  desk: { connector: sample, schedule: "@hourly", options: { size: 20 } }
  bare: { connector: sample }
  code: { connector: github, schedule: "@daily" }
  feed: { connector: csv, schedule: "@daily", options: { path: a.csv, key: [id] } }
  notes:
    connector: rest
    schedule: "@daily"
    base_url: https://notes.example
    options: { streams: { notes: { path: /notes, records: body.notes, id: record.id } } }
  small: { connector: sample, schedule: "@daily", options: { size: 7 } }
sources: []
`
	cfg, err := Parse("config.yaml", []byte(text), allConnectors(t), func(string) (string, bool) { return "canary", true })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestDeclare(t *testing.T) {
	cfg := declaring(t)
	src, err := cfg.Declare("alice", "code@work", `{"options":{"repo":"a/b"},"schedule":"@every 5m"}`)
	if err != nil {
		t.Fatal(err)
	}
	if src.User != "alice" || src.Provider != "code@work" || src.Of != cfg.Providers["code"] || src.Declared == "" || src.Credentials != nil {
		t.Errorf("got %+v", src)
	}
	if got := src.Schedule.String(); !strings.HasPrefix(got, "@every 5m") {
		t.Errorf("schedule %s", got)
	}
	inFile, err := Parse("config.yaml", []byte(`store: sqlite:x.db
providers: { code: { connector: github, schedule: "@daily" } }
sources: [{ user: alice, provider: code, options: { repo: a/b }, credentials: { token: x } }]
`), allConnectors(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inFile.Sources[0].Settings, src.Settings); diff != "" {
		t.Errorf("a declared source has other settings than one in the file: %s", diff)
	}
	if src, err = cfg.Declare("bob", "desk", "{}"); err != nil || src.Schedule.String() != "@hourly UTC" && !strings.HasPrefix(src.Schedule.String(), "@hourly") {
		t.Errorf("without anything of its own: %v, %v", src, err)
	}
}

// What is declared is checked as the file is.
func TestDeclareRefuses(t *testing.T) {
	cfg := declaring(t)
	for name, c := range map[string]struct{ user, provider, text, want string }{
		"no JSON":               {"alice", "desk", `{`, "no JSON object"},
		"null":                  {"alice", "desk", `null`, "no JSON object"},
		"a list":                {"alice", "desk", `[]`, "no JSON object"},
		"two":                   {"alice", "desk", `{} {}`, "something follows"},
		"a user in it":          {"alice", "desk", `{"user":"bob"}`, "user is not part of it"},
		"credentials in it":     {"alice", "desk", `{"credentials":{"token":"x"}}`, "credentials is not part of it"},
		"an unknown key":        {"alice", "desk", `{"shedule":"@daily"}`, `did you mean schedule`},
		"an unknown option":     {"alice", "desk", `{"options":{"sise":1}}`, `did you mean size`},
		"a wrong schedule":      {"alice", "desk", `{"schedule":"0 0 30 2 *"}`, "never"},
		"an unknown provider":   {"alice", "dek", `{}`, "did you mean desk"},
		"no user":               {"", "desk", `{}`, "it is empty"},
		"a control character":   {"a\nb", "desk", `{}`, "control character"},
		"no UTF-8":              {"a\xff", "desk", `{}`, "not UTF-8"},
		"what JSON makes of it": {"a\uFFFD", "desk", `{}`, "not UTF-8"},
		"a NUL":                 {"a\x00b", "desk", `{}`, "control character"},
		"no schedule":           {"alice", "bare", `{}`, "neither the provider bare nor the source has a schedule"},
		"an account's name":     {"alice", "desk@", `{}`, "the account"},
		"a file of the machine": {"alice", "feed", `{"options":{"path":"/etc/passwd","key":["a"]}}`, "reads files of this machine"},
		"what the file has":     {"alice", "small", `{}`, "config.yaml:12:68: size: 7 is not between"},
		"another base":          {"alice", "notes", `{"options":{"base_url":"https://evil.example"}}`, "is the provider's to say"},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := cfg.Declare(c.user, c.provider, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v, want %s", src, err, c.want)
			}
			if _, ok := err.(Errors); err != nil && !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

// Who declares a source does not read the environment.
func TestDeclareExpandsNothing(t *testing.T) {
	cfg := declaring(t)
	for _, text := range []string{"${HOME}", "$${HOME}", "$$${HOME}", "a${"} {
		src, err := cfg.Declare("alice", "notes", fmt.Sprintf(`{"options":{"streams":{"notes":{"path":"/notes","records":"body.notes","id":"record.id","query":{"q":%q}}}}}`, text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		shown := fmt.Sprintf("%+v", src.Options)
		if strings.Contains(shown, "canary") || !strings.Contains(shown, text) {
			t.Errorf("%s became %s", text, shown)
		}
	}
}

func TestDeclareAtOnce(t *testing.T) {
	cfg := declaring(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			user, provider := fmt.Sprintf("u%d", i), []string{"bare", "desk", "notes", "code"}[i%4]
			_, err := cfg.Declare(user, provider, `{"schedule":"@daily","options":{}}`)
			if err != nil && provider != "code" { // which has a repo to name
				t.Error(err)
			}
			_, _ = cfg.Declare(user, "bare", `{}`)
		})
	}
	all.Wait()
}

// FuzzDeclare declares anything: it is a source of that user and provider, or an
// error that says what is wrong, and sees nothing of the environment.
func FuzzDeclare(f *testing.F) {
	connectors := fakes()
	cfg, err := Parse("config.yaml", manySources(6), connectors, func(string) (string, bool) { return "canary", true })
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{`{}`, `null`, `[]`, `{"options":{"repo":"a/b"}}`, `{"options":{"repo":"${HOME}"}}`, `{"schedule":"@every 5m","timezone":"Asia/Tokyo"}`, `{"options":{"repo":"a\u2028b","since":"2026-01-31"}}`, `{"options":{"labels":{"a":"b"},"columns":[{"name":"x"}]}}`, `{"options":{"page_size":1e2}}`} {
		f.Add("alice", "github", text)
	}
	f.Fuzz(func(t *testing.T, user, provider, text string) {
		src, err := cfg.Declare(user, provider, text)
		if err != nil {
			if list, ok := err.(Errors); !ok || len(list) == 0 {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		if src.User != user || src.Provider != provider || src.Declared != text || src.Timing == nil || src.Options == nil {
			t.Fatalf("got %+v", src)
		}
		if strings.Contains(fmt.Sprintf("%+v", src.Options), "canary") && !strings.Contains(text, "canary") {
			t.Fatalf("it sees the environment: %+v", src.Options)
		}
	})
}
