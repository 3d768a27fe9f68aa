package cli

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/connectors/sample"
)

// blocks returns the code blocks of a page in a language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// What docs/connectors.md tells a newcomer to write works as it is written.
func TestTheTutorial(t *testing.T) {
	api := httptest.NewServer(sample.Connector().Demo())
	t.Cleanup(api.Close)
	files := blocksOf(t)
	t.Chdir(t.TempDir())
	for _, block := range files {
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
		block = strings.ReplaceAll(block, "http://127.0.0.1:8500", api.URL)
		if err := os.WriteFile(name, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	contains(t, syncdIn(t, exitDone, "connectors", "try", "shop.yaml", "--param", "account=me"), "customers", "50 records", "ascending", "tickets")
	contains(t, syncdIn(t, exitRejected, "sync", "alice", "shop", "--config", "syncd.yaml"), "inserted")
	contains(t, syncdIn(t, exitDone, "rejects", "list", "--config", "syncd.yaml"), "missing_external_id")
	out := syncdIn(t, exitDone, "sync", "alice", "shop", "--config", "syncd.yaml")
	if regexp.MustCompile(`[1-9][0-9]* inserted`).MatchString(out) {
		t.Errorf("the second run inserted again: %s", out)
	}
}

// blocksOf are the files of the tutorial: YAML that begins with a file's name.
func blocksOf(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, block := range blocks(t, "connectors.md", "yaml") {
		if regexp.MustCompile(`^# [a-z]+\.yaml\n`).MatchString(block) {
			files = append(files, block)
		}
	}
	if len(files) != 2 {
		t.Fatalf("%d files in the tutorial, want 2", len(files))
	}
	return files
}

func TestServeAStandIn(t *testing.T) {
	contains(t, syncdIn(t, exitUsage, "connectors", "serve", "github"), "there is one of sample")
	contains(t, syncdIn(t, exitFailed, "connectors", "serve", "sample", "--listen", "127.0.0.1:999999"), "invalid port")
}
