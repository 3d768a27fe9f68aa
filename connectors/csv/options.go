package csv

import (
	"path/filepath"
	"strings"
)

// Options are the settings of one feed.
type Options struct {
	Path string `yaml:"path" doc:"a file, a glob, a folder (its .csv, .tsv, .tab, .psv and .txt files, each also with .gz), or an http or https URL; relative to the configuration's folder"`

	Key     []string `yaml:"key" doc:"the columns that identify a row, one or more: names, or positions counted from 1"`
	KeyFrom string   `yaml:"key_from" doc:"columns: the id is the key's values; content: it is a hash of the row, so a changed row is a new record and equal rows are one; line: it is the line number, so a row inserted on top changes every record below it"`

	Delimiter string   `yaml:"delimiter" doc:"what stands between fields; tab for a tab. A first line sep=; is honoured"`
	Quote     string   `yaml:"quote" doc:"what stands around fields that hold the delimiter or a line end, doubled inside them; empty: nothing does"`
	Encoding  string   `yaml:"encoding" doc:"utf-8 (strict), utf-16 (by its byte order mark), utf-16le, utf-16be, windows-1252 or another label of encoding.spec.whatwg.org; never guessed"`
	Header    bool     `yaml:"header" doc:"the first row names the columns"`
	Columns   []string `yaml:"columns" doc:"names for the columns by position; with header: true they replace the names in the file"`
	Comment   string   `yaml:"comment" doc:"lines that begin with it are no rows"`

	SkipLines   int `yaml:"skip_lines" doc:"lines before the header or the first row to leave out"`
	FooterLines int `yaml:"footer_lines" doc:"lines at the end to leave out, blank ones not counted; a file cut short between two lines loses as many rows without a word"`

	Mark       string `yaml:"mark" doc:"the column that says when a row changed, so that an older one never overwrites a newer one: a time, or a whole number that grows"`
	MarkFormat string `yaml:"mark_format" doc:"empty: RFC 3339 or the same without offset; integer; unix; unix_ms; or a layout of Go's time package, such as 02.01.2006 15:04"`
	Zone       string `yaml:"zone" doc:"the zone of times that have no offset, such as Europe/Berlin"`

	Delete       string   `yaml:"delete" doc:"the column that says that a row is gone"`
	DeleteValues []string `yaml:"delete_values" doc:"its values that mean so; any other means that the row is there"`

	AllowEmpty        bool `yaml:"allow_empty" doc:"a file without rows is right: in a complete listing it means that every record is gone"`
	AllowUnterminated bool `yaml:"allow_unterminated" doc:"a last line without line end is whole; a file that is cut inside its last field then passes"`
	Listing           bool `yaml:"listing" doc:"true: the files together are everything there is; false: each file is an increment, read once"`

	PageRows int    `yaml:"page_rows" doc:"rows committed at a time"`
	MaxRow   int    `yaml:"max_row" doc:"bytes of the longest row; a longer one is set aside"`
	Stream   string `yaml:"stream" doc:"the stream's name, the first part of every external id"`
}

// Defaults returns the options as they are where the configuration is silent.
func Defaults() *Options {
	return &Options{
		KeyFrom:      fromColumns,
		Delimiter:    ",",
		Quote:        `"`,
		Encoding:     "utf-8",
		Header:       true,
		DeleteValues: []string{"1", "true", "yes", "y", "deleted"},
		Listing:      true,
		PageRows:     1000,
		MaxRow:       1 << 20,
		Stream:       "rows",
	}
}

// Where ids come from.
const (
	fromColumns = "columns"
	fromContent = "content"
	fromLine    = "line"
)

// ResolvePaths makes a relative path relative to dir, the configuration's folder.
func (o *Options) ResolvePaths(dir string) {
	if o.Path != "" && !isURL(o.Path) && !filepath.IsAbs(o.Path) {
		o.Path = filepath.Join(dir, o.Path)
	}
}

func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}
