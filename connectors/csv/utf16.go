package csv

import (
	"errors"
	"io"
	stdutf16 "unicode/utf16"
	"unicode/utf8"
)

// A utf16Reader turns UTF-16 into UTF-8. Half of a surrogate pair becomes the
// three bytes that the UTF-8 scheme gives its number, which are not valid
// UTF-8: so its row is set aside and nothing is replaced. (The decoder of
// x/text puts U+FFFD there, which the file may hold as well.)
type utf16Reader struct {
	src io.Reader
	big bool
	in  []byte // read and not yet decoded
	out []byte // decoded and not yet returned
	err error  // what src ended with
}

func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			if r.err == io.EOF && len(r.in) > 0 {
				return 0, errors.New("the file ends in the middle of a UTF-16 character")
			}
			return 0, r.err
		}
		r.decode()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

func (r *utf16Reader) decode() {
	buf := make([]byte, 32<<10)
	n := copy(buf, r.in)
	m, err := r.src.Read(buf[n:])
	r.in, r.err = buf[:n+m], err
	r.out = r.out[:0]
	for len(r.in) >= 2 {
		u, size := r.unit(0), 2
		if stdutf16.IsSurrogate(u) {
			if len(r.in) < 4 && r.err == nil {
				return
			}
			if pair := stdutf16.DecodeRune(u, r.unit(2)); pair != utf8.RuneError {
				u, size = pair, 4
			}
		}
		if size == 2 && stdutf16.IsSurrogate(u) {
			r.out = append(r.out, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0x3f, 0x80|byte(u)&0x3f)
		} else {
			r.out = utf8.AppendRune(r.out, u)
		}
		r.in = r.in[size:]
	}
}

// unit returns the code unit at byte i, 0 where there is none.
func (r *utf16Reader) unit(i int) rune {
	if i+2 > len(r.in) {
		return 0
	}
	if r.big {
		return rune(r.in[i])<<8 | rune(r.in[i+1])
	}
	return rune(r.in[i+1])<<8 | rune(r.in[i])
}
