package outside

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patienceToBuild is how long the download and the build of one program may take.
const patienceToBuild = 8 * time.Minute

// cache returns the folder of what was built.
func cache() (string, error) {
	if given := os.Getenv("SYNCD_OUTSIDE_CACHE"); given != "" {
		return filepath.Abs(given)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache: %w", err)
	}
	return filepath.Join(dir, "syncd-outside"), nil
}

// build returns the program in the cache, and puts it there if it is missing.
// Of several processes that do so at the same time one builds, and the others
// wait for it.
func (p *program) build() (string, error) {
	all, err := cache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(all, p.name+"-"+p.version)
	path := filepath.Join(dir, p.binary)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(path) {
		return path, nil
	}
	return path, p.install(dir, path)
}

// install runs go install, and moves what it built to path when it is whole.
func (p *program) install(dir, path string) error {
	// Abandoned by a process that was killed, as we hold the lock.
	abandoned, err := filepath.Glob(filepath.Join(dir, "building-*"))
	if err != nil {
		return err
	}
	for _, folder := range abandoned {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	building, err := os.MkdirTemp(dir, "building-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceToBuild)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", p.pkg+"@"+p.version)
	cmd.Dir = building // in no module: a package with a version brings its own go.mod
	cmd.Env = buildEnvironment(os.Environ(), building)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w\n%s", cmd, cmp.Or(ctx.Err(), err), lastLines(out)), os.RemoveAll(building))
	}
	return errors.Join(os.Rename(filepath.Join(building, filepath.Base(path)), path), os.RemoveAll(building))
}

// buildEnvironment is the environment of go install: ours, less what is meant
// for the build of our own module or for another machine.
func buildEnvironment(ours []string, bin string) []string {
	mine := []string{"GOFLAGS", "GOBIN", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED", "GO111MODULE", "PWD"}
	env := slices.DeleteFunc(slices.Clone(ours), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(mine, name)
	})
	return append(env,
		"GOBIN="+bin,
		"GOFLAGS=-buildvcs=false", // an empty value would bring in what go env -w has set
		"GOWORK=off",
		"CGO_ENABLED=0", // needs no C compiler
		"GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH,
	)
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// lastLines returns the end of what a program printed.
func lastLines(out []byte) []byte {
	const enough = 40
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-enough):], []byte("\n"))
}
