package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCreate(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "r.json")
	put := func(replace bool, text string) error {
		f, err := Create("write", name, replace)
		if err != nil {
			return err
		}
		return f.Write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	}
	if err := put(false, "one"); err != nil {
		t.Fatal(err)
	}
	if err := put(false, "two"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want %v", err, fs.ErrExist)
	}
	if err := put(true, "three"); err != nil {
		t.Error(err)
	}
	text, _ := os.ReadFile(name)
	info, err := os.Stat(name)
	if err != nil || string(text) != "three" || info.Mode() != 0o600 {
		t.Errorf("got %q, %v, %v", text, info.Mode(), err)
	}
	// What came meanwhile stays.
	late := filepath.Join(folder, "late.json")
	f, err := Create("write", late, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(late, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(func(io.Writer) error { return nil }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want %v", err, fs.ErrExist)
	}
	if text, _ := os.ReadFile(late); string(text) != "mine" {
		t.Errorf("got %q", text)
	}
	for _, bad := range []string{folder, filepath.Join(folder, "none", "r.json"), filepath.Join(name, "r.json")} {
		if f, err := Create("write", bad, true); err == nil {
			f.Drop()
			t.Errorf("%s: no error", bad)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("it left %v, %v", left, err)
	}
}
