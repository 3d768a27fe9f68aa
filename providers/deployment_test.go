package providers_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/cli"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/providers"
)

// A deployment is syncd as an operator has it: a folder with a configuration
// and a database.
type deployment struct {
	*testing.T
	dir        string
	connectors []syncd.Connector
}

// deploy writes a configuration in which alice has an account at the provider
// `it`. settings are the lines of that provider, beside its schedule; source
// those of hers.
func deploy(t *testing.T, connectors []string, settings, source string) *deployment {
	t.Helper()
	d := &deployment{t, t.TempDir(), []syncd.Connector{rest.Connector()}}
	for _, name := range connectors {
		d.connectors = append(d.connectors, providers.Connector(name))
	}
	indent := func(lines, by string) string {
		return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n"+by)
	}
	write(t, d.config(), fmt.Sprintf(`store: sqlite:syncd.db
providers:
  it:
    schedule: "@hourly"
    on_missing: mark
    max_missing: 100%%
    %s
sources:
  - user: alice
    provider: it
    %s
`, indent(settings, "    "), indent(source, "    ")))
	return d
}

func (d *deployment) config() string { return filepath.Join(d.dir, "syncd.yaml") }

// sync runs `syncd sync alice it`, which must end well and set nothing aside.
func (d *deployment) sync(flags ...string) store.Counters {
	d.Helper()
	out, errs, code := d.syncd(append([]string{"sync", "alice", "it", "-o", "json"}, flags...)...)
	var report struct {
		State    string
		Counters store.Counters
		Notes    []string
	}
	if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil || report.State != "done" {
		d.Fatalf("exit code %d (%v)\n%s%s", code, err, out, errs)
	}
	return report.Counters
}

// syncd runs a command line.
func (d *deployment) syncd(args ...string) (out, errs string, code int) {
	d.Helper()
	var stdout, stderr bytes.Buffer
	line := append([]string{"--config", d.config()}, args...)
	code = cli.Run(d.Context(), d.connectors, line, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), code
}

// table returns the data of the live records by their ids.
func (d *deployment) table() map[string]string {
	d.Helper()
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "syncd.db"))
	if err != nil {
		d.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(d.Context(), "SELECT external_id, data FROM live_records WHERE user_id = 'alice' AND provider = 'it'")
	if err != nil {
		d.Fatal(err)
	}
	defer rows.Close()
	table := map[string]string{}
	for rows.Next() {
		var id, data string
		if err := rows.Scan(&id, &data); err != nil {
			d.Fatal(err)
		}
		table[id] = data
	}
	if err := rows.Err(); err != nil {
		d.Fatal(err)
	}
	return table
}

// holds checks that the table of a reader is what the provider lists, byte for byte.
func holds(t *testing.T, when string, r reader, listed map[string]string) {
	t.Helper()
	table := r.table()
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if got, ok := table[id]; !ok || got != listed[id] {
			t.Fatalf("%s: record %s is %s\nand the provider lists %s", when, id, got, listed[id])
		}
		delete(table, id)
	}
	for id, data := range table {
		t.Fatalf("%s: the provider does not list %s: %s", when, id, data)
	}
}

// listing returns the elements of a list in a JSON answer, by prefix and id.
func listing(t *testing.T, into map[string]string, prefix string, list json.RawMessage) {
	t.Helper()
	var elements []json.RawMessage
	if err := json.Unmarshal(list, &elements); err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		var key struct{ ID json.RawMessage }
		if err := json.Unmarshal(e, &key); err != nil {
			t.Fatal(err)
		}
		into[prefix+strings.Trim(string(key.ID), `"`)] = string(e)
	}
}
