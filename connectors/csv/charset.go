package csv

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// A charset is how a file's bytes become text. The zero charset is UTF-8.
type charset struct {
	name string // "" is UTF-8

	// table is set for the encodings of one byte per character. They agree with
	// ASCII where rows are split, so fields are decoded one by one and a row's
	// own bytes are kept.
	table *charmap.Charmap

	// whole is set for the encodings in which a byte like '"' can be a part of
	// another character. The file is decoded to UTF-8 before it is split.
	whole func(io.Reader) io.Reader

	// marked: decoding puts U+FFFD for what it could not read.
	marked bool

	byBOM bool // UTF-16 in the order that the byte order mark says
}

// charsetOf returns the charset of an `encoding` option: "utf-8", "utf-16", or a
// label of the Encoding Standard (https://encoding.spec.whatwg.org, names and labels).
func charsetOf(label string) (charset, error) {
	switch l := strings.ToLower(strings.TrimSpace(label)); l {
	case "", "utf-8", "utf8":
		return charset{}, nil
	case "utf-16", "utf16":
		return charset{name: "utf-16", byBOM: true}, nil
	case "utf-16le", "utf-16be":
		return utf16(l), nil
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return charset{}, fmt.Errorf("%q is not an encoding of https://encoding.spec.whatwg.org", label)
	}
	name, err := htmlindex.Name(enc)
	if err != nil || name == "replacement" {
		return charset{}, fmt.Errorf("%q can't be decoded", label)
	}
	if table, ok := enc.(*charmap.Charmap); ok {
		return charset{name: name, table: table}, nil
	}
	decode := func(r io.Reader) io.Reader { return enc.NewDecoder().Reader(r) }
	return charset{name: name, whole: decode, marked: true}, nil
}

func utf16(name string) charset {
	big := name == "utf-16be"
	return charset{name: name, whole: func(r io.Reader) io.Reader { return &utf16Reader{src: r, big: big} }}
}

// fault returns the index of the first byte of b that is no character, -1 if
// there is none.
func (c *charset) fault(b []byte) int {
	switch {
	case c.table != nil:
		for i, x := range b {
			if x >= utf8.RuneSelf && c.table.DecodeByte(x) == utf8.RuneError {
				return i
			}
		}
		return -1
	case !utf8.Valid(b):
		return invalid(b)
	case c.marked:
		return bytes.Index(b, []byte("\uFFFD"))
	}
	return -1
}

// text returns b, which has no fault, as UTF-8.
func (c *charset) text(b []byte) []byte {
	if c.table == nil || isASCII(b) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/2)
	for _, x := range b {
		out = utf8.AppendRune(out, c.table.DecodeByte(x))
	}
	return out
}

func isASCII(b []byte) bool {
	for _, x := range b {
		if x >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// bytesOf returns text in the bytes that a file of this charset has for it
// when it is split.
func (c *charset) bytesOf(text string) ([]byte, error) {
	if c.table == nil {
		return []byte(text), nil
	}
	b, err := c.table.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%q can't be written in %s", text, c.name)
	}
	return b, nil
}

func (c *charset) String() string {
	if c.name == "" {
		return "utf-8"
	}
	return c.name
}

// invalid returns the index of the first byte of b that is not UTF-8.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// sniff looks at a file's first bytes. It returns the charset to read it with
// and the length of its byte order mark, or an error where it is not text, or
// not in the encoding that is declared.
func sniff(head []byte, declared charset) (charset, int, error) {
	for _, m := range []struct{ magic, what string }{
		{"PK\x03\x04", "a ZIP archive or a spreadsheet (.xlsx)"},
		{"\xd0\xcf\x11\xe0", "a spreadsheet (.xls)"},
		{"%PDF-", "a PDF file"},
		{"\xff\xfe\x00\x00", "in UTF-32"},
		{"\x00\x00\xfe\xff", "in UTF-32"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return charset{}, 0, fmt.Errorf("the file is %s", m.what)
		}
	}
	start := strings.ToLower(string(bytes.TrimLeft(head[:min(len(head), 200)], "\xef\xbb\xbf \t\r\n")))
	if strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") {
		return charset{}, 0, fmt.Errorf("the file is an HTML page")
	}
	found, size := bom(head)
	switch {
	case declared.name == "" && found != "":
		if found == "utf-8" {
			return declared, size, nil
		}
		return utf16(found), size, nil
	case declared.byBOM:
		if found == "utf-8" || found == "" {
			return charset{}, 0, fmt.Errorf("encoding utf-16 is declared and there is no byte order mark; declare utf-16le or utf-16be")
		}
		return utf16(found), size, nil
	case found != "" && found != declared.name:
		return charset{}, 0, fmt.Errorf("the file begins with the byte order mark of %s, and encoding %s is declared", found, declared.name)
	case found == "" && declared.whole == nil:
		if name := looksUTF16(head); name != "" {
			return charset{}, 0, fmt.Errorf("the file looks like UTF-16 without a byte order mark; declare encoding: %s", name)
		}
	}
	return declared, size, nil
}

func bom(head []byte) (name string, size int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return "utf-8", 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return "utf-16le", 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "utf-16be", 2
	}
	return "", 0
}

// looksUTF16 goes by the NUL that every Latin letter has beside it in UTF-16.
func looksUTF16(head []byte) string {
	var nuls [2]int
	for i, b := range head {
		if b == 0 {
			nuls[i%2]++
		}
	}
	most := len(head) / 2
	switch {
	case most < 2:
		return ""
	case nuls[1] > most/2 && nuls[0] == 0:
		return "utf-16le"
	case nuls[0] > most/2 && nuls[1] == 0:
		return "utf-16be"
	}
	return ""
}
