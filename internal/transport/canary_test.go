package transport

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// leaks reports whether a text shows the canary in any spelling.
func leaks(text string) bool {
	for _, spelling := range []string{
		canary, url.QueryEscape(canary), url.PathEscape(canary), "s3cr3t",
		base64.StdEncoding.EncodeToString([]byte("alice:" + canary)),
	} {
		if strings.Contains(text, spelling) {
			return true
		}
	}
	return false
}

// everyText returns all that could be printed of an error: as text, in all its
// layers, and as a structure.
func everyText(err error) string {
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("", "err", err)
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&b, "%s\n%v\n%+v\n%#v\n", err, err, err, err)
		text, _ := json.Marshal(err)
		b.Write(text)
		if he, ok := err.(*syncd.HTTPError); ok {
			fmt.Fprintf(&b, "%s %v", he.Body, he.Header)
		}
	}
	return b.String()
}

func TestSecretsAreInNoError(t *testing.T) {
	closed := func() string { // a port where nobody listens
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return "http://" + l.Addr().String()
	}()
	// echo answers with all that it was asked, in the body and the headers.
	echo := func(status, more string) handle {
		return func(_ int, c net.Conn, r *http.Request) bool {
			auth := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
			body := fmt.Sprintf("you sent %s and %s", auth, r.RequestURI)
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nX-Echo: %s %s\r\n%sContent-Length: %d\r\n\r\n%s", status, auth, r.RequestURI, more, len(body), body)
			return false
		}
	}
	garbage := func(raw string) handle {
		return func(_ int, c net.Conn, r *http.Request) bool {
			auth := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
			fmt.Fprintf(c, raw, auth+r.RequestURI)
			return false
		}
	}
	hosts := map[string]string{
		"nobody listens":     closed,
		"no such host":       "http://no-such-host.invalid",
		"400":                listen(t, echo("400 Bad Request", "")),
		"401":                listen(t, echo("401 Unauthorized", "")),
		"403":                listen(t, echo("403 Forbidden", "")),
		"500":                listen(t, echo("500 Internal Server Error", "")),
		"429":                listen(t, echo("429 Too Many Requests", "Retry-After: 9999\r\n")),
		"a page":             listen(t, echo("200 OK", "Content-Type: text/html\r\n")),
		"no JSON":            listen(t, echo("200 OK", "Content-Type: application/json\r\n")),
		"charset":            listen(t, garbage("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=\"%s\"\r\n\r\n")),
		"coding":             listen(t, garbage("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n")),
		"silence":            listen(t, func(_ int, c net.Conn, _ *http.Request) bool { c.Read(make([]byte, 1)); return false }),
		"closed at once":     listen(t, func(int, net.Conn, *http.Request) bool { return false }),
		"no HTTP":            listen(t, garbage("%s, no HTTP\r\n\r\n")),
		"bad status":         listen(t, garbage("HTTP/1.1 %s\r\n\r\n")),
		"bad header":         listen(t, garbage("HTTP/1.1 200 OK\r\n%s\r\n\r\n")),
		"bad chunk":          listen(t, garbage("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n")),
		"redirect":           listen(t, garbage("HTTP/1.1 302 Found\r\nLocation: http://other.test/?x=%s\r\nContent-Length: 0\r\n\r\n")),
		"redirect to no URL": listen(t, garbage("HTTP/1.1 302 Found\r\nLocation: http://%%zz/?x=%s\r\nContent-Length: 0\r\n\r\n")),
		"redirect to itself": listen(t, garbage("HTTP/1.1 302 Found\r\nLocation: /?x=%s\r\nContent-Length: 0\r\n\r\n")),
		"redirect of scheme": listen(t, garbage("HTTP/1.1 302 Found\r\nLocation: ftp://h/?x=%s\r\nContent-Length: 0\r\n\r\n")),
	}
	auths := map[string]Config{
		"bearer": {Auth: syncd.Auth{Scheme: syncd.Bearer}, Credentials: token(canary)},
		"basic":  {Auth: syncd.Auth{Scheme: syncd.Basic}, Credentials: map[string]vault.Secret{"username": vault.NewSecret("alice"), "password": vault.NewSecret(canary)}},
		"header": {Auth: syncd.Auth{Scheme: syncd.HeaderKey, Name: "X-Api-Key"}, Credentials: token(canary)},
		"query":  {Auth: syncd.Auth{Scheme: syncd.QueryKey, Name: "api_key"}, Credentials: token(canary)},
	}
	for name, host := range hosts {
		for scheme, cfg := range auths {
			t.Run(name+", "+scheme, func(t *testing.T) {
				t.Parallel()
				cfg.Attempts, cfg.HeaderTimeout = 1, 200*time.Millisecond
				s := newStack(t, cfg)
				c := newClient(t, s, host)
				_, err := c.Get(t.Context(), "path", url.Values{"filter": {canary}})
				if err == nil {
					t.Fatal("got no error")
				}
				if text := everyText(err); leaks(text) || strings.Contains(text, "filter") && !strings.Contains(text, "you sent") {
					t.Errorf("the error shows a secret: %s", text)
				}
				if resp, err := c.Open(t.Context(), "path", nil); err != nil {
					if text := everyText(err); leaks(text) {
						t.Errorf("the error of a stream shows a secret: %s", text)
					}
				} else {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if err != nil && leaks(everyText(err)) {
						t.Errorf("the error of a stream's body shows a secret: %s", everyText(err))
					}
				}
				if text := fmt.Sprintf("%v %+v %#v", s, s, *s.sign); leaks(text) {
					t.Errorf("the stack shows a secret: %s", text)
				}
			})
		}
	}
}

func TestErrorTexts(t *testing.T) {
	hidden := func(s string) string { return strings.ReplaceAll(s, canary, "[secret]") }
	tests := []struct {
		err   error
		text  string
		cause error
	}{
		{&url.Error{Op: "Get", URL: "https://u:p@api.test/x?q=1&k=" + canary, Err: errors.New("boom")}, `Get "...": boom`, nil},
		{errors.New(`malformed HTTP response "` + canary + `"`), `malformed HTTP response "..."`, nil},
		{errors.New(`malformed HTTP response "` + canary), `malformed HTTP response "..."`, nil},
		{errors.New("parse https://u:p@api.test/x?q=" + canary + " now"), "parse https://api.test/x now", nil},
		{errors.New("bad " + canary), "bad [secret]", nil},
		{fmt.Errorf("%s: %w", canary, context.Canceled), "context canceled", context.Canceled},
		{fmt.Errorf("%s: %w", canary, context.DeadlineExceeded), "context deadline exceeded", context.DeadlineExceeded},
		{fmt.Errorf("%s: %w", canary, io.ErrUnexpectedEOF), "the connection was closed in the middle of the answer", io.ErrUnexpectedEOF},
		{io.EOF, "the connection was closed without an answer", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		text, cause := describe(tt.err, hidden)
		if text != tt.text || cause != tt.cause {
			t.Errorf("%v: got %q, %v, want %q, %v", tt.err, text, cause, tt.text, tt.cause)
		}
	}
	if text, _ := describe(errors.New(strings.Repeat("x", 5000)), hidden); len(text) > 310 {
		t.Errorf("got a text of %d bytes", len(text))
	}
}
