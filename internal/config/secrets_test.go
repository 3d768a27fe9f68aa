package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredentials(t *testing.T) {
	cfg := parse(t, "store: '${STORE}'\n"+`providers:
  github: { connector: github, schedule: "${WHEN}", options: { repo: "${OWNER}/cron" } }
  sample: { connector: sample, schedule: "@daily" }
workers: ${WORKERS}
changes: "${CHANGES}"
lease: ${LEASE}
sources:
- { user: "u-${OWNER}", provider: github, credentials: { token: "${TOKEN}" } }
- { user: b, provider: github@two, credentials: { token: "$${TOKEN}" } }
- { user: c, provider: github, credentials: { token: "${TOKEN}" } }
- { user: d, provider: sample, credentials: { username: "007", password: no } }
- { user: e, provider: sample }
`, map[string]string{
		"STORE": "postgres://u:p@db/syncd?sslmode=require", "WHEN": "30 2 * * *", "OWNER": "robfig", "TOKEN": "hunter2",
		"WORKERS": "3", "CHANGES": "yes", "LEASE": "90s",
	})
	if cfg.Store != "postgres://u:p@db/syncd?sslmode=require" || cfg.StoreName() != "postgres://db/syncd" {
		t.Errorf("store: got %q shown as %q", cfg.Store, cfg.StoreName())
	}
	if cfg.Workers != 3 || !cfg.Changes || cfg.Lease.String() != "1m30s" {
		t.Errorf("from variables: got workers %d, changes %t, lease %s", cfg.Workers, cfg.Changes, cfg.Lease)
	}
	s := cfg.Sources
	if got := s[0].User + " " + s[0].Options.(*githubOptions).Repo + " " + s[0].Schedule.String(); got != "u-robfig robfig/cron 30 2 * * * (UTC)" {
		t.Errorf("user, repo, schedule: got %q", got)
	}
	revealed := func(i int) map[string]string {
		var out map[string]string
		for k, v := range s[i].Credentials {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v.Reveal()
		}
		return out
	}
	for i, want := range []map[string]string{
		{"token": "hunter2"}, {"token": "${TOKEN}"}, {"token": "hunter2"}, {"username": "007", "password": "no"}, nil,
	} {
		if diff := cmp.Diff(want, revealed(i)); diff != "" {
			t.Errorf("credentials of source %d (-want +got)\n%s", i, diff)
		}
	}
	if s[1].Provider != "github@two" || s[1].Account() != "two" || s[1].Of.Name != "github" || s[0].Account() != "" {
		t.Errorf("account: got %q of %q", s[1].Account(), s[1].Provider)
	}
	if text := fmt.Sprintf("%+v", *s[0]); strings.Contains(text, "hunter2") {
		t.Errorf("a printed source shows its token: %s", text)
	}
}

// Whatever is wrong, a value from a variable and a credential are not shown.
func TestErrorsShowNoSecret(t *testing.T) {
	const canary = "hunter2-canary"
	env := map[string]string{"S": canary, "EMPTY": "", "DSN": "mysql://u:" + canary + "@h/d", "LINE": canary + "\n", "BAD": canary + "\xff"}
	field := func(text string) string {
		return goodStore + "providers:\n  github: { connector: github, schedule: '@daily', options: { repo: a/b }, " + text + " }\nsources: []\n"
	}
	top := func(text string) string { return goodStore + text + "\n" + goodProviders + goodSources }
	source := func(text string) string {
		return goodStore + goodProviders + "sources:\n- { user: a, provider: github, options: { repo: a/b }, credentials: { token: t }, " + text + " }\n"
	}
	options := func(text string) string {
		return goodStore + goodProviders + "sources:\n- { user: a, provider: github, credentials: { token: t }, options: { " + text + " } }\n"
	}
	for name, text := range map[string]string{
		"store":                 "store: ${DSN}\n" + goodProviders + goodSources,
		"literal store":         "store: mysql://u:" + canary + "@h/d\n" + goodProviders + goodSources,
		"unreadable store":      "store: postgres://u:" + canary + "%@h/d\n" + goodProviders + goodSources,
		"store of a list":       "store: [" + canary + "]\n" + goodProviders + goodSources,
		"listen":                top("listen: ${S}"),
		"workers":               top("workers: ${S}"),
		"changes":               top("changes: ${S}"),
		"lease":                 top("lease: ${S}"),
		"body":                  top("limits: { body: '${S}' }"),
		"rejects":               top("limits: { rejects: '${S}' }"),
		"catch_up":              top("catch_up: ${S}"),
		"level":                 top("log: { level: '${S}' }"),
		"connector":             goodStore + "providers: { a: { connector: '${S}' } }\nsources: []\n",
		"base_url":              field("base_url: '${S}'"),
		"base_url with a user":  field("base_url: 'ftp://u:" + canary + "@h'"),
		"on_missing":            field("on_missing: '${S}'"),
		"requests":              field("rate: { requests: '${S}', per: '${S}' }"),
		"allow_hosts":           field("allow_hosts: ['${S}/']"),
		"provider":              goodStore + goodProviders + "sources: [{ user: a, provider: '${S}' }]\n",
		"account":               goodStore + goodProviders + "sources: [{ user: a, provider: 'github@${S}!' }]\n",
		"user":                  goodStore + goodProviders + "sources: [{ user: '${LINE}', provider: github, options: { repo: a/b }, credentials: { token: t } }]\n",
		"user that is not text": goodStore + goodProviders + "sources: [{ user: '${BAD}', provider: github, options: { repo: a/b }, credentials: { token: t } }]\n",
		"schedule":              source("schedule: '${S}'"),
		"full":                  source("full: '${S}'"),
		"timezone":              source("timezone: '${S}'"),
		"number option":         options("repo: a/b, page_size: '${S}'"),
		"time option":           options("repo: a/b, since: '${S}'"),
		"refused option":        options("repo: a/b, filter: { branch: none }, state: '${S}'"),
		"in a general error":    options("repo: a/b, state: '${S}'"),
		"in another's error":    options("repo: '${S}', state: closed"),
		"of the provider":       goodStore + "providers:\n  github: { connector: github, schedule: '@daily', options: { repo: '${S}' } }\nsources:\n- { user: a, provider: github, credentials: { token: t }, options: { state: closed } }\n",
		"panic":                 goodStore + "providers:\n  b: { connector: broken, schedule: '@daily', options: { how: name } }\nsources:\n- { user: '${S}', provider: b, credentials: { token: " + canary + " } }\n",
		"credential":            goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: '${LINE}' } }]\n",
		"credential of a list":  goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: [" + canary + "] } }]\n",
		"only a credential":     goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: " + canary + " }]\n",
		"tagged credential":     goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: !!int " + canary + " } }]\n",
		"credential in a key":   goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: t, token: " + canary + " } }]\n",
		"not closed":            goodStore + goodProviders + "sources: [{ user: a, provider: github, credentials: { token: '${" + canary + "' } }]\n",
		"with a default":        goodStore + goodProviders + "sources: [{ user: a, provider: github, credentials: { token: '${X:-" + canary + "}' } }]\n",
		"syntax":                goodStore + "token: \"" + canary + "\n",
		"syntax of an alias":    goodStore + "token: *" + canary + "\n",
		"syntax of a directive": goodStore + "token: %" + canary + "\n",
		"syntax of at":          goodStore + "token: @" + canary + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("syncd.yaml", []byte(text), fakes(), environment(env))
			if err == nil {
				t.Fatalf("Parse: got no error of\n%s", text)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the errors show a secret:\n%v", err)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	env := map[string]string{"EMPTY": "", "S": "x"}
	for _, test := range []struct{ name, text, want string }{
		{"missing", goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: '${UNSET}' } }]\n",
			"4:86: token: the environment variable UNSET is not set: set it, or write $${ for the two characters themselves"},
		{"empty credential", goodStore + goodProviders + "sources: [{ user: a, provider: github, options: { repo: a/b }, credentials: { token: '${EMPTY}' } }]\n",
			"4:86: token: the environment variable behind ${EMPTY} is empty"},
		{"empty store", "store: ${EMPTY}\n" + goodProviders + goodSources,
			"1:8: store: it is empty: write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE"},
		{"of the wrong kind", goodStore + "workers: ${S}\n" + goodProviders + goodSources,
			"2:10: workers: what ${S} stands for is not a whole number"},
		{"schedule", goodStore + goodProviders + "sources: [{ user: a, provider: github, schedule: '${S}', options: { repo: a/b }, credentials: { token: t } }]\n",
			"4:50: schedule: what ${S} stands for is not a schedule such as */15 * * * * or @every 10m"},
	} {
		if diff := cmp.Diff([]string{test.want}, parseErrors(t, test.text, env)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
}
