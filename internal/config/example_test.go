package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const example = "../../config.example.yaml"

// TestExample reads the documentation of the settings as it is.
func TestExample(t *testing.T) {
	cfg, err := Load(example, fakes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings: %v", cfg.Warnings)
	}
	var got []string
	for _, s := range cfg.Sources {
		got = append(got, s.User+" "+s.Provider+" "+s.Schedule.String())
	}
	want := []string{"alice sample @every 10s", "acme orders 30 2 * * * (Europe/Berlin)"}
	if !slices.Equal(got, want) {
		t.Errorf("sources: got %q, want %q", got, want)
	}
	orders := cfg.Sources[1].Options.(*csvOptions)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "examples", "feeds", "orders.csv"); orders.Path != want {
		t.Errorf("path: got %s, want %s", orders.Path, want)
	}
}

// settings returns all keys that the file can have.
func settings(t reflect.Type, keys map[string]bool) {
	for _, f := range shapeOf(t).fields {
		keys[f.key] = true
		inner := f.typ
		if value, ok := inner.FieldByName("Value"); ok && inner.Kind() == reflect.Struct {
			inner = value.Type
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[subtree]() {
			settings(inner, keys)
		}
	}
}

func allSettings() map[string]bool {
	keys := map[string]bool{}
	for _, t := range []reflect.Type{reflect.TypeFor[fileShape](), reflect.TypeFor[providerShape](), reflect.TypeFor[sourceShape]()} {
		settings(t, keys)
	}
	for _, scheme := range []string{"token", "username", "password"} {
		keys[scheme] = true
	}
	return keys
}

// TestExampleNamesEverySetting fails when a setting is added without its documentation.
func TestExampleNamesEverySetting(t *testing.T) {
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	keys := allSettings()
	if len(keys) < 35 {
		t.Errorf("got %d settings, want at least 35: they are not found", len(keys))
	}
	for key := range keys {
		if !regexp.MustCompile(`(?m)(?:^[\s#-]*|[{,]\s*)` + key + `:`).Match(text) {
			t.Errorf("config.example.yaml does not name %s", key)
		}
	}
}

// TestExampleComments takes out the # before every setting: what is documented
// is right, and what is said to be a default is one.
func TestExampleComments(t *testing.T) {
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	keys := allSettings()
	keys["github"] = true
	setting := regexp.MustCompile(`^(\s*)# (\s*(?:- )?([a-z_]+):.*)$`)
	lines := strings.Split(string(text), "\n")
	taken := 0
	for i, line := range lines {
		if m := setting.FindStringSubmatch(line); m != nil && keys[m[3]] {
			lines[i] = m[1] + m[2]
			taken++
		}
	}
	if taken < 35 {
		t.Errorf("got %d settings in comments, want at least 35: they are not found", taken)
	}
	full, err := Parse(example, []byte(strings.Join(lines, "\n")), fakes(), environment(map[string]string{"GITHUB_TOKEN": "t", "SYNCD_API_TOKEN": "an-application-of-ours"}))
	if err != nil {
		t.Fatalf("with every setting:\n%v\nin\n%s", err, strings.Join(lines, "\n"))
	}
	plain, err := Parse(example, text, fakes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if full.Sources[2].User != "alice" || full.Sources[2].Provider != "github" || full.Sources[2].Credentials["token"].Reveal() != "t" {
		t.Errorf("the source in comments: got %+v", full.Sources[2])
	}
	a, b := *plain, *full
	if b.API.URL != "https://sync.example.com" || len(b.API.Tokens) != 1 || len(b.API.ReturnTo) != 1 {
		t.Errorf("api: got %+v", b.API)
	}
	b.API = API{}
	b.Listen, a.Providers, b.Providers, a.Sources, b.Sources = "", nil, nil, nil, nil
	if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("defaults (-they are +as the example says)\n%s", diff)
	}
	p, q := plain.Providers["orders"], full.Providers["orders"]
	if p.OnMissing != q.OnMissing || p.MaxMissing != q.MaxMissing || p.AllowEmpty != q.AllowEmpty || p.Budget != q.Budget || p.Spread != q.Spread || p.CatchUp != q.CatchUp || p.PurgeLeft != q.PurgeLeft {
		t.Errorf("defaults of a provider: they are %+v, and the example says %+v", p, q)
	}
}
