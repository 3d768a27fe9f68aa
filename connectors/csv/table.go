package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A table is one input opened as rows with named columns.
type table struct {
	*content
	plan    *plan
	dialect dialect
	columns []string
	keys    [][]byte // `{"a":"`, `","b":"`: what stands before each value
	id      []int    // the key's columns
	mark    int      // column, -1: none
	gone    int      // column, -1: none

	first     int64 // offset of the first row, or of what is blank before it
	firstLine int64
	last      int64 // where the rows end and the footer begins
	footer    int   // lines left out there

	values [][]byte // of the row at hand
}

// openTable opens an input and checks what must hold for the file as a whole.
// It does the same each time, wherever reading goes on. The caller closes it.
func openTable(ctx context.Context, in *input, p *plan) (*table, error) {
	c, err := in.content(ctx, p.charset)
	if err != nil {
		return nil, named(in, err)
	}
	t := &table{content: c, plan: p, dialect: p.dialect, mark: -1, gone: -1, last: c.end}
	for _, step := range []func() error{t.readHeader, t.findColumns, t.findFooter, t.tryRows} {
		if err := step(); err != nil {
			c.close()
			return nil, named(in, err)
		}
	}
	return t, nil
}

// named says which input an error is of.
func named(in *input, err error) error { return fmt.Errorf("read %s: %w", in.name, err) }

// splitter returns a splitter of the table's rows from off on.
func (t *table) splitter(off, line int64) *splitter {
	return newSplitter(t.dialect, t.file, off, t.last, line)
}

// readHeader finds the first row and the names of the columns.
func (t *table) readHeader() error {
	if t.start >= t.end {
		if t.plan.AllowEmpty && !t.plan.Header {
			t.first, t.firstLine, t.columns = t.end, 1, t.plan.Columns
			t.dialect.newline = '\n'
			return nil
		}
		return errors.New("the file is empty")
	}
	t.dialect.newline = t.newline
	s, err := t.skipLines()
	if err != nil {
		return err
	}
	t.first, t.firstLine = s.offset(), s.line
	sp, err := nextRow(s)
	switch {
	case err == io.EOF && !t.plan.Header && t.plan.AllowEmpty:
		t.columns = t.plan.Columns
		return nil
	case err == io.EOF:
		return errors.New("the file has blank lines and comments alone")
	case err != nil:
		return err
	}
	if !t.plan.Header {
		if t.columns = slices.Clone(t.plan.Columns); len(t.columns) > 0 {
			return nil
		}
		if sp.bad != nil {
			return fmt.Errorf("the first row tells how many columns there are: %w", sp.bad)
		}
		for i := range sp.fields {
			t.columns = append(t.columns, strconv.Itoa(i+1))
		}
		return t.oneColumn(sp)
	}
	t.first, t.firstLine = s.offset(), s.line
	return t.header(sp)
}

// skipLines honours a first line sep=; and leaves out the lines that the
// options say.
func (t *table) skipLines() (*splitter, error) {
	s := newSplitter(t.dialect, t.file, t.start, t.end, 1)
	skip := t.plan.SkipLines
	sp, err := s.nextLine()
	if err != nil {
		return nil, err
	}
	line := strings.Trim(string(bytes.TrimRight(sp.raw[:min(len(sp.raw), 32)], "\r\n")), `"`)
	if text, ok := strings.CutPrefix(strings.ToLower(line), "sep="); ok && len(text) == 1 && text[0] != t.dialect.quote {
		t.dialect.delimiter = []byte(text)
		skip = max(skip, 1)
	}
	s = newSplitter(t.dialect, t.file, t.start, t.end, 1)
	for range skip {
		if _, err := s.nextLine(); err == io.EOF {
			return nil, fmt.Errorf("the file has no more lines than are left out on top (%d)", skip)
		} else if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// nextRow returns the next span that is a row.
func nextRow(s *splitter) (span, error) {
	for {
		sp, err := s.next()
		if err != nil || sp.kind == rowKind {
			return sp, err
		}
	}
}

func (t *table) header(sp span) error {
	if sp.bad != nil {
		return fmt.Errorf("the header: %w", sp.bad)
	}
	if !sp.ended && !t.plan.AllowUnterminated {
		return fmt.Errorf("line %d: the header has no line end, so it may have been cut (allow_unterminated)", sp.line)
	}
	if err := t.legible(sp); err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	var names []string
	for _, f := range sp.fields {
		names = append(names, string(t.charset.text(f)))
	}
	if given := t.plan.Columns; len(given) > 0 {
		if len(given) != len(names) {
			return fmt.Errorf("line %d: the header has %s, and columns names %d%s", sp.line, count(len(names), "column"), len(given), t.hint(sp))
		}
		t.columns = slices.Clone(given)
		return nil
	}
	t.columns = names
	if err := t.oneColumn(sp); err != nil {
		return err
	}
	for i, n := range names {
		if first := slices.Index(names, n); first < i {
			return fmt.Errorf("line %d: the header has %q twice, as columns %d and %d; name the columns by position (columns)", sp.line, n, first+1, i+1)
		}
	}
	return nil
}

// oneColumn refuses a first row of one column that has several by another delimiter.
func (t *table) oneColumn(sp span) error {
	if len(sp.fields) == 1 {
		if hint := t.hint(sp); hint != "" {
			return fmt.Errorf("line %d: 1 column with the delimiter %q%s", sp.line, t.dialect.delimiter, hint)
		}
	}
	return nil
}

// hint names the delimiter that splits the row into more fields.
func (t *table) hint(sp span) string {
	best, most := "", max(len(sp.fields), 1)
	for _, delimiter := range []string{",", ";", "\t", "|"} {
		d := t.dialect
		d.delimiter = []byte(delimiter)
		other, err := newSplitter(d, bytes.NewReader(sp.raw), 0, int64(len(sp.raw)), sp.line).next()
		if err == nil && len(other.fields) > most {
			best, most = delimiter, len(other.fields)
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; with %q there are %d", best, most)
}

// findColumns finds the columns that the options name.
func (t *table) findColumns() error {
	t.dialect.width = len(t.columns)
	if t.columns == nil {
		return nil // an empty file without header
	}
	for i, name := range t.columns {
		before := []byte(`","`)
		if i == 0 {
			before = []byte(`{"`)
		}
		t.keys = append(t.keys, append(appendText(before, name), `":"`...))
	}
	for _, name := range t.plan.Key {
		i, err := t.column(name, "key")
		if err != nil {
			return err
		}
		if slices.Contains(t.id, i) {
			return fmt.Errorf("the key has column %q twice", t.columns[i])
		}
		t.id = append(t.id, i)
	}
	var err error
	if t.plan.Mark != "" {
		if t.mark, err = t.column(t.plan.Mark, "mark"); err != nil {
			return err
		}
	}
	if t.plan.Delete != "" {
		t.gone, err = t.column(t.plan.Delete, "delete")
	}
	return err
}

// column returns the index of the column with that name, else at that position.
func (t *table) column(name, option string) (int, error) {
	if i := slices.Index(t.columns, name); i >= 0 {
		return i, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(t.columns) {
		return n - 1, nil
	}
	return 0, fmt.Errorf("no column %q for %s; there are %q", name, option, t.columns)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
