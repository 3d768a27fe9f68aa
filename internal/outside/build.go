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
const patienceToBuild = 20 * time.Minute

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

// install has the program made in a folder beside, and moves what that holds
// to dir when it is whole: the program itself last, as whoever finds it takes
// the rest to be there.
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
	fill := goInstall
	if p.fill != nil {
		fill = p.fill
	}
	if err := fill(ctx, p, building); err != nil {
		return errors.Join(err, os.RemoveAll(building))
	}
	return errors.Join(moveAll(building, dir, filepath.Base(path)), os.RemoveAll(building))
}

// moveAll moves what a folder holds to another, in place of what is there, and
// what is named last at the end.
func moveAll(from, to, last string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != last {
			names = append(names, entry.Name())
		}
	}
	for _, name := range append(names, last) {
		target := filepath.Join(to, name)
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, name), target); err != nil {
			return err
		}
	}
	return nil
}

// goInstall is the usual way to fill a folder: with what go install builds.
func goInstall(ctx context.Context, p *program, building string) error {
	// building is in no module: a package with a version brings its own go.mod.
	_, err := output(ctx, building, buildEnvironment(os.Environ(), building), "go", "install", "-trimpath", p.pkg+"@"+p.version)
	return err
}

// output runs a command of an installation, and returns what it printed on its
// standard output. Its error has the end of all that it printed.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, cmp.Or(ctx.Err(), err), lastLines(append(out.Bytes(), errs.Bytes()...)))
	}
	return out.Bytes(), nil
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
