package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// once answers every request with the same bytes and closes.
func once(raw string) handle {
	return func(_ int, c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		return false
	}
}

func ok(header, body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + header + "\r\n" + body
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// TestCutBodies writes broken answers to real sockets. Each is an error by
// either way of reading, and of Whole one that is worth another attempt.
func TestCutBodies(t *testing.T) {
	zip := string(zipped(t, `[{"id":1},{"id":2}]`))
	gz := "Content-Encoding: gzip\r\n"
	tests := []struct {
		name      string
		raw       string
		streamErr bool // a stream sees it as well; it does not look at what the bytes say
	}{
		{"cut after a value", ok("Content-Length: 100\r\n", `[{"id":1}]`), true},
		{"cut in a value", ok("Content-Length: 100\r\n", `[{"id":`), true},
		{"nothing of it", ok("Content-Length: 100\r\n", ``), true},
		{"no last chunk", ok("Transfer-Encoding: chunked\r\n", chunk(`[1,2]`)), true},
		{"cut in a chunk", ok("Transfer-Encoding: chunked\r\n", "20\r\n[1,2]"), true},
		{"no bytes at all", ok("Content-Length: 0\r\n", ""), false},
		{"white space", ok("Content-Length: 4\r\n", "  \r\n"), false},
		{"a byte order mark", ok("Content-Length: 3\r\n", "\xef\xbb\xbf"), false},
		{"longer than its length", ok("Content-Length: 9\r\n", `[{"id":1},{"id":2}]`), false},
		{"cut without a length", ok("", `[{"id":1},`), false},
		{"gzip without its trailer", ok(gz, zip[:len(zip)-8]), true},
		{"gzip with a cut trailer", ok(gz, zip[:len(zip)-1]), true},
		{"gzip with a wrong checksum", ok(gz, zip[:len(zip)-8]+"\x00\x00\x00\x00"+zip[len(zip)-4:]), true},
		{"gzip cut in its header", ok(gz, zip[:5]), true},
		{"gzip of nothing", ok(gz+"Content-Length: 0\r\n", ""), false},
		{"gzip that is none", ok(gz, `[{"id":1}]`), true},
		{"gzip and garbage", ok(gz, zip+"garbage"), true},
		{"gzip, whole, without the last chunk", ok(gz+"Transfer-Encoding: chunked\r\n", chunk(zip)), true},
		{"gzip, whole, of too short a length", ok(gz+fmt.Sprintf("Content-Length: %d\r\n", len(zip)+1), zip), true},
		{"two values", ok("", `{"items":[]} <html>error</html>`), false},
		{"a page", ok("", `<html>login</html>`), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := listen(t, once(tt.raw))
			s := newStack(t, Config{Attempts: 1})
			c := newClient(t, s, url)
			resp, err := c.Get(t.Context(), "x", nil)
			if err == nil {
				t.Fatalf("whole: got %q", resp.Body)
			}
			r := s.attempt(httptest.NewRequestWithContext(t.Context(), "GET", url, nil), false, 0)
			if r.err != nil && !repeatable(r.err) {
				t.Errorf("%v is not repeated", r.err)
			}
			stream, err := c.Open(t.Context(), "x", nil)
			if err == nil {
				defer stream.Body.Close()
				_, err = io.ReadAll(stream.Body)
			}
			if (err != nil) != tt.streamErr {
				t.Errorf("stream: got %v", err)
			}
		})
	}
}

// A cut that leaves two fitting ends gets past the check of the ends. It is
// still no answer: decoding refuses it.
func TestCutWithFittingEnds(t *testing.T) {
	c := newClient(t, newStack(t, Config{}), listen(t, once(ok("Content-Length: 9\r\n", `[{"a":[1]},{"id":2}]`))))
	resp, err := c.Get(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	type item struct {
		ID int `json:"id"`
	}
	if got, err := syncd.Decode(resp.Body, "", func(item) syncd.Record { return syncd.Record{} }); err == nil {
		t.Errorf("got %d records", len(got))
	}
}

func TestWholeBodies(t *testing.T) {
	big := `[` + strings.Repeat(`{"id":1234567890},`, 200_000) + `1]`
	tests := []struct{ name, raw, want string }{
		{"plain", ok("Content-Length: 10\r\n", `[{"id":1}]`), `[{"id":1}]`},
		{"chunked", ok("Transfer-Encoding: chunked\r\n", chunk(`[1`)+chunk(`,2]`)+"0\r\n\r\n"), `[1,2]`},
		{"to the end of the connection", ok("", `[1]`), `[1]`},
		{"gzip", ok("Content-Encoding: gzip\r\n", string(zipped(t, `[1]`))), `[1]`},
		{"x-gzip in two members", ok("Content-Encoding: X-GZIP\r\n", string(zipped(t, `[1,`))+string(zipped(t, `2]`))), `[1,2]`},
		{"identity", ok("Content-Encoding: identity\r\n", `[1]`), `[1]`},
		{"byte order mark", ok("", "\xef\xbb\xbf [1]\n"), "\xef\xbb\xbf [1]\n"},
		{"scalars", ok("", "\n true "), "\n true "},
		{"null", ok("", "null"), "null"},
		{"number", ok("", "-1"), "-1"},
		{"large", ok(fmt.Sprintf("Content-Length: %d\r\n", len(big)), big), big},
		{"large gzip", ok("Content-Encoding: gzip\r\n", string(zipped(t, big))), big},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, newStack(t, Config{Attempts: 1}), listen(t, once(tt.raw)))
			resp, err := c.Get(t.Context(), "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(resp.Body) != tt.want {
				t.Errorf("got %.100q (%d bytes), want %.100q", resp.Body, len(resp.Body), tt.want)
			}
			if resp.Header.Get("Content-Encoding") == "gzip" {
				t.Error("the answer still says that it is packed")
			}
			stream, err := c.Open(t.Context(), "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			if got, err := io.ReadAll(stream.Body); err != nil || string(got) != tt.want {
				t.Errorf("stream: got %.100q, %v", got, err)
			}
		})
	}
}

// 100 MB of zeros in 100 kB: the limit is on what comes out.
func TestBomb(t *testing.T) {
	bomb, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "HTP-06.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	const limit = 16 << 20
	url := listen(t, once(ok("Content-Encoding: gzip\r\n", string(bomb))))
	s := newStack(t, Config{MaxBody: limit})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err = newClient(t, s, url).Get(t.Context(), "x", nil)
	runtime.ReadMemStats(&after)
	if want := "the answer is larger than 16777216 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := s.Requests(); got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*limit {
		t.Errorf("allocated %d bytes for a limit of %d", got, limit)
	}
}

func TestBodyLimit(t *testing.T) {
	for length, fits := range map[int]bool{99: true, 100: true, 101: false, 5000: false} {
		body := `"` + strings.Repeat("x", length-2) + `"`
		for _, raw := range []string{ok("", body), ok(fmt.Sprintf("Content-Length: %d\r\n", length), body)} {
			c := newClient(t, newStack(t, Config{MaxBody: 100}), listen(t, once(raw)))
			resp, err := c.Get(t.Context(), "x", nil)
			if (err == nil) != fits || err == nil && string(resp.Body) != body {
				t.Errorf("%d bytes: got %v", length, err)
			}
		}
	}
}

func TestCharsets(t *testing.T) {
	tests := []struct {
		contentType, body, want, err string
	}{
		{"application/json", `["é"]`, `["é"]`, ""},
		{"application/json; charset=utf-8", `["é"]`, `["é"]`, ""},
		{`application/json; charset="UTF8"`, `["é"]`, `["é"]`, ""},
		{"application/json; charset=unicode-1-1-utf-8", `["é"]`, `["é"]`, ""},
		{"application/json; charset=us-ascii", `["e"]`, `["e"]`, ""},
		{"application/json; charset=iso-8859-1", "[\"\xe9\"]", `["é"]`, ""},
		{"application/json; charset=windows-1251", "[\"\xe9\"]", `["й"]`, ""},
		{"application/json; charset=shift_jis", "[\"\x83\x65\"]", `["テ"]`, ""},
		{"application/json; charset=utf-16le", "[\x001\x00]\x00", `[1]`, ""},
		{"application/json; charset=shift_jis", "[\"\xff\"]", "", "not in the charset"},
		{"application/json; charset=klingon", `[]`, "", `unknown charset "klingon"`},
		{"application/json", "\xff\xfe[\x00]\x00", "", "UTF-16"},
		{"application/json", "\xfe\xff\x00[\x00]", "", "UTF-16"},
		{"text/plain", `[1]`, `[1]`, ""},
		{"", `[1]`, `[1]`, ""},
		{";;;", `[1]`, `[1]`, ""},
	}
	for _, tt := range tests {
		base, n := answers(reply(200, tt.body, "Content-Type", tt.contentType))
		resp, err := newClient(t, newStack(t, Config{Base: base}), "http://api.test").Get(t.Context(), "x", nil)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || *n != 1 {
				t.Errorf("%s: got %v after %d requests, want %s", tt.contentType, err, *n, tt.err)
			}
		case err != nil || string(resp.Body) != tt.want:
			t.Errorf("%s: got %v, %v, want %s", tt.contentType, resp, err, tt.want)
		}
	}
}

func TestUnexpectedContentType(t *testing.T) {
	page := "<html><title>\n Sign in &amp; go </title></html>"
	tests := []struct {
		accept, kind string
		whole        bool
		refused      bool
	}{
		{"application/json", "text/html; charset=utf-8", true, true},
		{"application/vnd.github+json", "text/html", true, true},
		{"application/json, */*;q=0.1", "application/xhtml+xml", true, true},
		{"text/csv", "text/html", false, true},
		{"text/csv", "text/plain", false, false},
		{"text/html", "text/html", true, false},
		{"*/*", "text/html", true, false},
		{"", "text/html", true, false},
	}
	for _, tt := range tests {
		base, n := answers(reply(200, page, "Content-Type", tt.kind))
		s := newStack(t, Config{Base: base})
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.accept != "" {
			req.Header.Set("Accept", tt.accept)
		}
		rt := s.Stream()
		if tt.whole {
			rt = s.Whole()
		}
		_, err = rt.RoundTrip(req)
		if (err != nil) != tt.refused || *n != 1 {
			t.Errorf("%q for %q: got %v", tt.kind, tt.accept, err)
		}
		if want := `a page with the title "Sign in & go"`; tt.refused && tt.whole && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestUnknownCoding(t *testing.T) {
	base, _ := answers(reply(200, "xx", "Content-Encoding", "br"))
	s := newStack(t, Config{Base: base})
	if _, err := newClient(t, s, "http://api.test").Get(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), `content encoding "br"`) {
		t.Errorf("got %v", err)
	}
	// Who asked for it unpacks it.
	resp, err := newClient(t, s, "http://api.test").Open(t.Context(), "x", http.Header{"Accept-Encoding": {"br"}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "xx" {
		t.Errorf("got %q, %v", b, err)
	}
}

// trickle sends a byte now and then.
func trickle(every time.Duration, bytes int, size int) handle {
	return func(_ int, c net.Conn, _ *http.Request) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", bytes*size)
		for range bytes {
			time.Sleep(every)
			if _, err := c.Write(make([]byte, size)); err != nil {
				return false
			}
		}
		return true
	}
}

func TestSlowAnswers(t *testing.T) {
	silence := func(_ int, c net.Conn, _ *http.Request) bool { c.Read(make([]byte, 1)); return false }
	tests := []struct {
		name   string
		h      handle
		longer time.Duration // how long it takes at least
		most   time.Duration
		err    string
	}{
		{"no header", silence, 30 * time.Second, 30 * time.Second, "no answer within 30s"},
		{"silence in the body", trickle(10*time.Minute, 1, 1), time.Minute, time.Minute, "no byte of the answer for 1m0s"},
		{"a byte every ten seconds", trickle(10*time.Second, 4096, 1), time.Minute, 71 * time.Second, "6 bytes of the answer in 1m0s"},
		{"large and healthy", trickle(time.Second, 1000, 1<<10), 1000 * time.Second, 1000 * time.Second, ""},
		{"slow to begin, then well", trickle(59*time.Second, 5, 8<<10), 295 * time.Second, 295 * time.Second, ""},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", tt.name, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, Config{Base: pipeBase(t, tt.h), HeaderTimeout: 30 * time.Second, Attempts: 1})
					rt := s.Whole()
					if stream {
						rt = s.Stream()
					}
					req, err := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/x", nil)
					if err != nil {
						t.Fatal(err)
					}
					start := time.Now()
					resp, err := rt.RoundTrip(req)
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					if got := time.Since(start); got < tt.longer || got > tt.most {
						t.Errorf("took %s, want %s to %s", got, tt.longer, tt.most)
					}
					if tt.err == "" {
						if err != nil {
							t.Errorf("got %v", err)
						}
						return
					}
					if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("got %v, want %s", err, tt.err)
					}
				})
			})
		}
	}
}

// What the reader of a stream does in between is not the provider's silence.
func TestSlowReaderIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, Config{Base: pipeBase(t, trickle(time.Second, 100, 4<<10))})
		resp, err := newClient(t, s, "http://api.test").Open(t.Context(), "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		total := 0
		for {
			n, err := resp.Body.Read(make([]byte, 4<<10))
			if total += n; err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
		}
		if total != 400<<10 {
			t.Errorf("got %d bytes", total)
		}
	})
}

// The body of a refusal does not matter enough to wait for it for long.
func TestRefusalWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, Config{Base: pipeBase(t, func(_ int, c net.Conn, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 100000\r\n\r\n")
			for {
				time.Sleep(time.Second)
				if _, err := c.Write(make([]byte, 100)); err != nil {
					return false
				}
			}
		})})
		start := time.Now()
		_, err := newClient(t, s, "http://api.test").Get(t.Context(), "x", nil)
		if err == nil || !strings.Contains(err.Error(), "404 Not Found") || time.Since(start) > time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

// HTTP/2 tells no error when a declared length is not followed by any byte.
func TestHTTP2WithoutBody(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "500")
		w.WriteHeader(200)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	s := newStack(t, Config{Base: server.Client().Transport, Attempts: 1})
	resp, err := newClient(t, s, server.URL).Get(t.Context(), "x", nil)
	if err == nil {
		t.Errorf("got %q", resp.Body)
	}
}
