package providers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Each provider file has a page, whose configuration to start from is right, and
// which names each stream and param.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	env := func(string) (string, bool) { return "secret", true }
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		c := connector(t, name)
		page, err := os.ReadFile("../docs/" + name + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		block := yamlBlock.FindSubmatch(page)
		if block == nil {
			t.Errorf("%s: no configuration to start from", name)
			continue
		}
		cfg, err := config.Parse(name+".yaml", append([]byte("store: sqlite:syncd.db\n"), block[1]...), []syncd.Connector{c}, env)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w := &wire{}
		for stream := range w.streams(t, cfg.Sources[0].Options) {
			if !strings.Contains(string(page), "\n| `"+stream+"` |") {
				t.Errorf("%s: the page has no row for the stream %s", name, stream)
			}
		}
		for param := range paramsOf(c) {
			if !strings.Contains(string(page), "\n| `"+param+"` |") {
				t.Errorf("%s: the page has no row for the param %s", name, param)
			}
		}
	}
}
