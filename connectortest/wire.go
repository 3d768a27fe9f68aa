package connectortest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// A wire is the way from the transport to the fake: what goes wrong with whole
// answers happens here.
type wire struct {
	world *World
	fake  http.Handler

	// before is called before the nth request of a run is answered, from 1.
	before func(n int)
	// answer answers the nth request of a run in the fake's place; nil is an
	// answer of the fake.
	answer func(n int, req *http.Request) (*http.Response, error)
	// after changes an answer of the fake to the nth request of a run.
	after func(n int, resp *http.Response) *http.Response

	mu       sync.Mutex
	run      []string // the requests of the run at hand
	total    int
	panicked string // what the fake died of
}

// latency is how long each answer takes.
const latency = 40 * time.Millisecond

// mostRequests ends scenarios that do not end.
const mostRequests = 20_000

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.total++
	w.run = append(w.run, spell(req, body))
	n, total := len(w.run), w.total
	w.mu.Unlock()
	if w.fake == nil {
		return reply(req, http.StatusBadRequest, http.Header{}, ""), nil // nobody is to ask now
	}
	if total > mostRequests {
		return nil, errors.New("too many requests")
	}
	select {
	case <-time.After(latency):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if w.before != nil {
		w.before(n)
	}
	if w.answer != nil {
		if resp, err := w.answer(n, req); resp != nil || err != nil {
			return resp, err
		}
	}
	resp := w.serve(req, body)
	if w.after != nil {
		resp = w.after(n, resp)
	}
	return resp, nil
}

func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// serve has the fake answer a request as a server gets it.
func (w *wire) serve(req *http.Request, body []byte) *http.Response {
	r := req.Clone(req.Context())
	r.RequestURI, r.RemoteAddr, r.Host = req.URL.RequestURI(), "192.0.2.1:1234", req.URL.Host
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	rec.Header().Set("Date", w.world.Now().Format(http.TimeFormat))
	func() {
		defer func() {
			if p := recover(); p != nil {
				w.mu.Lock()
				w.panicked = fmt.Sprint(p)
				w.mu.Unlock()
				rec = httptest.NewRecorder()
				rec.WriteHeader(http.StatusInternalServerError)
			}
		}()
		w.fake.ServeHTTP(rec, r)
	}()
	return reply(req, rec.Code, rec.Header(), rec.Body.String())
}

// reply is an answer as a connection gives it.
func reply(req *http.Request, status int, h http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: req,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// refuse is an answer of the suite in the fake's place.
func (w *wire) refuse(req *http.Request, status int, contentType, body string) *http.Response {
	h := http.Header{"Content-Type": {contentType}, "Date": {w.world.Now().Format(http.TimeFormat)}}
	return reply(req, status, h, body)
}

// start begins a run.
func (w *wire) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run = nil
}

// asked returns the requests of the run.
func (w *wire) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.run...)
}

// quiet ends all mischief.
func (w *wire) quiet() { w.before, w.answer, w.after = nil, nil, nil }

// spell spells a request, without what signs it.
func spell(req *http.Request, body []byte) string {
	text := req.Method + " " + req.URL.RequestURI()
	if len(body) > 0 {
		text += " " + string(body)
	}
	return strings.ReplaceAll(text, secret, "[token]")
}
