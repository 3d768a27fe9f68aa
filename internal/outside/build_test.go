//go:build unix

package outside

import (
	"archive/zip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// moduleProxy makes a folder that serves as the proxy of one tiny module,
// example.com/tiny at v1.0.0, and returns its URL.
func moduleProxy(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, "example.com", "tiny", "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	const mod = "module example.com/tiny\n\ngo 1.21\n"
	for name, content := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(versions, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, content := range map[string]string{"go.mod": mod, "main.go": source} {
		w, err := z.Create("example.com/tiny@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(dir)
}

// tiny has go install find that module, and a go that counts its runs: the
// function returns the count.
func tiny(t *testing.T, source string) (p func() *program, runs func() int) {
	t.Helper()
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	count := filepath.Join(bin, "runs")
	script := "#!/bin/sh\necho run >>'" + count + "'\nexec '" + realGo + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOPROXY", moduleProxy(t, source))
	t.Setenv("GONOSUMDB", "example.com")
	modules := t.TempDir()
	t.Setenv("GOMODCACHE", modules)
	t.Cleanup(func() { // it is read-only
		_ = filepath.WalkDir(modules, func(path string, d os.DirEntry, err error) error { return os.Chmod(path, 0o755) })
	})
	t.Setenv("GOFLAGS", "-mod=vendor") // what go install with a version refuses
	t.Setenv("SYNCD_OUTSIDE_CACHE", t.TempDir())
	return func() *program {
			return &program{name: "tiny", version: "v1.0.0", pkg: "example.com/tiny", binary: "tiny"}
		}, func() int {
			content, err := os.ReadFile(count)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			return strings.Count(string(content), "run")
		}
}

func TestBuildOnce(t *testing.T) {
	p, runs := tiny(t, `package main

func main() { print("here") }
`)
	paths := make([]string, 4)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() { paths[i], errs[i] = p().executable() }) // as separate processes have it: a file opened by each
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got, want := runs(), 1; got != want {
		t.Errorf("builds: got %d, want %d", got, want)
	}
	if got := len(slices.Compact(paths)); got != 1 {
		t.Errorf("paths: got %q, want one", paths)
	}
	if out, err := exec.Command(paths[0]).CombinedOutput(); err != nil || string(out) != "here" {
		t.Errorf("what was built: got %q, %v", out, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(paths[0]), "*"))
	if err != nil || !slices.Equal(left, paths[:1]) {
		t.Errorf("left in the cache: got %q, want %q (%v)", left, paths[:1], err)
	}
}

func TestBuildThatDoesNotWork(t *testing.T) {
	p, runs := tiny(t, "package main\n\nfunc main() { nothing() }\n")
	broken := p()
	_, err := broken.executable()
	if !errors.Is(err, errNotHere) || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("got error %v, want what the compiler said, and %v", err, errNotHere)
	}
	if _, again := broken.executable(); again != err || runs() != 1 {
		t.Errorf("a second try in one process: got error %v after %d builds, want the first error after 1", again, runs())
	}
	v := &verdict{TB: t}
	t.Setenv("SYNCD_REQUIRE_OUTSIDE", "")
	func() {
		defer func() { _ = recover() }()
		broken.need(v)
	}()
	if v.skipped == "" || v.failed != "" {
		t.Errorf("a test that needs it: skipped %q, failed %q", v.skipped, v.failed)
	}
}

func TestCache(t *testing.T) {
	t.Setenv("SYNCD_OUTSIDE_CACHE", "")
	t.Setenv("HOME", "/elsewhere")
	t.Setenv("XDG_CACHE_HOME", "")
	got, err := cache()
	if err != nil || !strings.HasPrefix(got, "/elsewhere/") || filepath.Base(got) != "syncd-outside" {
		t.Errorf("got %q, %v", got, err)
	}
}
