package transport

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/vault"
)

// canary is the secret that no text may show.
const canary = "canary/s3cr3t+ü"

func token(text string) map[string]vault.Secret {
	return map[string]vault.Secret{"token": vault.NewSecret(text)}
}

// A handle answers the nth request of all, from 1, and says whether the
// connection stays open.
type handle func(n int, c net.Conn, r *http.Request) (keep bool)

func serve(c net.Conn, n *atomic.Int64, h handle) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !h(int(n.Add(1)), c, r) {
			return
		}
	}
}

// pipeBase returns a real HTTP client whose connections are pipes to h. It is
// for bubbles of fake time only.
func pipeBase(t *testing.T, h handle) *http.Transport {
	var n atomic.Int64
	base := NewBase()
	base.Proxy = nil
	base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(theirs, &n, h)
		return ours, nil
	}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		time.Sleep(time.Hour) // until h notices, whatever it waits for
	})
	return base
}

// listen serves h on a loopback socket and returns its URL.
func listen(t *testing.T, h handle) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			all.Go(func() { serve(c, &n, h) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}

// handlerBase is a round tripper that calls a handler.
type handlerBase struct{ http.Handler }

func (b handlerBase) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	b.ServeHTTP(w, r)
	return w.Result(), nil
}

func handler(f http.HandlerFunc) handlerBase { return handlerBase{f} }

// answers returns a base that gives the answers in turn, and the last for ever.
func answers(all ...*http.Response) (http.RoundTripper, *int) {
	n := new(int)
	return handler(func(w http.ResponseWriter, r *http.Request) {
		a := all[min(*n, len(all)-1)]
		*n++
		for name, values := range a.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(a.StatusCode)
		body, _ := io.ReadAll(a.Body)
		a.Body = io.NopCloser(strings.NewReader(string(body)))
		w.Write(body)
	}), n
}

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func newStack(t *testing.T, cfg Config) *Stack {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient(t *testing.T, s *Stack, base string) *syncd.Client {
	t.Helper()
	c, err := s.Client(base)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A scripted is one entry of a shared .http.json file.
type scripted struct {
	Status          int
	Headers         map[string]string
	Body            string
	BodyB64         string `json:"body_b64"`
	Raw             string
	Close           bool
	Repeat          int
	NoContentLength bool `json:"no_content_length"`
	StallAfterBytes int  `json:"stall_after_bytes"`
}

func script(t *testing.T, name string) []scripted {
	t.Helper()
	var all, flat []scripted
	readJSON(t, name+".http.json", &all)
	for _, s := range all {
		for range max(s.Repeat, 1) {
			flat = append(flat, s)
		}
	}
	return flat
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// play answers from a script; its last entry is repeated.
func play(t *testing.T, all []scripted) handle {
	return func(n int, c net.Conn, r *http.Request) bool {
		s := all[min(n, len(all))-1]
		if s.Raw != "" {
			io.WriteString(c, s.Raw)
			return !s.Close
		}
		body := s.Body
		if s.BodyB64 != "" {
			b, err := base64.StdEncoding.DecodeString(s.BodyB64)
			if err != nil {
				t.Error(err)
			}
			body = string(b)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", s.Status, http.StatusText(s.Status))
		for name, value := range s.Headers {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
		if s.Headers["Content-Length"] == "" && !s.NoContentLength && s.Status != 204 && s.Status != 304 {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
		}
		b.WriteString("\r\n")
		io.WriteString(c, b.String()+body)
		if s.StallAfterBytes > 0 {
			c.Read(make([]byte, 1)) // silence, until the client gives up
			return false
		}
		return !s.Close
	}
}
