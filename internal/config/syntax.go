package config

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// syntaxErrors reports what keeps the file from being YAML. The parser stops at
// the first fault and names its line wrongly or not at all, so the text is
// searched for the usual ones: expressions without quotes and tabs. Only where
// there are none is the parser's own finding reported, at the place up to which
// it had read.
func (d *document) syntaxErrors(cause error) {
	text := plainCause(cause)
	line, column := d.stoppedAt(text)
	found := d.unquoted()
	if len(found) == 0 {
		found = d.tabs(line)
	}
	if len(found) > 0 {
		d.errs = append(d.errs, found...)
		return
	}
	if m := undefinedAnchor.FindStringSubmatch(text); m != nil {
		if at := d.aliasAt(m[1]); at >= 0 {
			line, column = place(d.data, at)
		}
		// The name may be the rest of a secret that begins with *.
		d.addAt(line, column, "a value that begins with * is an alias, and its anchor is not defined", "put the value in quotes")
		return
	}
	if opened := openedAt(d.data, text); opened > 0 {
		line, column = opened, 1+indent(d.line(opened))
	}
	for _, known := range syntaxTexts {
		if strings.Contains(text, known.cause) {
			d.addAt(line, column, "this is not YAML: "+known.message, known.hint)
			return
		}
	}
	d.addAt(line, column, "this is not YAML: "+text, "")
}

// syntaxTexts says in plain words what the parser says in its own.
var syntaxTexts = []struct{ cause, message, hint string }{
	{"mapping values are not allowed", "a colon where there can be none", `check the indentation, and put a value that has ": " in it in quotes`},
	{"cannot start any token", "a value can't begin with this character", "put the value in quotes"},
	{"expected alphabetic or numeric character", "a value that begins with * or & is an alias or an anchor, and lacks its name", "put the value in quotes"},
	{"did not find expected key", "a key is expected here", "check the indentation, and the brackets and quotes before"},
	{"did not find expected '-' indicator", "a list goes on without a dash", "check the indentation"},
	{"did not find expected ','", "a comma or a closing bracket is missing", "check the brackets"},
	{"could not find expected ':'", "a key without a colon", "write KEY: VALUE"},
	{"unexpected end of stream", "a quote that is opened here or later in this line is not closed", "close it"},
	{"expected node content", "a value is expected here", "check the brackets and commas"},
	{"unknown escape character", "in double quotes a backslash begins an escape, and this one is not known", "use single quotes, or write the backslash twice"},
	{"block sequence entries are not allowed", "a dash where there can be no list", "begin the list in a line of its own"},
	{"block mapping", "a mapping where there can be none", "check the indentation"},
	{"found a tab", "a tab in the indentation", "use spaces"},
	{"expected <document start>", "this does not belong to what is above", "check the indentation"},
	{"unexpected document indicator", "a quote that is opened here or later in this line is not closed", "close it"},
}

var (
	linePrefix      = regexp.MustCompile(`^line \d+: `)
	undefinedAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// What may stand before a value: dashes, and a key of any kind.
	beforeValue = regexp.MustCompile(`^\s*(?:- +)*(?:(?:"[^"]*"|'[^']*'|[^\s#"'\[\]{},:][^#:]*):\s+)?`)
	inFlow      = regexp.MustCompile(`[{,]\s*[\w"'-]+:\s+([*@][^,}]*)`)
	cronLike    = regexp.MustCompile(`^(?:\*[0-9*/,-]*(?:\s+[0-9A-Za-z*/,?#-]+){4}|@(?:yearly|annually|monthly|weekly|daily|midnight|hourly|reboot|every\s+\S+))$`)
	comment     = regexp.MustCompile(`\s+#.*$`)
)

func plainCause(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return linePrefix.ReplaceAllString(text, "")
}

// unquoted finds the values that begin with * or @ without quotes: schedules.
func (d *document) unquoted() (found []Error) {
	for i, text := range d.allLines() {
		if !strings.ContainsAny(text, "*@") {
			continue
		}
		spans := [][2]int{}
		if n := len(beforeValue.FindString(text)); n < len(text) {
			spans = append(spans, [2]int{n, len(text)})
		}
		for _, m := range inFlow.FindAllStringSubmatchIndex(text, -1) {
			spans = append(spans, [2]int{m[2], m[3]})
		}
		for _, span := range spans {
			value := strings.TrimSpace(comment.ReplaceAllString(text[span[0]:span[1]], ""))
			if !isUnquoted(value) {
				continue
			}
			e := Error{File: d.name, Line: i + 1, Column: 1 + utf8.RuneCountInString(text[:span[0]]),
				Message: "a value that begins with " + value[:1] + " must be in quotes", Hint: "put it in quotes"}
			if cronLike.MatchString(value) { // anything else may be a secret
				e.Hint = `quote the expression: "` + value + `"`
			}
			found = append(found, e)
			break
		}
	}
	return found
}

// isUnquoted reports whether a value begins with @, or with * and what can be
// no alias.
func isUnquoted(value string) bool {
	switch {
	case strings.HasPrefix(value, "@"):
		return true
	case strings.HasPrefix(value, "*"):
		return len(value) == 1 || strings.ContainsRune(" \t/*,-", rune(value[1])) && cronLike.MatchString(value)
	}
	return false
}

// tabs finds the tabs in the indentation, up to the line after the last that
// the parser could make use of.
func (d *document) tabs(last int) (found []Error) {
	for i, text := range d.allLines() {
		white := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if tab := strings.IndexByte(white, '\t'); tab >= 0 && len(white) < len(text) && i <= last {
			found = append(found, Error{File: d.name, Line: i + 1, Column: tab + 1, Message: "a tab in the indentation", Hint: "use spaces"})
		}
	}
	return found
}

// allLines returns the lines as editors count them, without their ends.
func (d *document) allLines() []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(d.data), "\r\n", "\n"), "\r", "\n"), "\n")
}

func (d *document) line(n int) string { return d.allLines()[n-1] }

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// aliasAt returns where an alias is that has no anchor before it, or -1.
func (d *document) aliasAt(name string) int {
	use := regexp.MustCompile(`(?:^|[\s\[{,:-])(\*` + regexp.QuoteMeta(name) + `)(?:$|[\s\]},])`)
	if m := use.FindSubmatchIndex(d.data); m != nil {
		return m[2]
	}
	return -1
}

// ahead is how many characters the parser has before it when it begins with a
// token: enough to tell "---" and what follows it.
const ahead = 4

// stoppedAt returns where the parser gives up: at the fault, or the last
// character before it that is not white space. It is fed byte by byte, as it
// would otherwise read ahead.
func (d *document) stoppedAt(cause string) (line, column int) {
	feed := &feeder{data: append(slices.Clip(d.data), "\n\n\n\n\n\n"...)}
	_, _ = parseYAML(feed) // it fails as it did before
	at := max(feed.n-ahead, 0)
	for at > 0 && (at >= len(d.data) || strings.IndexByte(" \t\r\n", d.data[at]) >= 0) {
		at--
	}
	for at > 0 && !utf8.RuneStart(d.data[at]) {
		at--
	}
	line, column = place(d.data, at)
	lines := d.allLines()
	if strings.Contains(cause, "expected key") || strings.Contains(cause, "'-' indicator") {
		column = 1 + indent(lines[line-1]) // it shows only after the line's first word
	}
	// Some faults show only in a later line. The first lines that have the same
	// fault without the rest end with the line that has it.
	for back := 0; back < 5 && line > 1; back++ {
		_, err := parseYAML(strings.NewReader(strings.Join(lines[:line-1], "\n") + "\n"))
		if err == nil || plainCause(err) != cause {
			break
		}
		line, column = line-1, 1+indent(lines[line-2])
	}
	return line, column
}

// A feeder reads one byte at a time.
type feeder struct {
	data []byte
	n    int
}

func (f *feeder) Read(p []byte) (int, error) {
	if f.n == len(f.data) {
		return 0, io.EOF
	}
	n := copy(p[:1], f.data[f.n:])
	f.n += n
	return n, nil
}

// openedAt returns the line in which the quote was opened that never ends, or
// 0. The parser names that line if it is not the first, so it is given one more.
func openedAt(data []byte, cause string) int {
	if !strings.Contains(cause, "unexpected end of stream") && !strings.Contains(cause, "unexpected document indicator") {
		return 0
	}
	_, err := parseYAML(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(data)))
	if err == nil {
		return 0
	}
	number := regexp.MustCompile(`line (\d+): `).FindStringSubmatch(err.Error())
	if number == nil {
		return 0
	}
	n, err := parseInt(number[1])
	if err != nil || n < 2 || int(n)-1 > bytes.Count(data, []byte("\n"))+1 {
		return 0
	}
	return int(n) - 1
}
