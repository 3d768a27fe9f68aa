package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/syncdhq/syncd"
)

// unknownBase stands in for the base URL that a recording written by hand lacks.
const unknownBase = "http://recording.invalid"

// A Replayer is an http.RoundTripper that answers from a recording, without a
// network. It takes the transport's place, not that of the network below it:
// what it gets is not signed, and its answers have been retried and redirected.
//
// A request is answered by the first exchange not used yet with the same
// method, path, query and body; the order of parameters does not count. What
// was scrubbed stands for anything, where none fits without. Where all that fit
// as well are used, the last one answers again. Any other request is an error, which names the recorded
// one that is closest and what differs.
type Replayer struct {
	file  string
	base  *url.URL
	note  string
	scrub *Scrubber // of errors: requests may hold secrets of the test

	mu   sync.Mutex
	recs []Exchange
	used []bool
}

// Open reads a recording.
func Open(file string) (*Replayer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	doc, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", file, err)
	}
	if doc.Base == "" {
		doc.Base = unknownBase
	}
	base, err := url.Parse(doc.Base)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("recording %s: the base %q is no URL", file, doc.Base)
	}
	scrub, err := NewScrubber(nil)
	if err != nil {
		return nil, err
	}
	return &Replayer{file: file, base: base, note: doc.Note, scrub: scrub, recs: doc.Exchanges, used: make([]bool, len(doc.Exchanges))}, nil
}

// Base returns the base URL that was recorded. Requests are made to it: the
// links within the answers lead there.
func (r *Replayer) Base() string { return r.base.String() }

// Client returns a client of the kit that asks the recording.
func (r *Replayer) Client() (*syncd.Client, error) { return syncd.NewClient(r.Base(), r, r) }

// Unused returns the requests that were recorded and not asked yet, as
// "GET /path?query".
func (r *Replayer) Unused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for i, e := range r.recs {
		if !r.used[i] {
			all = append(all, e.Request.line())
		}
	}
	return all
}

func (q Request) line() string { return q.Method + " " + q.URL }

// RoundTrip implements http.RoundTripper.
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	req, body, err := withBody(req)
	if err != nil {
		return nil, err
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	asked := Request{Method: req.Method, URL: relative(r.base, req.URL), content: contentOf(body)}
	e, err := r.take(asked)
	if err != nil {
		return nil, err
	}
	if e.Answer == nil {
		return nil, errors.New(e.Error)
	}
	return r.answer(req, e.Answer)
}

// take chooses the exchange that answers a request and marks it as used.
func (r *Replayer) take(asked Request) (Exchange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, best := -1, 0
	for i, e := range r.recs {
		if !fits(e.Request, asked) {
			continue
		}
		loose := e.Request.placeholders()
		if equal(e.Request, asked) {
			loose = 0
		}
		if last < 0 || loose < best || loose == best && r.used[last] {
			last, best = i, loose
		}
	}
	if last >= 0 {
		r.used[last] = true
		return r.recs[last], nil
	}
	return Exchange{}, r.unknown(asked)
}

// unknown is the error of a request that was not recorded.
func (r *Replayer) unknown(asked Request) error {
	line, err := r.scrub.Text(asked.line())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("recording %s: %s was not recorded", r.file, line)
	if len(r.recs) == 0 {
		return errors.New(text + ": nothing was")
	}
	closest := slices.MaxFunc(r.recs, func(a, b Exchange) int { return nearness(a.Request, asked) - nearness(b.Request, asked) })
	why, err := r.scrub.Text(differs(closest.Request, asked))
	if err != nil {
		return err
	}
	text += fmt.Sprintf("; the closest is %s: %s", closest.Request.line(), why)
	if r.note != "" {
		text += " (" + r.note + ")"
	}
	return errors.New(text)
}

// answer makes the answer to a request.
func (r *Replayer) answer(req *http.Request, a *Answer) (*http.Response, error) {
	header := http.Header{}
	for name, list := range a.Headers {
		for _, value := range list {
			header.Add(name, value)
		}
	}
	at := req
	if a.URL != "" {
		u, err := r.absolute(a.URL)
		if err != nil {
			return nil, err
		}
		at = req.Clone(req.Context())
		at.URL = u
	}
	body := a.bytes()
	resp := &http.Response{
		Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: recorded{bytes.NewReader(body)}, ContentLength: int64(len(body)), Request: at,
	}
	if a.Cut {
		resp.ContentLength = -1
		resp.Body = recorded{io.MultiReader(bytes.NewReader(body), cut{})}
	}
	return resp, nil
}

// absolute undoes relative.
func (r *Replayer) absolute(ref string) (*url.URL, error) {
	if strings.HasPrefix(ref, "http://") || strings.HasPrefix(ref, "https://") {
		return url.Parse(ref)
	}
	return url.Parse(strings.TrimSuffix(r.base.String(), "/") + ref)
}

// recorded is a body out of a recording.
type recorded struct{ io.Reader }

func (recorded) Close() error { return nil }

// cut is what comes after the part of a body that was recorded.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, errCut }

var errCut = fmt.Errorf("the recorded answer was not read any further: %w", io.ErrUnexpectedEOF)
