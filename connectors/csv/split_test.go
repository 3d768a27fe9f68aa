package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd"
)

// spell splits text and spells each span: `LINE|field|field`, `LINE!reason`,
// `LINE blank`, `LINE comment`.
func spell(d dialect, text string) []string {
	s := newSplitter(d, strings.NewReader(text), 0, int64(len(text)), 1)
	var out []string
	for {
		sp, err := s.next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			return append(out, err.Error())
		}
		line := fmt.Sprint(sp.line)
		var reject *syncd.RejectError
		switch {
		case sp.kind == blank:
			line += " blank"
		case sp.kind == comment:
			line += " comment"
		case errors.As(sp.bad, &reject):
			line += "!" + reject.Reason
		default:
			for _, f := range sp.fields {
				line += "|" + string(f)
			}
		}
		if !sp.ended {
			line += " unterminated"
		}
		out = append(out, line)
	}
}

func usual() dialect {
	return dialect{delimiter: []byte(","), quote: '"', newline: '\n', maxRow: 1 << 20}
}

func TestSplit(t *testing.T) {
	with := func(set func(*dialect)) dialect {
		d := usual()
		set(&d)
		return d
	}
	two := with(func(d *dialect) { d.width = 2 })
	tests := []struct {
		name, text string
		d          dialect
		want       []string
	}{
		{"plain", "a,b\n1,2\n", usual(), []string{"1|a|b", "2|1|2"}},
		{"empty fields", ",\n,,\n\"\",\n", usual(), []string{"1||", "2|||", "3||"}},
		{"cr lf", "a,b\r\n\"1\",\"2\"\r\n", usual(), []string{"1|a|b", "2|1|2"}},
		{"cr cr lf", "a,b\r\r\n\"1\",\"2\"\r\r\n", usual(), []string{"1|a|b", "2|1|2"}},
		{"line ends inside quotes stay", "\"a\r\nb\",\"c\nd\",\"e\rf\"\ng,h,i\n", usual(), []string{"1|a\r\nb|c\nd|e\rf", "4|g|h|i"}},
		{"doubled quotes", `"a""b","""","",""""""` + "\n", usual(), []string{`1|a"b|"||""`}},
		{"blank lines", "\n a , b\n \t\r\n\r\n1,2\n\v\f\n", usual(), []string{"1 blank", "2| a | b", "3 blank", "4 blank", "5|1|2", "6 blank"}},
		{"tabs alone are fields where they delimit", "\t\t\n \n", with(func(d *dialect) { d.delimiter = []byte("\t") }), []string{"1|||", "2 blank"}},
		{"comments", "# x\"\na,b\n##\n,#\n", with(func(d *dialect) { d.comment = []byte("#") }), []string{"1 comment", "2|a|b", "3 comment", "4||#"}},
		{"no quotes", "a\",\"b\n", with(func(d *dialect) { d.quote = 0 }), []string{`1|a"|"b`}},
		{"long delimiter", "a||b|c\n\"d||e\"||f\n|\n", with(func(d *dialect) { d.delimiter = []byte("||") }), []string{"1|a|b|c", "2|d||e|f", "3||"}},
		{"quote in an unquoted field", "1,a\"b\n2,ok\n", two, []string{"1!bare_quote", "2|2|ok"}},
		{"space before a quote", "1, \"b\"\n2,ok\n", two, []string{"1!bare_quote", "2|2|ok"}},
		{"text after a quote", "1,\"b\"x\n2,ok\n", two, []string{"1!bare_quote", "2|2|ok"}},
		{"stray quote, closed by the next row's", "1,\"a\n2,b\n3,\"c\"\n4,d\n", two, []string{"1!bare_quote", "2|2|b", "3|3|c", "4|4|d"}},
		{"fault in a field of several lines", "1,\"a\n2,b\nc\"d\"\n4,d\n", two, []string{"1!bare_quote", "4|4|d"}},
		{"open quote", "1,a\n2,\"b\n3,c\n", two, []string{"1|1|a", "line 2: a quoted field is opened here and never closed"}},
		{"open quote in the second line of a row", "1,\"a\n\",\"b\n3,c\n", two, []string{"line 2: a quoted field is opened here and never closed"}},
		{"unterminated", "1,a\n2,b", two, []string{"1|1|a", "2|2|b unterminated"}},
		{"unterminated after a quote", "1,\"a\"", two, []string{"1|1|a unterminated"}},
		{"unterminated after a delimiter", "1,", two, []string{"1|1| unterminated"}},
		{"cut between cr and lf", "1,a\r", two, []string{"1|1|a unterminated"}},
		{"cr inside a row", "1,a\r2,b\n3,c\n", two, []string{"1!bare_line_end", "2|3|c"}},
		{"cr alone ends lines", "a,b\r\"1\r2\",3\r", with(func(d *dialect) { d.newline = '\r' }), []string{"1|a|b", "2|1\r2|3"}},
		{"too long", "1,aaaaaaaaaa\n2,b\n\"aaaa\naaaaaaa\",c\n3,d\n", with(func(d *dialect) { d.maxRow = 8 }), []string{"1!row_too_long", "2|2|b", "3!row_too_long", "5|3|d"}},
		{"a blank line too long", "          \n2,b\n", with(func(d *dialect) { d.maxRow = 4 }), []string{"1!row_too_long", "2|2|b"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, spell(test.d, test.text)); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

// A row longer than all buffers is one reject whose line and size are known.
func TestSplitHugeRow(t *testing.T) {
	field := strings.Repeat("x\n", 4<<20)
	text := "1,a\n2,\"" + field + "\"\n3,c\n2,\"" + field + "\"bad\n4,d\n" + "2,\"stray" + field + "3,\"ok\"\n5,e\n"
	d := usual()
	d.width = 2
	s := newSplitter(d, strings.NewReader(text), 0, int64(len(text)), 1)
	var got []string
	var size int64
	for {
		sp, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		size += sp.size
		var reject *syncd.RejectError
		switch {
		case errors.As(sp.bad, &reject) && reject.Reason == "row_too_long":
			if len(sp.raw) != s.keep() {
				t.Errorf("%d bytes are kept, want %d", len(sp.raw), s.keep())
			}
			fallthrough
		case reject != nil:
			got = append(got, fmt.Sprintf("%d!%s %d", sp.line, reject.Reason, sp.size))
		case len(sp.fields) == 2:
			got = append(got, fmt.Sprintf("%d|%s|%s", sp.line, sp.fields[0], sp.fields[1]))
		}
	}
	n := len(field)
	lines := n / 2
	want := []string{
		"1|1|a",
		fmt.Sprintf("2!row_too_long %d", n+5),
		fmt.Sprintf("%d|3|c", lines+3),
		fmt.Sprintf("%d!bare_quote %d", lines+4, n+8),
		fmt.Sprintf("%d|4|d", 2*lines+5),
		fmt.Sprintf("%d!bare_quote %d", 2*lines+6, len("2,\"strayx\n")),
		fmt.Sprintf("%d|3|ok", 3*lines+6),
		fmt.Sprintf("%d|5|e", 3*lines+7),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if size != int64(len(text)) {
		t.Errorf("the spans have %d bytes, the input %d", size, len(text))
	}
	if len(s.buf) > 8<<20 {
		t.Errorf("the buffer has grown to %d bytes", len(s.buf))
	}
}

// FuzzRows: whatever the bytes, the spans put together are the input, each
// begins on the line that its number says, and splitting that begins at a span
// gives the same spans as splitting that goes on.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		"a,b\n1,2\n", "\"a\r\nb\",c\r\n", "1,\"a\n2,b\n3,\"c\"\n", "#x\n \n,\r\r\n", "1,a\r2", "\"\"\"", "1,\"b\"x\n\"\n\"", "a\rb\r",
	} {
		f.Add([]byte(text), byte(','), byte('"'), byte('#'), 2, 64, false)
		f.Add([]byte(text), byte(';'), byte(0), byte(0), 0, 3, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter, quote, comment byte, width, maxRow int, cr bool) {
		bad := func(b byte) bool { return b == '\n' || b == '\r' }
		if delimiter == 0 || bad(delimiter) || bad(quote) || bad(comment) || delimiter == quote || comment != 0 && (comment == delimiter || comment == quote) {
			return // no dialect: the options refuse it
		}
		d := dialect{delimiter: []byte{delimiter}, quote: quote, newline: '\n', maxRow: max(1, maxRow%4096), width: max(0, width%8)}
		if comment != 0 {
			d.comment = []byte{comment}
		}
		if cr {
			d.newline = '\r'
			text = bytes.ReplaceAll(text, []byte("\n"), nil)
		}
		checkSpans(t, d, text)
	})
}

func checkSpans(t *testing.T, d dialect, text []byte) {
	s := newSplitter(d, bytes.NewReader(text), 0, int64(len(text)), 1)
	var at int64
	for {
		sp, err := s.next()
		line := int64(bytes.Count(text[:at], []byte{d.newline})) + 1
		var quote *openQuoteError
		switch {
		case err == io.EOF:
			if at != int64(len(text)) {
				t.Fatalf("the end came at %d of %d bytes", at, len(text))
			}
			return
		case errors.As(err, &quote):
			if quote.line < line || quote.line > int64(bytes.Count(text, []byte{d.newline}))+1 {
				t.Fatalf("a quote is said to be open on line %d, after line %d", quote.line, line)
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		if sp.off != at || sp.line != line || sp.size < 1 || !bytes.Equal(sp.raw, text[at:at+sp.size]) {
			t.Fatalf("span %q of %d bytes at %d, line %d; want it at %d, line %d", sp.raw, sp.size, sp.off, sp.line, at, line)
		}
		if sp.ended != (text[at+sp.size-1] == d.newline) && sp.bad == nil {
			t.Fatalf("span %q: ended is %v", sp.raw, sp.ended)
		}
		again, err := newSplitter(d, bytes.NewReader(text), sp.off, int64(len(text)), sp.line).next()
		if diff := cmp.Diff(sp, again, cmp.AllowUnexported(span{}), cmp.Comparer(sameError)); err != nil || diff != "" {
			t.Fatalf("split from %d on: %v -want +got\n%s", sp.off, err, diff)
		}
		at += sp.size
	}
}
