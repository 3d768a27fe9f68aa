package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxSize bounds the file: a hundred times what 100,000 sources need would
// still be a mistake.
const maxSize = 64 << 20

// A document is the text of a configuration and what is wrong with it.
type document struct {
	name     string
	data     []byte // without a byte order mark
	lines    *lines // nil where YAML counts lines as editors do
	errs     []Error
	warnings []Error
	others   map[*yaml.Node]*document // of nodes that stand in other files
}

// parse returns the root of the only document in the file, or nil and errors.
// least is what a file must have, for the error of an empty one.
func (d *document) parse(least string) *yaml.Node {
	if !d.readable() {
		return nil
	}
	root, err := parseYAML(bytes.NewReader(d.data))
	switch {
	case errors.Is(err, errSecond):
		d.addAt(root.Line, root.Column, "the file has a second document", "take out the line --- and what does not belong")
	case errors.Is(err, io.EOF), err == nil && isNull(root):
		d.addAt(1, 1, "the file is empty", "it needs at least "+least)
	case err != nil:
		d.syntaxErrors(err)
	default:
		return root
	}
	return nil
}

// readable refuses what is not text as YAML reads it.
func (d *document) readable() bool {
	if len(d.data) > maxSize {
		d.addAt(1, 1, fmt.Sprintf("the file has %d bytes, and %d are allowed", len(d.data), maxSize), "")
		return false
	}
	if bytes.HasPrefix(d.data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(d.data, []byte{0xFE, 0xFF}) {
		d.addAt(1, 1, "the file is in UTF-16", "save it as UTF-8")
		return false
	}
	d.data = bytes.TrimPrefix(d.data, []byte("\xef\xbb\xbf"))
	special := false
	for i := 0; i < len(d.data); {
		if b := d.data[i]; b >= 0x20 && b < 0x7F || b == '\n' || b == '\t' || b == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(d.data[i:])
		line, column := place(d.data, i)
		switch {
		case r == utf8.RuneError && size == 1:
			d.addAt(line, column, fmt.Sprintf("the byte 0x%02X is not UTF-8", d.data[i]), "save the file as UTF-8")
			return false
		case r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF:
			d.addAt(line, column, fmt.Sprintf("the control character %U can't be in a configuration", r), "take it out")
			return false
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			special = true
		}
		i += size
	}
	if special {
		d.lines = newLines(d.data)
	}
	return true
}

// errSecond says that there is a second document; its root comes with it.
var errSecond = errors.New("second document")

// parseYAML returns the root of the only document. The parser panics on some
// texts that it can't read.
func parseYAML(r io.Reader) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, errors.New("yaml: the text can't be read as YAML")
		}
	}()
	dec := yaml.NewDecoder(r)
	var first, second yaml.Node
	if err := dec.Decode(&first); err != nil {
		return nil, err
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return &second, errSecond
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(first.Content) != 1 {
		return nil, io.EOF
	}
	return first.Content[0], nil
}

func (d *document) add(n *yaml.Node, message, hint string) {
	line, column := d.position(n)
	d.errs = append(d.errs, Error{File: d.nameOf(n), Line: line, Column: column, Message: message, Hint: hint})
}

// nameOf returns the name of the file that a node stands in.
func (d *document) nameOf(n *yaml.Node) string {
	if other := d.others[n]; other != nil {
		return other.name
	}
	return d.name
}

func (d *document) warn(n *yaml.Node, message string) {
	line, column := d.position(n)
	d.warnings = append(d.warnings, Error{File: d.nameOf(n), Line: line, Column: column, Message: message})
}

func (d *document) addAt(line, column int, message, hint string) {
	d.errs = append(d.errs, Error{File: d.name, Line: line, Column: column, Message: message, Hint: hint})
}

// position returns where a node begins, as editors count.
func (d *document) position(n *yaml.Node) (line, column int) {
	if other := d.others[n]; other != nil {
		return other.position(n)
	}
	if d.lines != nil {
		return d.lines.position(n.Line, n.Column)
	}
	return n.Line, n.Column
}

// place returns the line and column of a byte, as editors count: a line ends
// with \n, \r\n or \r.
func place(data []byte, at int) (line, column int) {
	line = 1
	start := 0
	for i := 0; i < at; i++ {
		if data[i] == '\n' || data[i] == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(data[start:at]) + 1
}

// lines maps positions where they differ: YAML also ends a line at U+0085,
// U+2028 and U+2029, which editors show inside of one.
type lines struct {
	starts []start // by YAML's line less one
}

type start struct{ line, column int } // as editors count

func newLines(data []byte) *lines {
	l := &lines{starts: []start{{1, 1}}}
	at := start{1, 1}
	text := string(data)
	for i, r := range text {
		at.column++
		switch {
		case r == '\n', r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			at = start{at.line + 1, 1}
			l.starts = append(l.starts, at)
		case r == 0x85, r == 0x2028, r == 0x2029:
			l.starts = append(l.starts, at)
		}
	}
	return l
}

func (l *lines) position(line, column int) (int, int) {
	s := l.starts[min(line, len(l.starts))-1]
	return s.line, s.column + column - 1
}
