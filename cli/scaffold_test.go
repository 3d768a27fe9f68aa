package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/connectors"
)

// syncdIn runs a command line with all connectors in a folder.
func syncdIn(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := Run(t.Context(), connectors.All, args, Streams{strings.NewReader(""), &out, &errs}); got != code {
		t.Fatalf("syncd %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String() + errs.String()
}

func TestNewProviderFile(t *testing.T) {
	t.Chdir(t.TempDir())
	contains(t, syncdIn(t, exitDone, "connectors", "new", "my-desk"), "wrote my-desk.yaml", "syncd connectors try my-desk.yaml", "connector: ./my-desk.yaml")
	cfg := "store: sqlite:x.db\nproviders:\n  desk: { connector: ./my-desk.yaml, schedule: \"@daily\" }\nsources:\n  - { user: alice, provider: desk, credentials: { token: abc } }\n"
	if err := os.WriteFile("syncd.yaml", []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	syncdIn(t, exitDone, "check", "--config", "syncd.yaml")
	before, _ := os.ReadFile("my-desk.yaml")
	contains(t, syncdIn(t, exitFailed, "connectors", "new", "my-desk"), "my-desk.yaml: it is there already")
	if after, _ := os.ReadFile("my-desk.yaml"); !bytes.Equal(before, after) || !bytes.HasPrefix(after, []byte("# my-desk:")) {
		t.Errorf("the file is now\n%s", after)
	}
	contains(t, syncdIn(t, exitUsage, "connectors", "new", "My Desk"), "lower case")
	contains(t, syncdIn(t, exitUsage, "connectors", "new", "github"), "has a connector github already")
}

// A program in Go cannot have every name, and nothing is written of one that
// would not build.
func TestNewModuleNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"map", "go", "main", "init", "append", "cli", "connectors", "slices", "vendor"} {
		contains(t, syncdIn(t, exitUsage, "connectors", "new", name, "--go"), name)
	}
	for _, module := range []string{"foo bar", "a\nb", "/x", "x/", "a//b", "https://x.test/a"} {
		contains(t, syncdIn(t, exitUsage, "connectors", "new", "desk", "--go", "--module", module), "--module")
	}
	contains(t, syncdIn(t, exitUsage, "connectors", "new", "desk", "--module", "example.com/desk"), "--module is for --go, which is missing")
	if left, err := os.ReadDir("."); len(left) > 0 || err != nil {
		t.Errorf("it wrote %v, %v", left, err)
	}
	syncdIn(t, exitDone, "connectors", "new", "map") // a provider file may be called that
}

// The path to put into a configuration is one that leads there.
func TestNewProviderFileElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	contains(t, syncdIn(t, exitDone, "connectors", "new", "desk", "--dir", dir), "connector: "+filepath.ToSlash(dir)+"/desk.yaml")
	contains(t, syncdIn(t, exitDone, "connectors", "new", "desk", "--dir", "providers"), "connector: ./providers/desk.yaml")
}

// What is written is a module of its own that builds, passes its tests and
// runs: a connector outside of this repository.
func TestNewModule(t *testing.T) {
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	contains(t, syncdIn(t, exitDone, "connectors", "new", "my_desk", "--go", "--module", "desk.test/my_desk"), "go mod tidy")
	t.Chdir("my_desk")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	// The module is not published where this is tested.
	run("go", "mod", "edit", "-require=github.com/syncdhq/syncd@v0.0.0", "-replace=github.com/syncdhq/syncd="+repository)
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("go.sum", sums, 0o666); err != nil {
		t.Fatal(err)
	}
	run("go", "mod", "tidy")
	run("go", "vet", "./...")
	run("go", "test", "./...")
	run("go", "build", "-o", "desk", ".")
	contains(t, run("./desk", "connectors", "list"), "github", "my_desk", "tickets of an imaginary help desk")
	contains(t, run("./desk", "connectors", "show", "my_desk"), "connector: my_desk", "MY_DESK_TOKEN")
	if out := run("gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	contains(t, syncdIn(t, exitFailed, "connectors", "new", "my_desk", "--go", "--dir", ".."), "it is there already")
}
