package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/config"
)

func TestConnectors(t *testing.T) {
	w := newWorld(t, "no configuration is read")
	contains(t, w.run(exitDone, "connectors", "list"), "CONNECTOR", "sample", "bearer", "a built-in provider")
	contains(t, w.run(exitDone, "connectors", "show", "sample"), "sample: ", "auth        bearer, credentials: token (may be left out)",
		"customers: what changed, oldest first", "records never change", "size (whole number, default 120)", "how many customers there are",
		"change_every (duration, default 20s)", "providers:\n  sample:\n    connector: sample\n")
	var row connectorRow
	w.json(&row, "connectors", "show", "sample")
	if row.Connector != "sample" || len(row.Streams) != 3 || len(row.Options) != 5 || row.Options[0].Doc == "" || !row.Optional {
		t.Errorf("got %+v", row)
	}
	var rows []connectorRow
	w.json(&rows, "connectors", "list")
	if len(rows) != 1 || rows[0].Summary == "" {
		t.Errorf("got %+v", rows)
	}
}

// What is shown to start from is a configuration, but for options and
// variables that are the reader's.
func TestSnippets(t *testing.T) {
	option := regexp.MustCompile(`^[^:]+:\d+:\d+: (options|path|key|shop)\b`)
	env := func(string) (string, bool) { return "secret", true }
	all, err := config.Expand(connectors.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(all, syncd.Connector{Name: "my-crm", Auth: syncd.Auth{Scheme: syncd.Basic}, Options: connectors.All[0].Options}) {
		text := "store: sqlite:syncd.db\n" + snippet(connectorRowOf(c), c)
		_, err := config.Parse("c.yaml", []byte(text), []syncd.Connector{c}, env)
		if err == nil {
			continue
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !option.MatchString(line) {
				t.Errorf("%s: %s in\n%s", c.Name, line, text)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	w := newWorld(t, "no configuration is read")
	contains(t, w.run(exitDone, "version"), "syncd ", "go1.", "PostgreSQL", "SQLite")
	var r versionReport
	w.json(&r, "version")
	if r.Version == "" || !strings.HasPrefix(r.Go, "go1.") || !strings.Contains(r.Platform, "/") || r.Drivers == nil {
		t.Errorf("got %+v", r)
	}
}
