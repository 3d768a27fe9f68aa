package transport

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

const okJSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"

// closing answers one request on each connection, says that it stays open, and
// closes it when the next request comes.
func closing() (handle, *atomic.Int64) {
	answered := new(atomic.Int64)
	used := make(chan map[net.Conn]bool, 1)
	used <- map[net.Conn]bool{}
	return func(_ int, c net.Conn, _ *http.Request) bool {
		seen := <-used
		defer func() { used <- seen }()
		if seen[c] {
			return false
		}
		seen[c] = true
		answered.Add(1)
		io.WriteString(c, okJSON)
		return true
	}, answered
}

// A connection that is closed just as the next request is written costs
// neither the run nor a pause.
func TestKeptAliveConnectionCloses(t *testing.T) {
	h, answered := closing()
	s := newStack(t, Config{Base: NewBase()})
	c := newClient(t, s, listen(t, h))
	start := time.Now()
	for range 5 {
		if _, err := c.Get(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Post(t.Context(), "search", "application/json", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if got := answered.Load(); got != 10 {
		t.Errorf("%d requests were answered, want 10", got)
	}
	if got := time.Since(start); got > 900*time.Millisecond {
		t.Errorf("took %s: it paused", got)
	}
}

// A request that must not be sent twice is not.
func TestSingleAttemptIsNotRepeated(t *testing.T) {
	var n atomic.Int64
	url := listen(t, func(_ int, c net.Conn, r *http.Request) bool {
		if r.Method == "POST" {
			n.Add(1)
			return false
		}
		io.WriteString(c, okJSON)
		return true
	})
	c := newClient(t, newStack(t, Config{Base: NewBase(), Attempts: 1}), url)
	if _, err := c.Get(t.Context(), "x", nil); err != nil { // the connection is kept
		t.Fatal(err)
	}
	if _, err := c.Post(t.Context(), "token", "application/x-www-form-urlencoded", []byte("grant_type=refresh_token")); err == nil {
		t.Error("got no error")
	}
	if got := n.Load(); got != 1 {
		t.Errorf("it was sent %d times", got)
	}
}

func TestResetConnections(t *testing.T) {
	reset := func(c net.Conn) {
		if err := c.(*net.TCPConn).SetLinger(0); err != nil { // close sends RST
			t.Error(err)
		}
	}
	t.Run("before the header", func(t *testing.T) {
		t.Parallel()
		url := listen(t, func(n int, c net.Conn, _ *http.Request) bool {
			if n == 1 {
				reset(c)
				return false
			}
			io.WriteString(c, okJSON)
			return true
		})
		s := newStack(t, Config{Base: NewBase()})
		start := time.Now()
		if _, err := newClient(t, s, url).Get(t.Context(), "x", nil); err != nil || s.Requests() != 2 || time.Since(start) > 900*time.Millisecond {
			t.Errorf("got %v after %d requests and %s", err, s.Requests(), time.Since(start))
		}
	})
	t.Run("before every header", func(t *testing.T) {
		t.Parallel()
		url := listen(t, func(n int, c net.Conn, _ *http.Request) bool { reset(c); return false })
		s := newStack(t, Config{Base: NewBase(), Attempts: 3})
		start := time.Now()
		_, err := newClient(t, s, url).Get(t.Context(), "x", nil)
		if err == nil || !strings.HasSuffix(err.Error(), "(3 attempts)") || s.Requests() != 3 || time.Since(start) < time.Second {
			t.Errorf("got %v after %d requests and %s", err, s.Requests(), time.Since(start))
		}
	})
	t.Run("in the body", func(t *testing.T) {
		t.Parallel()
		url := listen(t, func(n int, c net.Conn, _ *http.Request) bool {
			if n == 1 {
				io.WriteString(c, strings.Replace(okJSON, ": 2", ": 2000", 1))
				time.Sleep(50 * time.Millisecond) // so that what was sent arrives before the reset
				reset(c)
				return false
			}
			io.WriteString(c, okJSON)
			return true
		})
		s := newStack(t, Config{Base: NewBase()})
		resp, err := newClient(t, s, url).Get(t.Context(), "x", nil)
		if err != nil || string(resp.Body) != "[]" || s.Requests() != 2 {
			t.Errorf("got %v, %v after %d requests", resp, err, s.Requests())
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		l.Close()
		s := newStack(t, Config{Base: NewBase(), Attempts: 2})
		_, err = newClient(t, s, url).Get(t.Context(), "x", nil)
		if want := "GET " + url + "/x: dial " + l.Addr().String() + ": connection refused (2 attempts)"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// Lengths that contradict each other are refused, and statuses beyond all
// lists are judged by their hundreds.
func TestOddHeads(t *testing.T) {
	tests := []struct {
		name, head string
		requests   int64
		status     int // 0: no answer
	}{
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]", 2, 0},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n[]", 2, 0},
		{"999", "HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", 2, 999},
		{"520", "HTTP/1.1 520 Odd\r\nContent-Length: 0\r\n\r\n", 2, 520},
		{"501", "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n", 1, 501},
		{"499", "HTTP/1.1 499 Odd\r\nContent-Length: 0\r\n\r\n", 1, 499},
		{"300", "HTTP/1.1 300 Multiple Choices\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", 1, 300},
		{"302 to nowhere", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 1, 302},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, Config{Attempts: 2})
			_, err := newClient(t, s, listen(t, once(tt.head))).Get(t.Context(), "x", nil)
			status := 0
			if he, ok := err.(*syncd.HTTPError); ok {
				status = he.Status
			}
			if err == nil || status != tt.status || s.Requests() != tt.requests {
				t.Errorf("got %v after %d requests, want status %d after %d", err, s.Requests(), tt.status, tt.requests)
			}
		})
	}
}
