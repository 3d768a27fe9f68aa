package recording

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// The most that a recording holds. What comes after is left out, and the file says so.
const (
	maxExchanges = 1000
	maxBytes     = 64 << 20 // of bodies, URLs and headers, before they are scrubbed
)

// A Recorder keeps the exchanges of one source in memory, until Write. It may be
// used by several at once.
type Recorder struct {
	base  *url.URL
	scrub *Scrubber

	mu      sync.Mutex
	kept    []*exchange
	size    int64
	leftOut int
}

// An exchange is one that is under way or has ended, as it came.
type exchange struct {
	method   string
	url      *url.URL
	asked    []byte         // the request's body
	resp     *http.Response // its body aside
	body     []byte
	err      error
	complete bool
	dropped  bool
}

// NewRecorder returns a recorder of what is asked below the base URL by a source
// that has the credentials, by their keys.
func NewRecorder(base string, credentials map[string]string) (*Recorder, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("record: the base URL is no http://HOST or https://HOST")
	}
	scrub, err := NewScrubber(credentials)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Recorder{base: u, scrub: scrub}, nil
}

// Around returns a round tripper that asks next and remembers what it answered.
// It changes nothing: bodies that next leaves unread are read by its caller, and
// requests must not be signed yet.
func (r *Recorder) Around(next http.RoundTripper) http.RoundTripper { return tap{r, next} }

// Len returns how many exchanges there are to write.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.kept {
		if e.recorded() {
			n++
		}
	}
	return n
}

// Note says what the limits leave out of the recording; "" if nothing.
func (r *Recorder) Note() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("the last %d exchanges are left out: a recording holds %d, and %d MiB", r.leftOut, maxExchanges, maxBytes>>20)
}

func (e *exchange) recorded() bool { return !e.dropped && (e.resp != nil || e.err != nil) }

// begin remembers a request; nil if the recording is full.
func (r *Recorder) begin(req *http.Request, body []byte) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leftOut > 0 || len(r.kept) == maxExchanges {
		r.leftOut++
		return nil
	}
	u := *req.URL // the request is its caller's again once it is answered
	e := &exchange{method: req.Method, url: &u, asked: body}
	r.kept = append(r.kept, e)
	r.grow(e, len(body)+len(req.URL.RawQuery)+len(req.URL.Path))
	return e
}

// grow counts bytes that e is to hold, and lets go of it if they are too many.
// The caller holds mu.
func (r *Recorder) grow(e *exchange, n int) bool {
	if e.dropped {
		return false
	}
	if r.size += int64(n); r.size <= maxBytes {
		return true
	}
	r.leftOut++
	*e = exchange{dropped: true}
	return false
}

func (r *Recorder) failed(e *exchange, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grow(e, len(err.Error())) {
		e.err = err
	}
}

// answered remembers the head of an answer, and its body if it is there already.
func (r *Recorder) answered(e *exchange, resp *http.Response, body []byte, complete bool) {
	n := len(body)
	head := &http.Response{StatusCode: resp.StatusCode, Header: http.Header{}, Request: resp.Request, ContentLength: resp.ContentLength}
	for name, values := range resp.Header {
		if keeps(name) {
			head.Header[name] = append([]string(nil), values...)
			for _, v := range values {
				n += len(name) + len(v)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grow(e, n) {
		e.resp, e.body, e.complete = head, body, complete
	}
}

// read remembers more of a body, or that this was all.
func (r *Recorder) read(e *exchange, more []byte, end bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grow(e, len(more)) {
		e.body = append(e.body, more...)
		e.complete = e.complete || end
	}
}

// A tap is the round tripper of Around.
type tap struct {
	rec  *Recorder
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t tap) RoundTrip(req *http.Request) (*http.Response, error) {
	req, asked, err := withBody(req)
	if err != nil {
		return nil, err
	}
	e := t.rec.begin(req, asked)
	resp, err := t.next.RoundTrip(req)
	switch {
	case e == nil:
		return resp, err
	case err != nil:
		if req.Context().Err() == nil { // else it was not the provider
			t.rec.failed(e, err)
		}
		return resp, err
	}
	if b, ok := resp.Body.(interface{ Bytes() []byte }); ok {
		t.rec.answered(e, resp, bytes.Clone(b.Bytes()), true)
		return resp, nil
	}
	t.rec.answered(e, resp, nil, false)
	resp.Body = &teeBody{resp.Body, t.rec, e}
	return resp, nil
}

// withBody returns the body of a request, and the request with it unread.
func withBody(req *http.Request) (*http.Request, []byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil, nil
	}
	if req.GetBody != nil {
		r, err := req.GetBody()
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		body, err := io.ReadAll(r)
		return req, body, err
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	copied := *req
	copied.Body = io.NopCloser(bytes.NewReader(body))
	return &copied, body, nil
}

// A teeBody is a body that is recorded as it is read.
type teeBody struct {
	io.ReadCloser
	rec *Recorder
	e   *exchange
}

func (b *teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.rec.read(b.e, p[:n], err == io.EOF)
	return n, err
}
