package transport

import (
	"bytes"
	"io"
	"net/http"
)

// A wholeBody is a body that has been read to its end.
type wholeBody struct {
	bytes.Reader
	all []byte
}

func newWholeBody(all []byte) *wholeBody {
	b := &wholeBody{all: all}
	b.Reset(all)
	return b
}

// Bytes returns the whole body, for a reader that needs no copy.
func (b *wholeBody) Bytes() []byte { return b.all }
func (b *wholeBody) Close() error  { return nil }

// setBody gives an answer a body that is in memory.
func setBody(resp *http.Response, body []byte) {
	resp.Body, resp.ContentLength = newWholeBody(body), int64(len(body))
	resp.TransferEncoding = nil
}

// firstChunk and lastChunk bound the pieces that a body is read in.
const (
	firstChunk = 64 << 10
	lastChunk  = 1 << 20
)

// readAll reads at most limit bytes. It reads piece by piece and copies once,
// so that what is too large never takes more memory than the limit.
func readAll(r io.Reader, declared, limit int64) (all []byte, more bool, err error) {
	size := int64(firstChunk)
	if declared > 0 {
		size = min(declared+1, lastChunk) // one more to see the end
	}
	var pieces [][]byte
	var total int64
	for {
		piece := make([]byte, min(size, limit-total+1))
		n, err := fill(r, piece)
		pieces, total = append(pieces, piece[:n]), total+int64(n)
		switch {
		case total > limit:
			return nil, true, nil
		case err == io.EOF && len(pieces) == 1:
			return pieces[0], false, nil
		case err == io.EOF:
			return bytes.Join(pieces, nil), false, nil
		case err != nil:
			return bytes.Join(pieces, nil), false, err
		}
		size = min(2*size, lastChunk)
	}
}

// fill reads until p is full. Unlike io.ReadFull it tells the end of the body
// from a body that was cut.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}
