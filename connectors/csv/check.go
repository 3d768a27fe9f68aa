package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/syncdhq/syncd"
)

// How many rows say whether a file is what the options take it for.
const tried = 100

// tryRows refuses a file without rows, and one whose first rows are malformed
// for the most part: then not the rows are wrong but the options, or the file.
func (t *table) tryRows() error {
	s := t.splitter(t.first, t.firstLine)
	rows, bad := 0, 0
	var cause error
	for rows < tried {
		sp, err := nextRow(s)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		rows++
		if err := t.malformed(sp); err != nil {
			bad++
			if cause == nil {
				cause = err
				if hint := t.hint(sp); hint != "" && sp.bad == nil {
					cause = fmt.Errorf("%w%s", err, hint)
				}
			}
		}
	}
	switch {
	case rows == 0 && !t.plan.AllowEmpty:
		return errors.New("the file has a header at most and no rows (allow_empty)")
	case bad == rows && rows > 1, bad > rows/2 && rows >= 20:
		return fmt.Errorf("%d of the first %d rows are malformed: %w", bad, rows, cause)
	}
	return nil
}

// malformed returns why a row is not one, as an *syncd.RejectError.
func (t *table) malformed(sp span) error {
	if sp.bad != nil {
		return sp.bad
	}
	if got, want := len(sp.fields), len(t.columns); got != want {
		return syncd.Reject("wrong_field_count", "line %d: %s where there are %s", sp.line, count(got, "field"), count(want, "column"))
	}
	return t.legible(sp)
}

// legible refuses bytes that are no text.
func (t *table) legible(sp span) error {
	i := t.charset.fault(sp.raw)
	if i >= 0 {
		line, column := place(sp, t.newline, i)
		reason, found := "invalid_encoding", fmt.Sprintf("0x%02x", sp.raw[i])
		switch {
		case t.charset.whole == nil && t.charset.table == nil:
			reason = "invalid_utf8"
		case t.charset.whole != nil: // it was decoded before it was split
			return syncd.Reject(reason, "line %d: a character that is not %s", line, t.charset.String())
		}
		return syncd.Reject(reason, "line %d, byte %d: %s is not %s; the file's encoding may be another (encoding)", line, column, found, t.charset.String())
	}
	if i := bytes.IndexByte(sp.raw, 0); i >= 0 {
		line, column := place(sp, t.newline, i)
		return syncd.Reject("nul_byte", "line %d, byte %d: a NUL, which no database keeps in text", line, column)
	}
	return nil
}

// place returns the line of the byte at i of a row, and its number in that
// line, from 1.
func place(sp span, newline byte, i int) (line int64, column int) {
	before := sp.raw[:i]
	line = sp.line + int64(bytes.Count(before, []byte{newline}))
	return line, i - bytes.LastIndexByte(before, newline)
}

// findFooter finds where the lines at the end begin that the options leave
// out: so many, not counting blank ones.
func (t *table) findFooter() error {
	at := t.end
	for t.footer < t.plan.FooterLines && at > t.first {
		start, line, err := t.lineBefore(at)
		if err != nil {
			return err
		}
		if at = start; strings.TrimSpace(line) != "" {
			t.footer++
			t.last = at
		}
	}
	return nil
}

// lineBefore returns the start of the line that ends at `at`, and the line, of
// which the last chunk is enough.
func (t *table) lineBefore(at int64) (int64, string, error) {
	text := ""
	for pos := at; pos > t.first; {
		b := make([]byte, min(chunk, pos-t.first))
		if _, err := t.file.ReadAt(b, pos-int64(len(b))); err != nil {
			return 0, "", err
		}
		pos -= int64(len(b))
		body := b
		if pos+int64(len(b)) == at {
			body = b[:len(b)-1] // its own line end
		}
		if i := bytes.LastIndexByte(body, t.newline); i >= 0 {
			return pos + int64(i) + 1, string(b[i+1:]) + text, nil
		}
		if len(text) < chunk {
			text = string(b) + text
		}
	}
	return t.first, text, nil
}
