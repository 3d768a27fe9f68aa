package run_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/syncdhq/syncd/internal/transport"
)

// listen plays the script over a loopback socket until the test ends, and
// returns a round tripper that reaches it as provider.test and nothing else.
// Each request has a connection of its own, so that in a bubble no goroutine
// waits for one: fake time would stand still.
func (s *script) listen(t *testing.T) *http.Transport {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.answer(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	base := transport.NewBase()
	base.Proxy, base.DisableKeepAlives = nil, true
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "provider.test:80" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.strayed = append(s.strayed, address)
			return nil, fmt.Errorf("there is no way to %s", address)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, l.Addr().String())
	}
	return base
}

// answer answers one request and closes the connection.
func (s *script) answer(c *net.TCPConn) {
	defer c.Close()
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	step, ok := s.next(req.URL.Query())
	if !ok || step.Close == "reset_before_headers" {
		c.SetLinger(0) // closes by RST
		return
	}
	if step.Raw != "" {
		io.WriteString(c, step.Raw)
		return
	}
	body := step.body()
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", step.Status, http.StatusText(step.Status))
	for name, value := range step.Headers {
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	if step.Headers["Content-Length"] == "" && !step.NoContentLength && step.Status != http.StatusNoContent && step.Status != http.StatusNotModified {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	io.WriteString(c, head.String()+"\r\n"+string(body))
	if step.StallAfterBytes > 0 {
		c.Read(make([]byte, 1)) // silence, until the client gives up
	}
}
