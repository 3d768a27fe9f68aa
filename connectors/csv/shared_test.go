package csv

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd/internal/casebook"
)

// An outcome is what a file is to give: rows and rejects as rows spells them
// (nil: only their numbers count), or an error that has all of refused in it.
type outcome struct {
	set     func(*Options)
	rows    []string
	records int // where rows is nil
	rejects []string
	refused []string
}

func (want outcome) check(t *testing.T, path string) {
	t.Helper()
	r, err := walkAll(t, open(t, path, want.set), "")
	if want.refused != nil {
		if err == nil {
			t.Fatalf("it was read: %q, want an error", rows(r.records))
		}
		for _, text := range append(want.refused, path) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("error %q, want %q in it", err, text)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var rejects, read []string
	for _, x := range rows(r.records) {
		if strings.HasPrefix(x, "!") {
			rejects = append(rejects, x)
		} else {
			read = append(read, x)
		}
	}
	if want.rows == nil && len(read) != want.records {
		t.Errorf("%d rows were read, want %d", len(read), want.records)
	}
	if want.rows != nil {
		if diff := cmp.Diff(want.rows, read); diff != "" {
			t.Errorf("rows: -want +got\n%s", diff)
		}
	}
	if diff := cmp.Diff(want.rejects, rejects); diff != "" {
		t.Errorf("rejects: -want +got\n%s", diff)
	}
}

// with puts options together.
func with(sets ...func(*Options)) func(*Options) {
	return func(o *Options) {
		for _, set := range sets {
			set(o)
		}
	}
}

func delimited(by string) func(*Options)       { return func(o *Options) { o.Delimiter = by } }
func encoded(in string) func(*Options)         { return func(o *Options) { o.Encoding = in } }
func skipping(lines int) func(*Options)        { return func(o *Options) { o.SkipLines = lines } }
func columnsAs(names ...string) func(*Options) { return func(o *Options) { o.Columns = names } }
func unterminated(o *Options)                  { o.AllowUnterminated = true }
func headless(o *Options)                      { o.Header = false }
func allowEmpty(o *Options)                    { o.AllowEmpty = true }

func TestFaultCases(t *testing.T) {
	id := keyed("id")
	tests := []struct {
		file string
		want outcome
	}{
		{"CSV-01.csv", outcome{set: id, rows: []string{`1 {"id":"1","name":"a"}`, `2 {"id":"2","name":"b"}`}}},
		{"CSV-01-quoted.csv", outcome{set: id, rows: []string{`1 {"id":"1","name":"a"}`}}},
		{"CSV-02.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"a\r\nb"}`, `2 {"id":"2","n":"c\"d"}`}}},
		{"CSV-04.csv", outcome{set: id, rows: []string{`2 {"id":"2","n":"ok"}`}, rejects: []string{"! line 2 bare_quote"}}},
		{"CSV-05.csv", outcome{set: id, rows: []string{`3 {"id":"3","n":"d"}`}, rejects: []string{"! line 2 wrong_field_count", "! line 3 wrong_field_count"}}},
		{"CSV-06.csv", outcome{set: id, refused: []string{"line 1", `"amount" twice`}}},
		{"CSV-06.csv", outcome{set: with(id, columnsAs("id", "net", "gross")), rows: []string{`1 {"id":"1","net":"10","gross":"20"}`}}},
		{"CSV-08.csv", outcome{set: id, refused: []string{"line 2, byte 4", "0xfc", "not utf-8", "encoding"}}},
		{"CSV-08.csv", outcome{set: with(id, encoded("windows-1252")), rows: []string{`1 {"id":"1","name":"Müller","price":"5 €"}`, `2 {"id":"2","name":"O’Neil","price":"6"}`}}},
		{"CSV-09.csv", outcome{set: with(id, delimited(";")), rows: []string{`1 {"id":"1","price":"1,50","note":"a, b, c"}`, `2 {"id":"2","price":"2,00","note":"x;y"}`}}},
		{"CSV-09.csv", outcome{set: id, refused: []string{"line 1", "1 column", `with ";" there are 3`}}},
		{"CSV-09-sep.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"a"}`}}},
		{"CSV-10.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"ü"}`}}},
		{"CSV-12.csv", outcome{set: id, refused: []string{"the file is empty"}}},
		{"CSV-12.csv", outcome{set: with(id, allowEmpty), refused: []string{"the file is empty"}}},
		{"CSV-13.csv", outcome{set: id, refused: []string{"no rows", "allow_empty"}}},
		{"CSV-13.csv", outcome{set: with(id, allowEmpty), records: 0}},
		{"CSV-13-bom-only.csv", outcome{set: id, refused: []string{"the file is empty"}}},
		{"CSV-14.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"a","amt":"1000"}`}, rejects: []string{"! line 3 unterminated_line"}}},
		{"CSV-16-a.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"aaa"}`}}}, // one after the other: TestContentDecides
		{"CSV-16-b.csv", outcome{set: id, rows: []string{`2 {"id":"2","n":"bbb"}`}}},
		{"CSV-18.csv", outcome{set: byLine, rows: []string{`4 {"id":"1","n":"a"}`}}},
		{"CSV-20.csv", outcome{set: id, rows: []string{`007 {"id":"007","n":"a"}`, `0010 {"id":"0010","n":"c"}`}, rejects: []string{"! line 3 scientific_id"}}},
		{"CSV-21.csv", outcome{set: id, rows: []string{`1 {"id":"1","n":"a"}`, `1 {"id":"1","n":"b"}`}}}, // the later one wins at ingest
		{"CSV-22.csv", outcome{set: with(id, delimited(";")), rows: []string{`1 {"id":"1","n":"a"}`}, rejects: []string{"! line 4 wrong_field_count"}}},
		{"CSV-22.csv", outcome{set: with(id, delimited(";"), func(o *Options) { o.FooterLines = 1 }), rows: []string{`1 {"id":"1","n":"a"}`}}},
	}
	dir := casebook.Shared(t, "faults", "cases")
	known := map[string]bool{}
	for i, test := range tests {
		known[test.file] = true
		t.Run(fmt.Sprint(i, " ", test.file), func(t *testing.T) { test.want.check(t, filepath.Join(dir, test.file)) })
	}
	complete(t, dir, "CSV-*.csv", known)
}

// complete fails for files that no test is about.
func complete(t *testing.T, dir, pattern string, known map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, f := range files {
		if !known[filepath.Base(f)] {
			t.Errorf("%s has no row in the table", f)
		}
	}
}

// A listing whose last line is held back is not finished: the same file is read
// again, and so is the one before it if that comes back.
func TestHeldBack(t *testing.T) {
	const whole = "id,n\n1,a\n"
	path := feedFile(t, whole)
	first := mustWalk(t, open(t, path, keyed("id")), "")
	write(t, path, "id,n\n1,b\n2")
	cut := mustWalk(t, open(t, path, keyed("id")), first.sync)
	if len(cut.notes) != 1 || !strings.Contains(cut.notes[0], "line 3") {
		t.Errorf("notes: %q, want one that names line 3", cut.notes)
	}
	if r := mustWalk(t, open(t, path, keyed("id")), cut.sync); len(r.records) != 2 {
		t.Errorf("once more: %d records, want 2", len(r.records))
	}
	write(t, path, whole)
	if r := mustWalk(t, open(t, path, keyed("id")), cut.sync); len(r.records) != 1 {
		t.Errorf("the earlier file again: %d records, want 1", len(r.records))
	}
}

func TestSpectrum(t *testing.T) {
	dir := casebook.Shared(t, "data", "csv-spectrum")
	files, err := filepath.Glob(filepath.Join(dir, "csvs", "*.csv"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		t.Run(name, func(t *testing.T) {
			text := read(t, file)
			want := expected(t, filepath.Join(dir, "json", name+".json"))
			set := with(byLine, unterminated)
			switch {
			case strings.HasSuffix(name, "_crlf") && !strings.Contains(text, "\r\n"):
				// The line ends of this copy were converted; the expected values have those of the original.
				text = strings.ReplaceAll(text, "\n", "\r\n")
			case name == "location_coordinates":
				// It has quotes inside unquoted fields. And the expected phone number is not that of the file.
				set = with(set, func(o *Options) { o.Quote = "" })
				want[0]["Contact Phone Number"] = "2095257564"
			}
			r := mustWalk(t, open(t, feedFile(t, text), set), "")
			var got []map[string]string
			for _, x := range r.records {
				if x.Err != nil {
					t.Fatal(x.Err)
				}
				var values map[string]string
				if err := json.Unmarshal(x.Data, &values); err != nil {
					t.Fatal(err)
				}
				got = append(got, values)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// expected reads a list of objects, or one object.
func expected(t *testing.T, path string) []map[string]string {
	t.Helper()
	text := strings.TrimSpace(read(t, path))
	if strings.HasPrefix(text, "{") {
		text = "[" + text + "]"
	}
	var want []map[string]string
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// Files that other projects have met, with what becomes of each under options
// as an operator would set them.
func TestFilesOfOthers(t *testing.T) {
	abc := []string{`2 {"a":"1","b":"2","c":"3"}`}
	held := []string{"! line 3 unterminated_line"}
	tests := map[string][]outcome{
		"csvkit/Datagov_FY10_EDU_recp_by_State.csv": {
			{set: byLine, refused: []string{"line 1", `"" twice`}},
			{set: with(keyed("State Abbreviate"), skipping(2)), records: 53, rejects: []string{"! line 57 missing_external_id", "! line 58 missing_external_id"}},
		},
		"csvkit/FY09_EDU_Recipients_by_State.csv": {{set: keyed("State Abbreviate"), records: 52, rejects: []string{"! line 54 missing_external_id"}}},
		"csvkit/acs2012_5yr_population.csv":       {{set: keyed("fips"), records: 93}},
		"csvkit/bad.csv":                          {{set: byLine, rows: []string{`4 {"column_a":"0","column_b":"mixed types.... uh oh","column_c":"17"}`}, rejects: []string{"! line 2 wrong_field_count", "! line 3 wrong_field_count"}}},
		"csvkit/bad_skip_lines.csv":               {{set: with(byLine, skipping(3)), records: 1, rejects: []string{"! line 5 wrong_field_count", "! line 6 wrong_field_count"}}},
		"csvkit/blanks.csv":                       {{set: byLine, rows: []string{`2 {"a":"","b":"NA","c":"N/A","d":"NONE","e":"NULL","f":"."}`}}},
		"csvkit/blanks_converted.csv": {
			{set: byLine, rows: []string{`2 {"a":"","b":"","c":"","d":"","e":"","f":""}`}},
			{set: keyed("a"), rejects: []string{"! line 2 missing_external_id"}},
		},
		"csvkit/date_like_number.csv":          {{set: byLine, rows: []string{`2 {"a":"4.5"}`}}},
		"csvkit/dummy.tsv":                     {{set: with(byLine, delimited("tab")), rows: abc}, {set: byLine, refused: []string{"line 1", "1 column", `with "\t" there are 3`}}},
		"csvkit/dummy_col_shuffled_ragged.csv": {{set: keyed("a"), rows: []string{`1 {"b":"2","c":"3","a":"1","d":"4"}`}}},
		"csvkit/empty.csv":                     {{set: byLine, refused: []string{"blank lines"}}},
		"csvkit/join_no_header_row.csv":        {{set: with(byLine, headless), records: 4}},
		"csvkit/mac_newlines.csv":              {{set: byLine, rows: []string{`2 {"a":"1","b":"2","c":"3"}`, `3 {"a":"Once upon\ra time","b":"5","c":"6"}`}}},
		"csvkit/no_header_row.csv": {
			{set: with(keyed("2"), headless), rows: []string{`2 {"1":"1","2":"2","3":"3"}`}},
			{set: byLine, refused: []string{"no rows"}},
		},
		"csvkit/no_header_row2.csv":               {{set: with(keyed("y"), headless, columnsAs("x", "y", "z")), rows: []string{`5 {"x":"4","y":"5","z":"6"}`}}},
		"csvkit/no_header_row3.csv":               {{set: with(keyed("1", "3"), headless), rows: []string{`1/3 {"1":"1","2":"2","3":"3"}`, `4/6 {"1":"4","2":"5","3":"6"}`}}},
		"csvkit/null_byte.csv":                    {{set: byLine, rejects: []string{"! line 2 nul_byte"}}},
		"csvkit/optional_quote_characters.csv":    {{set: byLine, rows: abc}},
		"csvkit/test_empty_columns.csv":           {{set: byLine, refused: []string{"line 1", `"" twice, as columns 4 and 5`}}, {set: with(byLine, columnsAs("a", "b", "c", "d", "e")), records: 2, rejects: []string{"! line 3 wrong_field_count"}}},
		"csvkit/test_empty_columns_long_row.csv":  {{set: byLine, rejects: []string{"! line 2 wrong_field_count"}}},
		"csvkit/test_empty_columns_short_row.csv": {{set: byLine, rejects: []string{"! line 2 wrong_field_count"}}},
		"csvkit/test_extra_header.csv":            {{set: byLine, rejects: []string{"! line 2 wrong_field_count"}}},
		"csvkit/test_geo.csv":                     {{set: keyed("slug"), records: 17}},
		"csvkit/test_header_newline.csv":          {{set: byLine, rows: []string{`5 {"\t\n\u000b\u000c\r start \t\n\u000b\u000c\r end \t\n\u000b\u000c\r":"d","b":"e","c":"f"}`}}},
		"csvkit/test_join_short_rows.csv":         {{set: byLine, rows: []string{`4 {"a":"3","b":"b","c":"c"}`}, rejects: []string{"! line 2 wrong_field_count", "! line 3 wrong_field_count"}}},
		"csvkit/test_latin1.csv": {
			{set: with(byLine, encoded("latin1"), unterminated), rows: append(slices.Clone(abc), `3 {"a":"4","b":"5","c":"©"}`)},
			{set: with(byLine, unterminated), rows: abc, rejects: []string{"! line 3 invalid_utf8"}},
		},
		"csvkit/test_locale.csv":              {{set: byLine, rows: []string{`2 {"a":"1,7","b":"200.000.000","c":""}`}}},
		"csvkit/test_locale_converted.csv":    {{set: byLine, rows: []string{`2 {"a":"1.7","b":"200000000","c":""}`}}},
		"csvkit/test_numeric_date_format.csv": {{set: keyed("a"), rows: []string{`20140102 {"a":"20140102"}`, `20121231 {"a":"20121231"}`}}},
		"csvkit/test_precision.csv":           {{set: byLine, rejects: []string{"! line 2 unterminated_line"}}, {set: with(byLine, unterminated), rows: []string{`2 {"a":"1.234567"}`}}},
		"csvkit/test_skip_lines.csv":          {{set: with(byLine, skipping(3)), rows: []string{`5 {"a":"1","b":"2","c":"3"}`}}, {set: byLine, rows: []string{`5 {"a":"1","b":"2","c":"3"}`}}},
		"csvkit/test_utf16_big.csv":           {{set: byLine, rows: abc, rejects: held}, {set: with(byLine, unterminated), rows: append(slices.Clone(abc), `3 {"a":"4","b":"5","c":"ʤ"}`)}},
		"csvkit/test_utf16_little.csv":        {{set: byLine, rows: abc, rejects: held}, {set: with(byLine, unterminated), rows: append(slices.Clone(abc), `3 {"a":"4","b":"5","c":"ʤ"}`)}},
		"csvkit/test_utf8.csv":                {{set: keyed("foo"), records: 1, rejects: held}, {set: with(keyed("foo"), unterminated), rows: []string{`1 {"foo":"1","bar":"2","baz":"3"}`, `4 {"foo":"4","bar":"5","baz":"ʤ"}`}}},
		"csvkit/test_utf8_bom.csv":            {{set: keyed("foo"), rows: []string{`1 {"foo":"1","bar":"2","baz":"3"}`, `4 {"foo":"4","bar":"5","baz":"ʤ"}`}}},
		"papaparse/long-sample.csv": {
			{set: with(byLine, headless), records: 7, rejects: []string{"! line 8 unterminated_line"}},
			{set: with(byLine, headless, unterminated), records: 8},
		},
		"papaparse/malformed.tsv":        {{set: with(keyed("site"), delimited("tab"), unterminated), refused: []string{"line 9", "never closed"}}},
		"papaparse/sample-header.csv":    {{set: keyed("name"), rows: []string{`test name 01 {"title":"test title 01","name":"test name 01"}`, `test name 02 {"title":"","name":"test name 02"}`}}},
		"papaparse/utf-8-bom-sample.csv": {{set: keyed("A"), rows: []string{`X {"A":"X","B":"Y","C":"Z"}`}}},
	}
	for name, outcomes := range tests {
		for i, want := range outcomes {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				want.check(t, casebook.Shared(t, append([]string{"data"}, strings.Split(name, "/")...)...))
			})
		}
	}
	for _, dir := range []string{"csvkit", "papaparse"} {
		known := map[string]bool{}
		for name := range tests {
			known[strings.TrimPrefix(name, dir+"/")] = true
		}
		complete(t, casebook.Shared(t, "data", dir), "*.?sv", known)
	}
}
