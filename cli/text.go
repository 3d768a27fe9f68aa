package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/syncdhq/syncd/internal/store"
)

// clip cuts a text to n characters for a column.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(oneLine(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}

// block keeps the lines of a text and indents all but the first.
func block(s, indent string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
	for i, line := range lines {
		lines[i] = oneLine(line)
	}
	return strings.Join(lines, "\n"+indent)
}

// printable reports whether bytes can be shown as text: UTF-8 in which every
// character is seen, or is a tab or the end of a line.
func printable(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsFunc(strings.ReplaceAll(string(b), "\r\n", "\n"), func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t'
	})
}

// count spells a number of things: "1 source", "2 sources".
func count[N int | int64](n N, thing string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(thing, "y"); ok {
			thing = stem + "ie"
		}
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// took spells how long a run took, or has taken by now.
func took(r store.Run, now time.Time) string {
	end := r.EndedAt
	if end.IsZero() {
		end = now
	}
	d := end.Sub(r.StartedAt)
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// inZone spells a time with its day, in a zone.
func inZone(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 15:04:05 MST")
}
