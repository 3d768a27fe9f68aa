package stripe

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Every option says what it does, and has its row in the documentation, as has
// every stream; the version is the one that is asked for.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "stripe.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		tag := options.Field(i).Tag
		if tag.Get("yaml") == "" || tag.Get("doc") == "" || !strings.Contains(page, "\n| `"+tag.Get("yaml")+"` |") {
			t.Errorf("%s: yaml %q, doc %q, or no row in docs/stripe.md", options.Field(i).Name, tag.Get("yaml"), tag.Get("doc"))
		}
	}
	streams, err := (&Options{}).Streams(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		if !strings.Contains(page, "\n| `"+s.Name+"` |") {
			t.Errorf("the stream %s has no row in docs/stripe.md", s.Name)
		}
	}
	if !strings.Contains(page, "`"+version+"`") {
		t.Errorf("docs/stripe.md does not name the version %s", version)
	}
}
