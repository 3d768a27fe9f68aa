package outside

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// buildCopy builds the root package of a module that go install refuses, as its
// go.mod has replacements or another name: from a copy of the module as it was
// published. The files that the program reads when it runs stay beside it.
func buildCopy(ctx context.Context, p *program, building string) error {
	env := buildEnvironment(os.Environ(), building)
	said, err := output(ctx, building, env, "go", "mod", "download", "-json", p.pkg+"@"+p.version)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		return fmt.Errorf("read what go mod download says: %w", err)
	}
	source := filepath.Join(building, "source")
	if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
		return err
	}
	binary := p.binary
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if _, err := output(ctx, source, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(building, binary), "."); err != nil {
		return err
	}
	for _, name := range p.beside {
		if err := os.Rename(filepath.Join(source, name), filepath.Join(building, name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(source)
}
