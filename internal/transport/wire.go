package transport

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// leastRate is how many bytes a second must come while a body is being waited
// for, over each idle time, so that a byte now and then is not progress.
const leastRate = 64

// A watch ends an attempt whose answer does not come.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newWatch(ctx context.Context) *watch {
	w := new(watch)
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	return w
}

// over calls do, and ends the attempt with a timeout if it takes longer than d.
func (w *watch) over(d time.Duration, text string, do func() error) error {
	timer := time.AfterFunc(d, func() { w.cancel(&timeout{text}) })
	defer timer.Stop()
	return w.why(do())
}

// why returns the timeout that ended the attempt, if one did, else err.
func (w *watch) why(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if t, ok := context.Cause(w.ctx).(*timeout); ok {
		return t
	}
	return err
}

func (w *watch) stop() { w.cancel(context.Canceled) }

// A wire reads a body as it comes over the connection. Silence for the idle
// time, or less than leastRate over it, ends in a timeout; an end other than
// at the declared length in io.ErrUnexpectedEOF.
//
// Only the time spent waiting counts, not what the caller does in between.
type wire struct {
	body   io.ReadCloser
	watch  *watch
	idle   time.Duration
	redact func(string) string
	want   int64 // -1: not declared
	got    int64
	waited time.Duration // in the present stretch
	came   int64         // bytes in it
}

func (r *wire) Read(p []byte) (n int, err error) {
	start := time.Now()
	err = r.watch.over(r.idle, fmt.Sprintf("no byte of the answer for %s", r.idle), func() error {
		n, err = r.body.Read(p)
		return err
	})
	r.got += int64(n)
	r.came += int64(n)
	if r.waited += time.Since(start); r.waited >= r.idle {
		if err == nil && r.came < int64(leastRate*r.idle.Seconds()) {
			err = &timeout{fmt.Sprintf("%d bytes of the answer in %s", r.came, r.waited.Round(time.Second))}
		}
		r.waited, r.came = 0, 0
	}
	if err == io.EOF && r.want >= 0 && r.got != r.want {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		text, cause := describe(err, r.redact)
		err = &requestError{text, cause}
	}
	return n, err
}

func (r *wire) Close() error {
	err := r.body.Close()
	r.watch.stop()
	return err
}

// An unpacker reads a body through gzip, including the trailer with the
// checksum and whatever follows it: a body ends where the connection says so.
type unpacker struct {
	wire *wire
	zip  *gzip.Reader
}

func (r *unpacker) Read(p []byte) (int, error) {
	if r.zip == nil {
		zip, err := gzip.NewReader(r.wire)
		if err == io.EOF && r.wire.got > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, unpackError(err)
		}
		r.zip = zip
	}
	n, err := r.zip.Read(p)
	return n, unpackError(err)
}

func unpackError(err error) error {
	switch err {
	case gzip.ErrHeader, gzip.ErrChecksum:
		return passing(err, "the answer's compression is broken: %s", err)
	}
	return err
}

func (r *unpacker) Close() error { return r.wire.Close() }

// open makes resp.Body what the answer holds: watched, its length checked and,
// unless the caller asked for a coding of its own, unpacked.
func (s *Stack) open(resp *http.Response, w *watch, unpack bool) error {
	body := &wire{body: resp.Body, watch: w, idle: s.cfg.IdleTimeout, redact: s.sign.redact, want: resp.ContentLength}
	resp.Body = body
	if bodyless(resp) {
		body.want = -1 // a length then tells of an answer that was not sent
		return nil
	}
	if resp.Uncompressed || !unpack {
		return nil
	}
	coding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ", "))
	switch strings.TrimSpace(coding) {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
	default:
		return permanent("the answer has the unexpected content encoding %s", named(coding))
	}
	resp.Body = &unpacker{wire: body}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
	return nil
}

func bodyless(resp *http.Response) bool {
	return resp.StatusCode == 204 || resp.StatusCode == 304 || resp.Request.Method == http.MethodHead
}
