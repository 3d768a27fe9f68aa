// Package casebook finds the tables of cases that tests share and that are
// kept outside the repository.
package casebook

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the path of a file or folder below the shared folder, such as
// Shared(t, "faults", "cases", "cron_table.json").
//
// The shared folder is $SYNCD_SHARED; where that is not set, it is the first
// folder named "shared" that holds faults/cases, beside the working directory
// or beside one of its parents. What is absent skips the test, unless
// SYNCD_REQUIRE_SHARED=1, which makes it fail: so that a build that is meant to
// run every table cannot lose them quietly.
func Shared(tb testing.TB, elem ...string) string {
	tb.Helper()
	root := os.Getenv("SYNCD_SHARED")
	if root == "" {
		root = find(tb)
	}
	if root == "" {
		absent(tb, "no shared folder with faults/cases beside the working directory or its parents: set SYNCD_SHARED")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		absent(tb, "shared test data: "+err.Error())
	}
	return path
}

// find walks up from the working directory. It returns "" where nothing is found.
func find(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		root := filepath.Join(dir, "shared")
		if info, err := os.Stat(filepath.Join(root, "faults", "cases")); err == nil && info.IsDir() {
			return root
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func absent(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv("SYNCD_REQUIRE_SHARED") == "1" {
		tb.Fatal(why)
	}
	tb.Skip(why)
}
