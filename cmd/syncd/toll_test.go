package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A toll stands on loopback between syncd and a server. It counts what syncd
// asks the server's token endpoint, knows what was granted, and refuses at the
// API, as a server does whose token has ended, the tokens that it is told to.
type toll struct {
	*httptest.Server
	server, tokenPath string

	mu        sync.Mutex
	hooks     hooks
	refreshes int
	granted   []tokens
	refused   map[string]bool
}

// tokens are what one answer of a token endpoint granted.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// An answer is one of a token endpoint.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// hooks are what a test does on the way; nil does nothing.
type hooks struct {
	refresh func(pass func() answer) answer // answers a refresh in place of pass, which asks the server
	refusal func()                          // comes before each 401
	use     func(r *http.Request)           // comes before a request goes on to the API
}

// set changes what is done on the way.
func (p *toll) set(h hooks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks = h
}

func (p *toll) now() hooks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hooks
}

// newToll stands before a server, whose token endpoint has the path.
func newToll(t *testing.T, server, tokenPath string) *toll {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	api := &httputil.ReverseProxy{
		Transport:    transport,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // syncd went away
	}
	p := &toll{server: server, tokenPath: tokenPath, refused: map[string]bool{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == tokenPath {
			p.grant(w, r, transport)
			return
		}
		access := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if p.refuses(access) {
			if refusal := p.now().refusal; refusal != nil {
				refusal()
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message":"token is expired"}`)
			return
		}
		if use := p.now().use; use != nil {
			use(r)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// grant passes on a request for tokens.
func (p *toll) grant(w http.ResponseWriter, r *http.Request, transport http.RoundTripper) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	pass := func() answer { return p.pass(r.Header, body, transport) }
	form, _ := url.ParseQuery(string(body))
	var got answer
	if form.Get("grant_type") != "refresh_token" {
		got = pass()
	} else {
		p.mu.Lock()
		p.refreshes++
		p.mu.Unlock()
		if refresh := p.now().refresh; refresh == nil {
			got = pass()
		} else {
			got = refresh(pass)
		}
	}
	if got.status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, values := range got.header {
		w.Header()[name] = values
	}
	w.WriteHeader(got.status)
	_, _ = w.Write(got.body)
}

// pass asks the server for tokens. It does so to the end, whether or not
// anybody waits for the answer still.
func (p *toll) pass(header http.Header, body []byte, transport http.RoundTripper) answer {
	req, err := http.NewRequest(http.MethodPost, p.server+p.tokenPath, bytes.NewReader(body))
	if err != nil {
		return answer{status: http.StatusBadGateway}
	}
	req.Header = header.Clone()
	req.Header.Del("Accept-Encoding") // so that the transport unpacks the answer
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return answer{status: http.StatusBadGateway}
	}
	defer resp.Body.Close()
	got := answer{status: resp.StatusCode, header: resp.Header}
	got.header.Del("Content-Length")
	if got.body, err = io.ReadAll(resp.Body); err != nil {
		return answer{status: http.StatusBadGateway}
	}
	var t tokens
	if json.Unmarshal(got.body, &t) == nil && t.Access != "" {
		p.mu.Lock()
		p.granted = append(p.granted, t)
		p.mu.Unlock()
	}
	return got
}

// refuseAll refuses every token that was granted before, and returns the last.
func (p *toll) refuseAll() tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.granted {
		p.refused[t.Access] = true
	}
	return p.granted[len(p.granted)-1]
}

func (p *toll) refuses(access string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[access]
}

// asked returns how often syncd has asked for a refresh.
func (p *toll) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refreshes
}

// all returns what was granted, in order.
func (p *toll) all() []tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]tokens(nil), p.granted...)
}
