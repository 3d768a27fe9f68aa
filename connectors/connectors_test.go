package connectors

import (
	"strings"
	"testing"
)

func TestAll(t *testing.T) {
	last := ""
	for _, c := range All {
		if c.Name == "" || c.Name != strings.ToLower(c.Name) || c.Name <= last {
			t.Errorf("connector %q is not in lower case and in order after %q", c.Name, last)
		}
		last = c.Name
		if c.Summary == "" || strings.Contains(c.Summary, "\n") {
			t.Errorf("%s: its summary %q is not one line", c.Name, c.Summary)
		}
		if c.Options == nil || c.Options() == nil {
			t.Errorf("%s: it has no default options", c.Name)
		} else if c.Options() == c.Options() {
			t.Errorf("%s: sources would share their options", c.Name)
		}
	}
}
