package outside

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// packages says what npm installs, with the hash of each package.
//
//go:embed npm/package.json npm/package-lock.json npm/serve.mjs
var packages embed.FS

// oldestNode is the first release of Node.js that has what the packages use.
const oldestNode = 20

// npmInstall has npm install what the lock file says. No package may run a
// script of its own.
func npmInstall(ctx context.Context, _ *program, building string) error {
	if _, err := node(ctx); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := packages.ReadFile("npm/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(building, name), content, 0o644); err != nil {
			return err
		}
	}
	_, err := output(ctx, building, os.Environ(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	return err
}

// node returns the path of a Node.js that is new enough.
func node(ctx context.Context) (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("no node in PATH (%w)", errNotHere)
	}
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(said)), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		return "", fmt.Errorf("%s is version %s, and %d is needed (%w)", path, strings.TrimSpace(string(said)), oldestNode, errNotHere)
	}
	return path, nil
}
