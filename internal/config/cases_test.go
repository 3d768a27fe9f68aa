package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/casebook"
)

// The shared table of faults names the keys of no one program. Here is each of
// its cases in ours, with what the errors must say; none is a file that is right.
var translated = map[string]struct {
	text string
	want []string
}{
	"unknown key": {goodStore + goodProviders + "sources:\n- user: a\n  schedul: \"0 * * * *\"\n  provider: github\n  options: { repo: a/b }\n  credentials: { token: t }\n",
		[]string{":6:3:", `"schedul"`, "did you mean schedule?"}},
	"unquoted star":           {"providers:\n  a:\n    schedule: * * * * *\n", []string{":3:15:", "quote the expression"}},
	"unquoted at":             {"providers:\n  a:\n    schedule: @daily\n", []string{":3:15:", "quote the expression"}},
	"duration quoted no unit": {goodStore + "lease: \"30\"\n" + goodProviders + goodSources, []string{":2:8:", "30 of what? write 30s"}},
	"duration days":           {goodStore + goodProviders + "sources:\n- { user: a, provider: github, options: { repo: a/b, lookback: 1d }, credentials: { token: t } }\n", nil},
	"bool off":                {goodStore + goodProviders + "sources:\n- { user: a, provider: github, options: { repo: a/b, enabled: off }, credentials: { token: t } }\n", nil},
	"user 007":                {goodStore + goodProviders + "sources:\n- { user: 007, provider: github, options: { repo: a/b }, credentials: { token: t } }\n", nil},
	"octal int":               {goodStore + goodProviders + "sources:\n- { user: a, provider: github, options: { repo: a/b, page_size: 010 }, credentials: { token: t } }\n", []string{":5:65:", "zero"}},
	"empty":                   {"", []string{":1:1:", "empty"}},
	"two documents":           {good + "---\nsources: []\n", []string{":6:1:", "second document"}},
	"duplicate id":            {good + "- { user: alice, provider: github, options: { repo: a/b }, credentials: { token: t } }\n", []string{":6:3:", "lines 5 and 6"}},
	"case":                    {goodStore + goodProviders + "Sources: []\n", []string{":4:1:", "did you mean sources?"}},
	"rate zero":               {goodStore + "providers:\n  a:\n    connector: csv\n    rate: {requests: 0, per: 1s}\nsources: []\n", []string{":5:22:", "more than 0"}},
	"per zero":                {goodStore + "providers:\n  a:\n    connector: csv\n    rate: {requests: 5, per: 0s}\nsources: []\n", []string{":5:30:", "more than 0"}},
}

func TestSharedCases(t *testing.T) {
	data, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "config_table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, YAML, Expect string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("the table is empty")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			ours, ok := translated[c.Name]
			if !ok {
				t.Fatalf("the case is not translated: %s\n%s", c.Expect, c.YAML)
			}
			accept := strings.HasPrefix(c.Expect, "accept")
			cfg, err := Parse("syncd.yaml", []byte(ours.text), fakes(), nil)
			switch {
			case accept && err != nil:
				t.Fatalf("got errors\n%v\nwant none", err)
			case !accept && err == nil:
				t.Fatalf("got no error, want %q", ours.want)
			case !accept:
				if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
					return !slices.ContainsFunc(ours.want, func(part string) bool { return !strings.Contains(line, part) })
				}) {
					t.Errorf("got errors\n%v\nwant one with all of %q", err, ours.want)
				}
				return
			}
			s := cfg.Sources[0]
			if c.Name == "user 007" && s.User != "007" {
				t.Errorf("user: got %q, want 007", s.User)
			}
			if o := s.Options.(*githubOptions); c.Name == "bool off" && o.Enabled {
				t.Errorf("enabled: got true, want false")
			}
			// As it stands, with another program's keys, the text is refused.
			if _, err := Parse("syncd.yaml", []byte(c.YAML), fakes(), nil); err == nil {
				t.Errorf("got no error of the case as it stands")
			}
		})
	}
}
