package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/connectors/sample"
)

// schemaOf runs the command with the connectors.
func schemaOf(t *testing.T, connectors []syncd.Connector, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), connectors, append([]string{"schema"}, args...), Streams{strings.NewReader(""), &stdout, &stderr})
	return stdout.String(), stderr.String(), code
}

// A schema needs no configuration, and has the program's own connectors.
func TestSchema(t *testing.T) {
	t.Setenv("SYNCD_CONFIG", "/nowhere/config.yaml")
	own := sample.Connector()
	own.Name = "of_our_own"
	connectors := []syncd.Connector{own, rest.Connector()}
	for _, tt := range []struct {
		args        []string
		title       string
		keys, never string
	}{
		{nil, "The configuration of syncd", "providers sources store workers", "streams"},
		{[]string{"--provider"}, "A provider file of syncd", "auth base_url streams", "providers"},
	} {
		out, errs, code := schemaOf(t, connectors, tt.args...)
		if code != exitDone || errs != "" {
			t.Fatalf("schema %v: exit code %d, %s", tt.args, code, errs)
		}
		var got struct {
			Schema     string `json:"$schema"`
			Title      string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("schema %v: %v in %s", tt.args, err, out)
		}
		if got.Schema != "https://json-schema.org/draft/2020-12/schema" || got.Title != tt.title {
			t.Errorf("schema %v: got $schema %q and title %q", tt.args, got.Schema, got.Title)
		}
		for _, key := range strings.Fields(tt.keys) {
			if got.Properties[key] == nil {
				t.Errorf("schema %v has no key %s", tt.args, key)
			}
		}
		if got.Properties[tt.never] != nil {
			t.Errorf("schema %v has the key %s", tt.args, tt.never)
		}
		if named := strings.Contains(out, `"of_our_own"`); named != (tt.args == nil) {
			t.Errorf("schema %v: our own connector is named: %v", tt.args, named)
		}
	}
	if _, errs, code := schemaOf(t, connectors, "x"); code != exitUsage || !strings.Contains(errs, "expected no arguments") {
		t.Errorf("with an argument: exit code %d, %s", code, errs)
	}
	out, errs, code := schemaOf(t, []syncd.Connector{own}, "--provider")
	if code != exitFailed || out != "" || !strings.Contains(errs, "lacks the connector rest") {
		t.Errorf("without the connector rest: exit code %d, %s%s", code, out, errs)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Half a schema must not pass for a whole one.
func TestSchemaToAFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	code := Run(t.Context(), []syncd.Connector{sample.Connector()}, []string{"schema"}, Streams{strings.NewReader(""), full{}, &stderr})
	if code != exitFailed || !strings.Contains(stderr.String(), "no space left on device") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}
