package csv

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

func TestBadOptions(t *testing.T) {
	tests := []struct {
		option string
		set    func(*Options)
	}{
		{"path", func(o *Options) { o.Path = "" }},
		{"path", func(o *Options) { o.Path = "https://user:secret@example.com/x.csv" }},
		{"path", func(o *Options) { o.Path = "http://" }},
		{"key", func(o *Options) { o.Key = nil }},
		{"key", func(o *Options) { o.Key = []string{"a", "a"} }},
		{"key", func(o *Options) { o.KeyFrom = "content" }},
		{"key_from", func(o *Options) { o.KeyFrom = "row" }},
		{"key_from", func(o *Options) { o.KeyFrom, o.Key, o.Listing = "line", nil, false }},
		{"delimiter", func(o *Options) { o.Delimiter = "" }},
		{"delimiter", func(o *Options) { o.Delimiter = `"` }},
		{"delimiter", func(o *Options) { o.Delimiter = "\n" }},
		{"delimiter", func(o *Options) { o.Delimiter, o.Encoding = "日", "windows-1252" }},
		{"quote", func(o *Options) { o.Quote = "''" }},
		{"quote", func(o *Options) { o.Quote = "»" }},
		{"encoding", func(o *Options) { o.Encoding = "utf-9" }},
		{"encoding", func(o *Options) { o.Encoding = "replacement" }},
		{"columns", func(o *Options) { o.Columns = []string{"a", "b", "a"} }},
		{"comment", func(o *Options) { o.Comment = `"` }},
		{"comment", func(o *Options) { o.Comment = ",," }},
		{"skip_lines", func(o *Options) { o.SkipLines = -1 }},
		{"footer_lines", func(o *Options) { o.FooterLines = -1 }},
		{"page_rows", func(o *Options) { o.PageRows = 0 }},
		{"max_row", func(o *Options) { o.MaxRow = 0 }},
		{"stream", func(o *Options) { o.Stream = "Orders" }},
		{"mark_format", func(o *Options) { o.MarkFormat = "unix" }},
		{"mark_format", func(o *Options) { o.Mark, o.MarkFormat = "at", "yyyy-mm-dd" }},
		{"mark_format", func(o *Options) { o.Mark, o.MarkFormat = "at", "2006-01-02 MST" }},
		{"zone", func(o *Options) { o.Mark, o.MarkFormat = "at", "2006-01-02" }},
		{"zone", func(o *Options) { o.Zone = "CEST" }},
	}
	client, err := syncd.NewClient("http://unused.invalid", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		o := Defaults()
		o.Path, o.Key = "x.csv", []string{"id"}
		test.set(o)
		_, err := o.Streams(client)
		var bad *syncd.OptionError
		if !errors.As(err, &bad) || bad.Option != test.option || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, want an error of %s", o, err, test.option)
		}
	}
}

func TestStream(t *testing.T) {
	s := open(t, "x.csv", func(o *Options) {
		o.Key, o.Stream, o.Mark, o.MarkFormat = []string{"id"}, "orders", "v", "integer"
	})
	if s.Name != "orders" || s.Order != syncd.Unordered || !s.Snapshot || !s.Sequence || s.Append {
		t.Errorf("%+v", s)
	}
}

func TestResolvePaths(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"feeds/x.csv":             filepath.Join(dir, "feeds", "x.csv"),
		filepath.Join(dir, "a"):   filepath.Join(dir, "a"),
		"https://example.com/x?y": "https://example.com/x?y",
		"":                        "",
	} {
		o := &Options{Path: path}
		if o.ResolvePaths(dir); o.Path != want {
			t.Errorf("%q: %q, want %q", path, o.Path, want)
		}
	}
}

// Every option says what it does, and has its row in the documentation.
func TestDocumented(t *testing.T) {
	page := read(t, filepath.Join("..", "..", "docs", "csv.md"))
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		f := options.Field(i)
		if f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "" {
			t.Errorf("%s: yaml %q, doc %q", f.Name, f.Tag.Get("yaml"), f.Tag.Get("doc"))
		}
		if !strings.Contains(page, "\n| `"+f.Tag.Get("yaml")+"` |") {
			t.Errorf("docs/csv.md has no row for %s", f.Tag.Get("yaml"))
		}
	}
}

// The token of a walk says nothing to one that reads the same bytes otherwise;
// where and how much at a time they are read does not matter.
func TestReading(t *testing.T) {
	base := Defaults()
	base.Path, base.Key = "x.csv", []string{"id"}
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		o := *base
		switch f := reflect.ValueOf(&o).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("other")
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Int:
			f.SetInt(f.Int() + 1)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"other"}))
		default:
			t.Fatalf("%s: the test does not know how to change a %s", options.Field(i).Name, f.Kind())
		}
		name := options.Field(i).Name
		neutral := name == "Path" || name == "Stream" || name == "PageRows" || name == "AllowEmpty"
		if same := o.reading() == base.reading(); same != neutral {
			t.Errorf("%s: the same reading: %v, want %v", name, same, neutral)
		}
	}
}
