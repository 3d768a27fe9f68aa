package csv

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that can't be trusted as a whole is an error that says which, where
// and why, before anything of it is returned.
func TestRefused(t *testing.T) {
	many := strings.Repeat("1,2\n", 9) + strings.Repeat("1\n", 11)
	tests := []struct {
		name, text string
		set        func(*Options)
		want       []string
	}{
		{"key that is not there", "id,name\n1,a\n", keyed("order"), []string{`no column "order" for key`, `["id" "name"]`}},
		{"position that is not there", "id,name\n1,a\n", keyed("3"), []string{`no column "3" for key`}},
		{"a column by name and position", "id,name\n1,a\n", keyed("id", "1"), []string{`column "id" twice`}},
		{"mark that is not there", "id\n1\n", with(keyed("id"), func(o *Options) { o.Mark = "at" }), []string{`no column "at" for mark`}},
		{"delete that is not there", "id\n1\n", with(keyed("id"), func(o *Options) { o.Delete = "gone" }), []string{`no column "gone" for delete`}},
		{"header that is not utf-8", "id,\xfc\n1,a\n", keyed("id"), []string{"the header", "line 1, byte 4", "0xfc"}},
		{"header with a stray quote", "id,a\"b\n1,a\n", keyed("id"), []string{"the header", "line 1, byte 5"}},
		{"header with an open quote", "id,\"a\n1,a\n", keyed("id"), []string{"line 1", "never closed"}},
		{"header that was cut", "id,na", with(keyed("id"), allowEmpty), []string{"line 1", "no line end"}},
		{"other columns than named", "id,a\n1,a\n", with(keyed("id"), columnsAs("id", "a", "b")), []string{"line 1", "has 2 columns", "columns names 3"}},
		{"mostly malformed", "id,n\n" + many, keyed("id"), []string{"11 of the first 20 rows", "line 11", "1 field where there are 2 columns"}},
		{"all malformed", "id;n,x\n1;a\n2;b\n", keyed("1"), []string{"2 of the first 2 rows", "line 2", `with ";" there are 2`}},
		{"utf-16 without mark", inUTF16("id,n\n1,a\n", binary.LittleEndian), keyed("id"), []string{"UTF-16", "encoding: utf-16le"}},
		{"utf-16 declared without mark", inUTF16("id,n\n1,a\n", binary.LittleEndian), with(keyed("id"), encoded("utf-16")), []string{"no byte order mark"}},
		{"utf-16 cut in a character", inUTF16("\ufeffid,n\n1,a\n", binary.LittleEndian) + "2", keyed("id"), []string{"in the middle of a UTF-16 character"}},
		{"another mark than declared", "\ufeffid,n\n1,a\n", with(keyed("id"), encoded("windows-1252")), []string{"byte order mark of utf-8", "windows-1252"}},
		{"a spreadsheet", "PK\x03\x04...", keyed("id"), []string{".xlsx"}},
		{"cut gzip", gzipped(t, "id,n\n1,a\n")[:20], keyed("id"), []string{"unexpected EOF"}},
		{"more left out than there is", "id\n1\n", with(keyed("id"), skipping(3)), []string{"no more lines"}},
		{"all of it footer", "id\n1\n2\n", with(keyed("id"), func(o *Options) { o.FooterLines = 2 }), []string{"no rows"}},
		{"no header and no rows", "", with(keyed("1"), headless), []string{"the file is empty"}},
		{"comments alone", "#a\n\n", with(keyed("1"), headless, func(o *Options) { o.Comment = "#" }), []string{"comments alone"}},
	}
	for _, test := range tests {
		path := feedFile(t, test.text)
		r, err := walkAll(t, open(t, path, test.set), "")
		if err == nil {
			t.Errorf("%s: it was read: %q", test.name, rows(r.records))
			continue
		}
		for _, want := range append(test.want, path) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q, want %q in it", test.name, err, want)
			}
		}
	}
}

// What is near to being refused and is not.
func TestNotRefused(t *testing.T) {
	tests := []struct {
		name, text string
		set        func(*Options)
		want       []string
	}{
		{"one column", "id\n1\n", keyed("id"), []string{`1 {"id":"1"}`}},
		{"one column with another delimiter in it, by name", "a;b\n1\n", with(keyed("1"), columnsAs("id")), []string{`1 {"id":"1"}`}},
		{"a number as a name comes before a position", "2,1\nx,y\n", keyed("1"), []string{`y {"2":"x","1":"y"}`}},
		{"half malformed", "id,n\n" + strings.Repeat("1\n", 10) + strings.Repeat("1,2\n", 10), keyed("id"), nil},
		{"sep= with skip_lines", "sep=;\nx\nid;n\n1;a\n", with(keyed("id"), skipping(2)), []string{`1 {"id":"1","n":"a"}`}},
		{"sep= in quotes", "\"sep=;\"\nid;n\n1;a\n", keyed("id"), []string{`1 {"id":"1","n":"a"}`}},
		{"sep= before a tab", "sep=\t\r\nid\tn\r\n1\ta\r\n", keyed("id"), []string{`1 {"id":"1","n":"a"}`}},
		{"footer without line end", "id,n\n1,a\n\nTOTAL 1\n(c) vendor", with(keyed("id"), func(o *Options) { o.FooterLines = 2 }), []string{`1 {"id":"1","n":"a"}`}},
		{"footer before blank lines", "id,n\n1,a\nTOTAL\n\n\r\n", with(keyed("id"), func(o *Options) { o.FooterLines = 1 }), []string{`1 {"id":"1","n":"a"}`}},
		{"no file content where that is allowed", "", with(keyed("1"), headless, allowEmpty), []string{}},
	}
	for _, test := range tests {
		r, err := walkAll(t, open(t, feedFile(t, test.text), test.set), "")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := rows(r.records); test.want != nil && fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "*.csv"), filepath.Join(dir, "x.csv")} {
		if r, err := walkAll(t, open(t, path, with(keyed("id"), allowEmpty)), ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a listing of %s: %q, %v; want an error that names it", path, rows(r.records), err)
		}
		if _, err := walkAll(t, open(t, path, with(keyed("id"), func(o *Options) { o.Listing = false })), ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("increments of %s: %v; want an error that names it", path, err)
		}
	}
	if _, err := walkAll(t, open(t, dir, with(keyed("id"), allowEmpty, func(o *Options) { o.Listing = false })), ""); err == nil || !strings.Contains(err.Error(), "not modified") {
		t.Errorf("an empty folder of increments, which is allowed: %v, want ErrNotModified", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := walkAll(t, open(t, os.DevNull, keyed("id")), ""); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("a device: %v, want that it is not a regular file", err)
	}
}
