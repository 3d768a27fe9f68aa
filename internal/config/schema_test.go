package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors"
)

func allConnectors(t *testing.T) []syncd.Connector {
	t.Helper()
	all, err := Expand(connectors.All)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compiled returns a schema that its library takes as one of draft 2020-12.
func compiled(t *testing.T, text []byte, err error) *jsonschema.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns a YAML text as an editor hands it to a schema.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What ships is what the code makes.
func TestSchemaFiles(t *testing.T) {
	all := allConnectors(t)
	for name, make := range map[string]func([]syncd.Connector) ([]byte, error){"syncd": Schema, "provider": FileSchema} {
		want, err := make(all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../schema/" + name + ".schema.json")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("schema/%s.schema.json is not what the code makes (%v): run make schema", name, err)
		}
	}
}

func TestSchemaTakesWhatIsRight(t *testing.T) {
	text, err := Schema(allConnectors(t))
	s := compiled(t, text, err)
	if err := s.Validate(asJSON(t, readText(t, example))); err != nil {
		t.Errorf("config.example.yaml: %v", err)
	}
	for _, right := range []string{
		"store: sqlite:x.db\nx-any: [1]\nproviders: {}\nsources: []\n",
		"store: sqlite:x.db\nworkers: \"${WORKERS}\"\nlease: 1h30m\nlimits: { body: 64MiB, rejects: 0.5 }\nproviders:\n  a: { connector: csv, schedule: \"@daily\", max_missing: 30%, options: { path: a.csv, key: [a] } }\nsources:\n- { user: 007, provider: a@work, credentials: { token: \"${T}\" } }\n",
		"store: sqlite:x.db\nproviders:\n  a: { connector: ./tickets.yaml, options: { params: { team: blue } } }\nsources: []\n",
		"store: sqlite:x.db\nproviders:\n  a:\n    connector: rest\n    options:\n      streams:\n        x: { path: /x, id: [a, b], mark: t, since: { param: s, precision: 1s }, paging: link, errors: [{ status: 410, as: resync }] }\nsources: []\n",
	} {
		if err := s.Validate(asJSON(t, right)); err != nil {
			t.Errorf("%v in\n%s", err, right)
		}
	}
}

func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	text, err := Schema(allConnectors(t))
	s := compiled(t, text, err)
	const head = "store: sqlite:x.db\n"
	for name, wrong := range map[string]string{
		"no store":                     "providers: {}\nsources: []\n",
		"an unknown key":               head + "worker: 8\nproviders: {}\nsources: []\n",
		"a duration without a unit":    head + "lease: 30\nproviders: {}\nsources: []\n",
		"a size without a unit":        head + "limits: { body: 64 }\nproviders: {}\nsources: []\n",
		"a share above all":            head + "limits: { rejects: 130 }\nproviders: {}\nsources: []\n",
		"a text for a number":          head + "workers: many\nproviders: {}\nsources: []\n",
		"an unknown word":              head + "log: { level: loud }\nproviders: {}\nsources: []\n",
		"a list of providers":          head + "providers: []\nsources: []\n",
		"a provider with capitals":     head + "providers: { Git: { connector: github } }\nsources: []\n",
		"an unknown connector":         head + "providers: { a: { connector: gitlub } }\nsources: []\n",
		"no connector":                 head + "providers: { a: { schedule: \"@daily\" } }\nsources: []\n",
		"the option of another":        head + "providers: { a: { connector: github, options: { path: x.csv } } }\nsources: []\n",
		"an unknown key deep in rest":  head + "providers: { a: { connector: rest, options: { streams: { x: { pth: /x } } } } }\nsources: []\n",
		"a number of paging as a text": head + "providers: { a: { connector: rest, options: { streams: { x: { paging: { size: many } } } } } }\nsources: []\n",
		"a source without a user":      head + "providers: {}\nsources: [{ provider: a }]\n",
		"an unknown credential":        head + "providers: {}\nsources: [{ user: a, provider: a, credentials: { key: x } }]\n",
	} {
		if s.Validate(asJSON(t, wrong)) == nil {
			t.Errorf("%s is taken:\n%s", name, wrong)
		}
	}
}

func TestSchemaOfProviderFiles(t *testing.T) {
	text, err := FileSchema(allConnectors(t))
	s := compiled(t, text, err)
	files, err := filepath.Glob("../../providers/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../connectors/example/example.yaml") {
		if err := s.Validate(asJSON(t, readText(t, file))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if s.Validate(asJSON(t, "stream: {}\n")) == nil {
		t.Error("a file without streams is taken")
	}
	if _, err := FileSchema(nil); err == nil {
		t.Error("a program without the connector rest has a schema of provider files")
	}
}

// Every key is described.
func TestSchemaDescribesEveryKey(t *testing.T) {
	var walk func(t *testing.T, typ reflect.Type, path string)
	walk = func(t *testing.T, typ reflect.Type, path string) {
		for _, f := range shapeOf(typ).fields {
			if f.doc == "" || strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s%s: %q is no description, or ends with a full stop", path, f.key, f.doc)
			}
			inner := f.typ
			if value, ok := inner.FieldByName("Value"); ok && inner.Kind() == reflect.Struct {
				inner = value.Type
			}
			if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[subtree]() {
				walk(t, inner, path+f.key+".")
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[fileShape](), reflect.TypeFor[providerShape](), reflect.TypeFor[sourceShape]()} {
		walk(t, typ, "")
	}
	for _, c := range allConnectors(t) {
		for _, o := range Describe(c) {
			if o.Doc == "" {
				t.Errorf("the option %s of the connector %s is not described", o.Key, c.Name)
			}
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
