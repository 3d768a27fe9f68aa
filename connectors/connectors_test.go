package connectors

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
)

// Every provider file that comes with syncd is in the list.
func TestAllProviderFiles(t *testing.T) {
	files, err := filepath.Glob("../providers/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !slices.ContainsFunc(All, func(c syncd.Connector) bool { return c.Name == name && c.File != nil }) {
			t.Errorf("%s is not among the connectors", file)
		}
	}
}

func TestAll(t *testing.T) {
	all, err := config.Expand(All)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, c := range all {
		if c.Name == "" || c.Name != strings.ToLower(c.Name) || c.Name <= last {
			t.Errorf("connector %q is not in lower case and in order after %q", c.Name, last)
		}
		last = c.Name
		if c.Summary == "" || strings.Contains(c.Summary, "\n") {
			t.Errorf("%s: its summary %q is not one line", c.Name, c.Summary)
		}
		if _, err := os.Stat("../docs/" + c.Name + ".md"); err != nil && c.Name != "rest" { // which has docs/connectors.md
			t.Errorf("%s has no page: %v", c.Name, err)
		}
		if c.Options == nil || c.Options() == nil {
			t.Errorf("%s: it has no default options", c.Name)
		} else if c.Options() == c.Options() {
			t.Errorf("%s: sources would share their options", c.Name)
		}
	}
}

// What streams are chosen does not decide what any of them holds: to add one is
// no reason to read the others anew.
func TestTheChoiceOfStreamsIsNoSetting(t *testing.T) {
	chosen := 0
	for _, c := range All {
		if c.File != nil {
			continue
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.Options()).Elem()) {
			if f.Name != "Only" {
				continue
			}
			if chosen++; f.Tag.Get("settings") != "-" {
				t.Errorf("%s: the option %s lacks the tag settings:\"-\"", c.Name, f.Tag.Get("yaml"))
			}
		}
	}
	if chosen < 8 {
		t.Errorf("%d connectors let their streams be chosen: is the field Only called otherwise now?", chosen)
	}
}
