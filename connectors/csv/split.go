package csv

import (
	"bytes"
	"fmt"
	"io"

	"github.com/syncdhq/syncd"
)

// A dialect is how the bytes of a file are split into rows and fields.
type dialect struct {
	delimiter []byte
	quote     byte   // 0: fields are never quoted
	comment   []byte // a line that begins with it is no row; nil: there are none
	newline   byte   // what ends a line: '\n', with or without '\r' before it; or '\r' alone
	maxRow    int    // bytes of the longest row, its line end included
	width     int    // fields of a row; 0: not known
}

// A kind says what a span of the input is.
type kind int

const (
	blank   kind = iota // nothing but white space
	comment             // begins with the dialect's comment
	rowKind             // a row, well-formed or not
)

// A span is one piece of the input: the spans that next returns, put together,
// are the input. Its slices are valid until the following call.
type span struct {
	kind   kind
	raw    []byte // with its line end; no more than the first keep() bytes
	size   int64  // of the whole span
	off    int64  // where it begins
	line   int64  // the physical line it begins on, from 1
	ended  bool   // it has a line end
	fields [][]byte
	bad    error // a *syncd.RejectError where it can't be split into fields
}

// An openQuoteError says that a quote is never closed, so that nothing after
// it can be told apart.
type openQuoteError struct{ line int64 }

func (e *openQuoteError) Error() string {
	return fmt.Sprintf("line %d: a quoted field is opened here and never closed", e.line)
}

// A splitter cuts a file into spans, at any size of file in bounded memory.
//
// encoding/csv does not do here: it aborts or loses rows after a stray quote,
// turns CR LF inside quotes into LF, does not give a row's own bytes, and
// takes a file with bare CRs for one row.
//
// A row that can't be split is one span, and splitting goes on with the line
// after it. Where a quote was opened on an earlier line than the one where the
// fault shows, it is either a stray quote, and the lines after its own are
// rows, or a field of several lines with a fault in it, and they are not. It is
// taken for stray if the line of the fault, read by itself, is a row.
type splitter struct {
	dialect
	src  io.ReaderAt
	end  int64 // where to stop
	line int64 // the line of the next span

	buf    []byte
	lo, hi int   // buf[lo:hi] is read and not yet returned
	base   int64 // the offset of buf[0]
	err    error // of reading, other than io.EOF

	special [256]bool // bytes at which an unquoted field may end
	scan    scan
	values  [][]byte
	plain   []byte // unescaped fields
	probe   *splitter
}

// A scan is how far the current row has been looked at.
type scan struct {
	p         int     // next byte, counted from lo
	dropped   int64   // bytes of the row that have left the buffer
	head      []byte  // the first of them
	fields    []field // as long as nothing was dropped
	n         int     // how many fields there were
	line      int64   // the line that p is on
	lineStart int64   // its offset
	ended     bool
}

// A field is buf[lo+from:lo+to], without its quotes.
type field struct {
	from, to int
	escaped  bool // it has doubled quotes
}

const chunk = 64 << 10

// newSplitter returns a splitter of src[off:end], whose first line has the
// number line.
func newSplitter(d dialect, src io.ReaderAt, off, end, line int64) *splitter {
	s := &splitter{dialect: d, src: src, end: end, base: off, line: line}
	s.special[d.delimiter[0]], s.special['\n'], s.special['\r'] = true, true, true
	if d.quote != 0 {
		s.special[d.quote] = true
	}
	return s
}

// keepRaw is how many bytes of a row that is too long are kept at least: as
// many as stores keep, and one more, so that they see that it goes on.
const keepRaw = 1<<20 + 1

func (s *splitter) keep() int { return max(s.maxRow, keepRaw) }

// seek makes the byte at off, which begins line, the next to be read.
func (s *splitter) seek(off, line int64) {
	if off < s.base || off > s.base+int64(s.hi) {
		s.base, s.hi = off, 0
	}
	s.lo, s.line = int(off-s.base), line
}

// offset is where the next span begins.
func (s *splitter) offset() int64 { return s.base + int64(s.lo) }

// next returns the next span, io.EOF after the last one, and an
// *openQuoteError where the rest is one open quote.
func (s *splitter) next() (span, error) {
	s.scan = scan{fields: s.scan.fields[:0], line: s.line, lineStart: s.offset()}
	if !s.has(0) {
		if s.err != nil {
			return span{}, s.err
		}
		return span{}, io.EOF
	}
	sp := span{off: s.offset(), line: s.line, kind: rowKind}
	switch {
	case s.blank():
		sp.kind = blank
		s.skipLine()
	case len(s.comment) > 0 && s.prefix(0, s.comment):
		sp.kind = comment
		s.skipLine()
	default:
		fault := s.split()
		if s.err == nil && fault != nil {
			if open, ok := fault.(*openQuoteError); ok {
				return span{}, open
			}
			s.recover(sp)
		}
		sp.bad = fault
	}
	if s.err != nil {
		return span{}, s.err
	}
	return s.take(sp), nil
}

// nextLine returns the next physical line as a span without fields.
func (s *splitter) nextLine() (span, error) {
	s.scan = scan{fields: s.scan.fields[:0], line: s.line, lineStart: s.offset()}
	if !s.has(0) {
		if s.err != nil {
			return span{}, s.err
		}
		return span{}, io.EOF
	}
	sp := span{kind: comment, off: s.offset(), line: s.line}
	s.skipLine()
	if s.err != nil {
		return span{}, s.err
	}
	return s.take(sp), nil
}

// take consumes what was scanned and completes the span.
func (s *splitter) take(sp span) span {
	sc := &s.scan
	sp.raw = s.buf[s.lo : s.lo+sc.p]
	sp.size = sc.dropped + int64(sc.p)
	sp.ended = sc.ended
	if sc.dropped > 0 {
		sp.raw = append(sc.head, sp.raw...)
		sp.raw = sp.raw[:min(len(sp.raw), s.keep())]
	}
	if sp.kind == rowKind && sp.bad == nil {
		if sp.size > int64(s.maxRow) {
			sp.bad = syncd.Reject("row_too_long", "line %d: the row has %d bytes, more than max_row, %d", sp.line, sp.size, s.maxRow)
		} else {
			sp.fields = s.resolve()
		}
	}
	s.lo += sc.p
	s.line = sc.line
	if sc.ended {
		s.line++
	}
	return sp
}

// recover is called where a row can't be split, and ends it.
func (s *splitter) recover(sp span) {
	if s.scan.line > sp.line && s.isRow(s.scan.lineStart, s.scan.line) {
		s.seek(sp.off, sp.line)
		s.scan = scan{fields: s.scan.fields[:0], line: sp.line, lineStart: sp.off}
	}
	s.skipLine()
}

// isRow reports whether a well-formed row begins at off.
func (s *splitter) isRow(off, line int64) bool {
	if s.probe == nil {
		s.probe = newSplitter(s.dialect, s.src, off, s.end, line)
	}
	p := s.probe
	p.seek(off, line)
	p.scan = scan{fields: p.scan.fields[:0], line: line, lineStart: off}
	fault := p.split()
	if s.err = p.err; s.err != nil {
		return false
	}
	whole := p.scan.dropped == 0 && p.scan.p <= s.maxRow
	return fault == nil && whole && (s.width == 0 || p.scan.n == s.width)
}

// resolve returns the values of the scanned fields.
func (s *splitter) resolve() [][]byte {
	s.values, s.plain = s.values[:0], s.plain[:0]
	for _, f := range s.scan.fields {
		b := s.buf[s.lo+f.from : s.lo+f.to]
		if f.escaped {
			start := len(s.plain)
			s.plain = appendUnescaped(s.plain, b, s.quote)
			b = s.plain[start:]
		}
		s.values = append(s.values, b)
	}
	return s.values
}

// appendUnescaped appends b with each doubled quote once. b must be a field's
// inside, where quotes come in pairs.
func appendUnescaped(dst, b []byte, quote byte) []byte {
	for {
		i := bytes.IndexByte(b, quote)
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i+1]...)
		b = b[i+2:]
	}
}
