package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/spf13/cobra"
)

// A listing is how rows are printed: in columns for people, up to a limit; for
// programs as one JSON list, of all rows if no limit is given.
type listing struct {
	output
	limit int
	total int // how many rows there are, where that is known
}

// shown is how many rows people see if they ask for no number.
const shown = 50

func (l *listing) flags(c *cobra.Command) {
	l.output.flag(c)
	l.limit = -1
	c.Flags().Var((*limit)(&l.limit), "limit", fmt.Sprintf("at most `N` rows, 0 for all (default %d, with -o json all)", shown))
	complete(c, "limit", words())
}

// A limit is a number of rows; -1 is not given.
type limit int

func (l *limit) Type() string { return "N" }
func (l *limit) String() string {
	if *l < 0 {
		return ""
	}
	return strconv.Itoa(int(*l))
}
func (l *limit) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return errors.New("it is a number of rows, 0 for all")
	}
	*l = limit(n)
	return nil
}

// most returns the limit in force, 0 for none.
func (l *listing) most() int {
	switch {
	case l.limit >= 0:
		return l.limit
	case l.format == "json":
		return 0
	}
	return shown
}

// A column is a part of each row.
type column[T any] struct {
	name string
	cell func(T) string
}

// list prints rows: each as what json makes of it, or in columns. Where there
// is none people read the text `none`.
func list[T any](l *listing, w io.Writer, rows iter.Seq2[T, error], json func(T) any, none string, columns ...column[T]) error {
	if l.format == "json" {
		return listJSON(w, rows, l.most(), json)
	}
	var cells [][]string
	more := false
	for row, err := range rows {
		if err != nil {
			return err
		}
		if more = l.most() > 0 && len(cells) == l.most(); more {
			break
		}
		line := make([]string, len(columns))
		for i, c := range columns {
			line[i] = c.cell(row)
		}
		cells = append(cells, line)
	}
	if len(cells) == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.name
	}
	tabulate(w, header, cells)
	switch {
	case more && l.total > 0:
		fmt.Fprintf(w, "... and %d more (--limit 0 lists all)\n", l.total-len(cells))
	case more:
		fmt.Fprintln(w, "... and more (--limit 0 lists all)")
	}
	return nil
}

// listJSON prints rows as they come, so that a long list needs no memory.
func listJSON[T any](w io.Writer, rows iter.Seq2[T, error], most int, value func(T) any) error {
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if most > 0 && n == most {
			break
		}
		text, err := encode(value(row), "  ")
		if err != nil {
			return err
		}
		before := ",\n  "
		if n == 0 {
			before = "[\n  "
		}
		if _, err := fmt.Fprintf(w, "%s%s", before, text); err != nil {
			return err
		}
		n++
	}
	end := "\n]"
	if n == 0 {
		end = "[]"
	}
	_, err := fmt.Fprintln(w, end)
	return err
}

// encode returns a value as JSON, its lines after the first behind a prefix.
func encode(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return inert(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// each returns rows that cannot fail.
func each[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
