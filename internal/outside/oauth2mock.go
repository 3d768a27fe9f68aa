package outside

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// An OAuth2MockServer is an authorization server that everybody consents at,
// and that does as it is told.
type OAuth2MockServer struct {
	Server
}

// An Order says how one request for a token is answered. Its zero value leaves
// that to the server.
type Order struct {
	Delay  int            `json:"delay,omitempty"`  // milliseconds before anything else
	Cut    bool           `json:"cut,omitempty"`    // the connection ends without an answer
	Status int            `json:"status,omitempty"` // in place of 200
	Type   string         `json:"type,omitempty"`   // of Body
	Body   string         `json:"body,omitempty"`   // in place of the server's own answer
	Change map[string]any `json:"change,omitempty"` // members put over the server's own answer; nil takes one out
}

// OAuth2Mock starts an oauth2-mock-server, which ends with the test.
//
// It is a server of https://github.com/axa-group/oauth2-mock-server: /authorize
// sends the browser back at once, and /token grants
//
//	{"access_token":"eyJ0eXAiOiJKV1QiLCJraWQiOiI3...","token_type":"Bearer","expires_in":3600,
//	 "scope":"dummy","refresh_token":"c3df7af0-fd72-4677-9f13-8d00c4bd3abb","id_token":"eyJ0..."}
//
// It proves that requests are formed as a server written by others reads them,
// and it answers badly on request; not that a token is any good:
//
//   - A code is checked against its PKCE challenge, once. Nothing else is checked: not the
//     application's secret, and no refresh token, which may be made up and used for ever.
//   - Every answer has a new refresh token, and the old one stays good.
//   - /revoke takes everything and revokes nothing.
//   - Its errors are no OAuth errors but RFC 9457's: 400 {"type":"https://tools.ietf.org/...",
//     "title":"Bad Request","detail":"code_challenge required"}.
func OAuth2Mock(tb testing.TB) *OAuth2MockServer {
	tb.Helper()
	installed := filepath.Dir(oauth2mock.need(tb))
	program, err := node(tb.Context())
	if err != nil {
		giveUp(tb, err)
	}
	dir := tb.TempDir()
	content, err := packages.ReadFile("npm/serve.mjs")
	if err != nil {
		tb.Fatal(err)
	}
	script := filepath.Join(dir, "serve.mjs")
	if err := os.WriteFile(script, content, 0o644); err != nil {
		tb.Fatal(err)
	}
	module := filepath.Join(installed, "node_modules", "oauth2-mock-server", "dist", "index.mjs")
	address := serve(tb, service{name: "oauth2-mock-server", dir: dir, health: "/control/count", command: func(address string) *exec.Cmd {
		host, port, _ := net.SplitHostPort(address)
		return exec.Command(program, script, module, host, port)
	}})
	return &OAuth2MockServer{newServer(tb, address)}
}

// Next says how the next requests for tokens are answered, one order each.
func (s *OAuth2MockServer) Next(tb testing.TB, orders ...Order) {
	tb.Helper()
	s.Call(tb, "POST", "/control/next", orders)
}

// Requests returns how many requests for tokens have come.
func (s *OAuth2MockServer) Requests(tb testing.TB) int {
	tb.Helper()
	n, err := strconv.Atoi(s.Call(tb, "GET", "/control/count", nil).Object(tb).Text("count"))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
