package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// An output is how a listing is printed: -o table (for people) or -o json.
type output struct{ format string }

// flag adds -o to a command.
func (o *output) flag(c *cobra.Command) {
	o.format = "table"
	c.Flags().VarP((*format)(&o.format), "output", "o", "`format`: table or json")
	complete(c, "output", words("table", "json"))
}

// A format is checked before the command does anything.
type format string

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }
func (f *format) Set(s string) error {
	if s != "table" && s != "json" {
		return errors.New("it is table or json")
	}
	*f = format(s)
	return nil
}

// print writes v as JSON, or what table writes.
func (o *output) print(w io.Writer, v any, table func(w io.Writer)) error {
	if o.format != "json" {
		table(w)
		return nil
	}
	text, err := encode(v, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// tabulate writes rows in columns under a header.
func tabulate(w io.Writer, header []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}

// oneLine keeps a cell from breaking its table, or the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			return ' '
		}
		return r
	}, s)
}

// obeyed reports whether a terminal obeys a character rather than showing it:
// the control characters, and those that turn the direction of writing.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// inert escapes in a JSON text what a terminal would obey, line ends aside.
// The value stays the same: such characters can only stand in strings.
func inert(text []byte) []byte {
	if bytes.IndexFunc(text, func(r rune) bool { return r != '\n' && obeyed(r) }) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if r != '\n' && obeyed(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// when spells a time for people: local, to the second, or "-".
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// ago spells how long before now a time was: "3m ago", "in 12s".
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// span spells a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// or returns s, or other if s is empty.
func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
