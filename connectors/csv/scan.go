package csv

import (
	"bytes"
	"io"

	"github.com/syncdhq/syncd"
)

// split scans one row. A fault leaves the scan at the byte where it shows.
func (s *splitter) split() error {
	for {
		if s.quote != 0 && s.has(s.scan.p) && s.buf[s.lo+s.scan.p] == s.quote {
			if err := s.quoted(); err != nil {
				return err
			}
		} else if err := s.unquoted(); err != nil {
			return err
		}
		s.scan.n++
		if !s.has(s.scan.p) || s.err != nil {
			return s.err
		}
		if n, ended := s.lineEnd(s.scan.p); n > 0 {
			s.scan.p += n
			s.scan.ended = ended
			return nil
		}
		s.scan.p += len(s.delimiter)
	}
}

// unquoted scans a field up to the delimiter, line end or end of the input
// that ends it.
func (s *splitter) unquoted() error {
	sc := &s.scan
	from := sc.p
	for s.more() {
		b := s.buf[s.lo+sc.p : s.hi]
		i := 0
		for i < len(b) && !s.special[b[i]] {
			i++
		}
		if sc.p += i; i == len(b) {
			continue
		}
		switch c := b[i]; {
		case s.prefix(sc.p, s.delimiter):
			s.found(from, sc.p, false)
			return nil
		case c == s.quote && c != 0:
			return syncd.Reject("bare_quote", "line %d, byte %d: a quote inside an unquoted field", sc.line, s.column())
		case c == '\n' || c == '\r':
			if n, _ := s.lineEnd(sc.p); n > 0 {
				s.found(from, sc.p, false)
				return nil
			}
			return syncd.Reject("bare_line_end", "line %d, byte %d: a line end of another kind than the file's, outside quotes", sc.line, s.column())
		}
		sc.p++
	}
	s.found(from, sc.p, false)
	return nil
}

// quoted scans a field from its opening quote to what follows the closing one.
func (s *splitter) quoted() error {
	sc := &s.scan
	opened, column := sc.line, s.column()
	sc.p++
	from, escaped := sc.p, false
	for {
		if !s.more() {
			if s.err != nil {
				return s.err
			}
			return &openQuoteError{opened}
		}
		b := s.buf[s.lo+sc.p : s.hi]
		i := bytes.IndexByte(b, s.quote)
		if i < 0 {
			s.pass(b)
			continue
		}
		s.pass(b[:i])
		sc.p++
		if !s.has(sc.p) {
			break
		}
		if s.buf[s.lo+sc.p] != s.quote {
			break
		}
		escaped = true
		sc.p++
	}
	s.found(from, sc.p-1, escaped)
	if !s.has(sc.p) || s.prefix(sc.p, s.delimiter) {
		return s.err
	}
	if n, _ := s.lineEnd(sc.p); n > 0 {
		return nil
	}
	if opened != sc.line {
		return syncd.Reject("bare_quote", "line %d, byte %d: a quote inside a field, or a stray one that opens a field on line %d, byte %d", sc.line, s.column()-1, opened, column)
	}
	return syncd.Reject("bare_quote", "line %d, byte %d: a quote inside a quoted field", sc.line, s.column()-1)
}

// pass moves over b, which is next in the buffer, and counts its lines.
func (s *splitter) pass(b []byte) {
	sc := &s.scan
	if last := bytes.LastIndexByte(b, s.newline); last >= 0 {
		sc.line += int64(bytes.Count(b, []byte{s.newline}))
		sc.lineStart = s.offset() + int64(sc.p+last+1)
	}
	sc.p += len(b)
}

func (s *splitter) found(from, to int, escaped bool) {
	if s.scan.dropped == 0 {
		s.scan.fields = append(s.scan.fields, field{from, to, escaped})
	}
}

// skipLine scans to the end of the line that the scan is on.
func (s *splitter) skipLine() {
	sc := &s.scan
	for s.more() {
		b := s.buf[s.lo+sc.p : s.hi]
		if i := bytes.IndexByte(b, s.newline); i >= 0 {
			sc.p += i + 1
			sc.ended = true
			return
		}
		sc.p += len(b)
	}
}

// blank reports whether the line is white space alone. A delimiter is none.
func (s *splitter) blank() bool {
	for p := 0; s.has(p) && p < s.maxRow; p++ {
		switch c := s.buf[s.lo+p]; {
		case s.prefix(p, s.delimiter):
			return false
		case c == s.newline:
			return true
		case c != ' ' && c != '\t' && c != '\v' && c != '\f' && c != '\r':
			return false
		}
	}
	return !s.has(s.maxRow)
}

// lineEnd returns the length of the line end at p, 0 if there is none. CRs
// before an LF belong to it: CR CR LF is what a CR LF becomes that was converted
// twice. CRs before the end of the input are one that was cut.
func (s *splitter) lineEnd(p int) (n int, ended bool) {
	const most = 8
	for ; s.has(p+n) && n < most; n++ {
		switch c := s.buf[s.lo+p+n]; {
		case c == s.newline:
			return n + 1, true
		case c != '\r':
			return 0, false
		}
	}
	if n == most {
		return 0, false
	}
	return n, false
}

func (s *splitter) prefix(p int, text []byte) bool {
	return s.has(p+len(text)-1) && bytes.HasPrefix(s.buf[s.lo+p:s.hi], text)
}

// column is the number of the byte at the scan in its line, from 1.
func (s *splitter) column() int64 { return s.offset() + int64(s.scan.p) - s.scan.lineStart + 1 }

// has reads until the byte at p, counted from lo, is in the buffer. It is false
// at the end of the input and where reading fails (s.err).
func (s *splitter) has(p int) bool {
	for s.lo+p >= s.hi {
		if !s.fill() {
			return false
		}
	}
	return true
}

// more is has for the byte at the scan. It lets go of the beginning of a row
// that is too long, so that the buffer stays small.
func (s *splitter) more() bool {
	sc := &s.scan
	if s.lo+sc.p >= s.hi && sc.p > s.keep() {
		if sc.head == nil {
			sc.head = bytes.Clone(s.buf[s.lo : s.lo+s.keep()])
		}
		s.lo += sc.p
		sc.dropped += int64(sc.p)
		sc.p = 0
	}
	return s.has(sc.p)
}

// fill reads a chunk behind buf[lo:hi].
func (s *splitter) fill() bool {
	at := s.base + int64(s.hi)
	if s.err != nil || at >= s.end {
		return false
	}
	if s.lo > 0 {
		s.hi = copy(s.buf, s.buf[s.lo:s.hi])
		s.base += int64(s.lo)
		s.lo = 0
	}
	if len(s.buf)-s.hi < chunk {
		grown := make([]byte, max(2*len(s.buf), chunk*2))
		copy(grown, s.buf[:s.hi])
		s.buf = grown
	}
	n, err := s.src.ReadAt(s.buf[s.hi:min(int64(len(s.buf)), int64(s.hi)+s.end-at)], at)
	s.hi += n
	if err != nil && (err != io.EOF || n == 0) {
		// The end is known: to reach it early means that the input shrank.
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		s.err = err
	}
	return n > 0
}
