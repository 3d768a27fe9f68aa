package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// exportVersion is raised when a reader of exports must change.
const exportVersion = 1

// An export writes what there is about a user, a JSON object in each line. It
// holds a page of rows at a time.
//
// Every line but the first and the last begins {"table":"...". The first says
// what the file is, the last how many lines there are of each table.
type export struct {
	s         store.Store
	user      string
	providers []string
	terminal  bool             // it obeys control characters
	moved     func(rows int64) // so many rows are written
	lines     map[string]int64 // by table
	total     int64
	w         *bufio.Writer
}

// exportedAtOnce is how many records are in memory at once: each can be as large
// as an answer of its provider.
const exportedAtOnce = 100

func (e *export) write(ctx context.Context, w io.Writer) error {
	e.w = bufio.NewWriterSize(w, 1<<16)
	now, err := e.s.Now(ctx)
	if err != nil {
		return err
	}
	err = e.line(struct {
		Version int       `json:"syncd_export"`
		User    string    `json:"user"`
		At      time.Time `json:"at"`
		By      string    `json:"by"`
	}{exportVersion, e.user, now, "syncd " + version()}, nil)
	for _, part := range []func(context.Context) error{e.sources, e.credentials, e.cursors, e.records, e.rejects, e.runs, e.changes, e.events} {
		if err == nil {
			err = part(ctx)
		}
	}
	if err == nil {
		err = e.line(struct {
			End  bool             `json:"end"`
			Rows map[string]int64 `json:"rows"`
		}{true, e.lines}, nil)
	}
	if err == nil {
		err = e.w.Flush()
	}
	return err
}

// row writes a row of a table; data is JSON text that is written as it is.
func (e *export) row(table string, v any, data []byte) error {
	e.lines[table]++
	e.total++
	e.moved(e.total)
	return e.line(v, data)
}

// line writes a JSON object, with the member data behind the others if there is
// any. The encoder would not keep its bytes.
func (e *export) line(v any, data []byte) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := inert(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	if data != nil {
		data = oneLineJSON(data)
		if e.terminal {
			data = inert(data)
		}
		text = append(text[:len(text)-1], `,"data":`...)
		text = append(append(text, data...), '}')
	}
	_, err := e.w.Write(append(text, '\n'))
	return err
}

// oneLineJSON puts spaces for the line ends in a JSON text, which can only stand
// between its values.
func oneLineJSON(data []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
}

// all writes rows of a table, each as what line makes of it.
func all[T any](e *export, table string, rows iter.Seq2[T, error], line func(T) any) error {
	for row, err := range rows {
		if err == nil {
			err = e.row(table, line(row), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
