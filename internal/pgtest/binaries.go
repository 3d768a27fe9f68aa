package pgtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBinaries says that the machine has no PostgreSQL server, and what to install.
var ErrNoBinaries = errors.New("no PostgreSQL binaries (initdb, pg_ctl, postgres) of version 13 or later: " +
	"install the package postgresql (Debian, Ubuntu, Alpine, Homebrew) or postgresql-server (Fedora), " +
	"or name a running server in SYNCD_TEST_POSTGRES")

// oldest has DROP DATABASE ... WITH (FORCE), and is the oldest that anybody maintained lately.
const oldest = 13

// places are where installers put a server's programs without telling PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",       // Debian, Ubuntu
	"/usr/pgsql-*/bin",                // the PostgreSQL project's own packages for Fedora and Red Hat
	"/usr/libexec/postgresql*",        // Alpine
	"/usr/local/pgsql/bin",            // built from source
	"/opt/homebrew/opt/postgres*/bin", // Homebrew: Apple silicon, Intel, Linux
	"/usr/local/opt/postgres*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgres*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// newestBinaries returns the folder of the newest server's programs.
func newestBinaries() (string, error) {
	if runtime.GOOS == "windows" {
		return "", ErrNoBinaries
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range places {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		dirs = append(dirs, found...)
	}
	return newestOf(dirs)
}

// newestOf returns the folder with the newest complete server; among equals, the first.
func newestOf(dirs []string) (string, error) {
	type server struct {
		bin     string
		version [2]int
	}
	var servers []server
	for _, dir := range dirs {
		bin, ok := complete(dir)
		if !ok || slices.ContainsFunc(servers, func(s server) bool { return s.bin == bin }) {
			continue
		}
		out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
		if err != nil {
			continue // a program that cannot even say its version starts no server
		}
		if v := parseVersion(string(out)); v[0] >= oldest {
			servers = append(servers, server{bin, v})
		}
	}
	if len(servers) == 0 {
		return "", ErrNoBinaries
	}
	return slices.MaxFunc(servers, func(a, b server) int {
		return slices.CompareFunc(a.version[:], b.version[:], cmp.Compare[int])
	}).bin, nil
}

// complete reports whether all that a server needs is in the folder, and
// returns the one that its links lead to.
func complete(dir string) (string, bool) {
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return "", false
		}
	}
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return "", false
	}
	if real := filepath.Dir(program); real != dir {
		if bin, ok := complete(real); ok {
			return bin, true
		}
	}
	abs, err := filepath.Abs(dir)
	return abs, err == nil
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)(?:\.(\d+))?`)

// parseVersion reads "postgres (PostgreSQL) 15.4 (Debian ...)"; zero if it is something else.
func parseVersion(s string) (v [2]int) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return v
	}
	v[0], _ = strconv.Atoi(m[1]) // digits, or nothing, which is 0
	v[1], _ = strconv.Atoi(m[2])
	return v
}
