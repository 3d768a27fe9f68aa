package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// install writes a folder of programs that can tell their version.
func install(t *testing.T, version string, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNewestOf(t *testing.T) {
	v9 := install(t, "9.6.24", "initdb", "pg_ctl", "postgres")
	v15 := install(t, "15.4 (Debian 15.4-1)", "initdb", "pg_ctl", "postgres")
	v16 := install(t, "16.10", "initdb", "pg_ctl", "postgres")
	v16old := install(t, "16.9", "initdb", "pg_ctl", "postgres")
	beta := install(t, "18beta1", "initdb", "pg_ctl", "postgres")
	client := install(t, "19.1", "pg_ctl", "psql")
	links := t.TempDir()
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if err := os.Symlink(filepath.Join(v16, program), filepath.Join(links, program)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		dirs []string
		want string
	}{
		{"newest of several", []string{v15, v16old, v16, v9}, v16},
		{"a beta is newer", []string{v16, beta}, beta},
		{"a client is no server", []string{client, v15}, v15},
		{"links are followed", []string{links}, v16},
		{"missing folders are no matter", []string{"", filepath.Join(links, "none"), v15}, v15},
		{"too old", []string{v9}, ""},
		{"none", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := newestOf(test.dirs)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if gotErr, wantErr := errors.Is(err, ErrNoBinaries), test.want == ""; gotErr != wantErr {
				t.Errorf("error %v: is ErrNoBinaries %v, want %v", err, gotErr, wantErr)
			}
		})
	}
}
