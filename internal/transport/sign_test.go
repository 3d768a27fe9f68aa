package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

func TestSign(t *testing.T) {
	pair := map[string]vault.Secret{"username": vault.NewSecret("alice"), "password": vault.NewSecret("open sesame")}
	tests := []struct {
		name   string
		auth   syncd.Auth
		creds  map[string]vault.Secret
		header http.Header
		query  string
	}{
		{"none", syncd.Auth{}, token("t"), http.Header{}, "a=1&b=%20"},
		{"bearer", syncd.Auth{Scheme: syncd.Bearer}, token("t"), http.Header{"Authorization": {"Bearer t"}}, "a=1&b=%20"},
		{"basic", syncd.Auth{Scheme: syncd.Basic}, pair, http.Header{"Authorization": {"Basic YWxpY2U6b3BlbiBzZXNhbWU="}}, "a=1&b=%20"},
		{"basic, empty password", syncd.Auth{Scheme: syncd.Basic}, map[string]vault.Secret{"username": vault.NewSecret("key"), "password": {}}, http.Header{"Authorization": {"Basic a2V5Og=="}}, "a=1&b=%20"},
		{"header", syncd.Auth{Scheme: syncd.HeaderKey, Name: "X-Api-Key"}, token("t"), http.Header{"X-Api-Key": {"t"}}, "a=1&b=%20"},
		{"query", syncd.Auth{Scheme: syncd.QueryKey, Name: "key"}, token("a b&c"), http.Header{}, "a=1&b=%20&key=a+b%26c"},
		{"optional, none", syncd.Auth{Scheme: syncd.Bearer, Optional: true}, nil, http.Header{}, "a=1&b=%20"},
		{"optional, some", syncd.Auth{Scheme: syncd.Bearer, Optional: true}, token("t"), http.Header{"Authorization": {"Bearer t"}}, "a=1&b=%20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got http.Header
			var query string
			s := newStack(t, Config{Auth: tt.auth, Credentials: tt.creds, Base: handler(func(w http.ResponseWriter, r *http.Request) {
				got, query = r.Header, r.URL.RawQuery
			})})
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/x?a=1&b=%20", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.Whole().RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.header.Clone()
			want.Set("User-Agent", "syncd")
			want.Set("Accept-Encoding", "gzip")
			if fmt.Sprint(got) != fmt.Sprint(want) || query != tt.query {
				t.Errorf("got %v and %s, want %v and %s", got, query, want, tt.query)
			}
			if len(req.Header) > 0 || req.URL.RawQuery != "a=1&b=%20" {
				t.Errorf("the caller's request was changed: %v", req)
			}
			if h := resp.Request.Header; h.Get("Authorization")+h.Get("X-Api-Key") != "" || resp.Request.URL.RawQuery != "a=1&b=%20" {
				t.Errorf("the answer's request is signed: %v", resp.Request)
			}
		})
	}
}

func TestCredentialsMissingOrWrong(t *testing.T) {
	pair := func(user, password string) map[string]vault.Secret {
		return map[string]vault.Secret{"username": vault.NewSecret(user), "password": vault.NewSecret(password)}
	}
	tests := []struct {
		auth  syncd.Auth
		creds map[string]vault.Secret
		want  string
	}{
		{syncd.Auth{Scheme: syncd.Bearer}, nil, "no credentials: set credentials: { token: ... }"},
		{syncd.Auth{Scheme: syncd.Bearer}, token(""), "no credentials: set credentials: { token: ... }"},
		{syncd.Auth{Scheme: syncd.HeaderKey, Name: "X-Key"}, map[string]vault.Secret{"key": vault.NewSecret(canary)}, "no credentials: set credentials: { token: ... }"},
		{syncd.Auth{Scheme: syncd.Basic}, nil, "no credentials: set credentials: { username: ..., password: ... }"},
		{syncd.Auth{Scheme: syncd.Basic}, token(canary), "no credentials: set credentials: { username: ..., password: ... }"},
		{syncd.Auth{Scheme: syncd.Basic, Optional: true}, map[string]vault.Secret{"username": vault.NewSecret(canary)}, "no credentials: set credentials: { password: ... }"},
		{syncd.Auth{Scheme: syncd.Basic}, pair(canary+":x", canary), "credentials: username has a colon in it, which basic authentication cannot carry (RFC 7617)"},
		{syncd.Auth{Scheme: syncd.Bearer}, token(canary + "\n"), "credentials: token has a line break or another control character in it"},
		{syncd.Auth{Scheme: syncd.HeaderKey}, token(canary), `auth: the scheme "header" needs a name`},
		{syncd.Auth{Scheme: syncd.QueryKey}, token(canary), `auth: the scheme "query" needs a name`},
		{syncd.Auth{Scheme: "hmac"}, token(canary), `auth: unknown scheme "hmac"`},
	}
	for _, tt := range tests {
		if _, err := New(Config{Auth: tt.auth, Credentials: tt.creds}); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.auth, err, tt.want)
		}
	}
}

// A provider that answers with the key in its links: the next page is asked
// with the key once, and what the connector sees and stores is without it.
func TestKeyEchoedInLinks(t *testing.T) {
	var queries []string
	key := url.QueryEscape(canary)
	s := newStack(t, Config{
		Auth: syncd.Auth{Scheme: syncd.QueryKey, Name: "api_key"}, Credentials: token(canary),
		Base: handler(func(w http.ResponseWriter, r *http.Request) {
			queries = append(queries, r.URL.RawQuery)
			w.Header().Set("Link", `<http://api.test/items?page=2&api_key=`+key+`>; rel="next"`)
			fmt.Fprintf(w, `{"next":"/items?api_key=%s&page=2","price":1.10}`, key)
		}),
	})
	c := newClient(t, s, "http://api.test")
	resp, err := c.Get(t.Context(), "items", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"next":"/items?api_key=redacted&page=2","price":1.10}`; string(resp.Body) != want {
		t.Errorf("got %s, want %s", resp.Body, want)
	}
	next, err := resp.NextLink()
	if err != nil || next != "http://api.test/items?page=2&api_key=redacted" {
		t.Fatalf("got %q, %v", next, err)
	}
	if resp, err = c.Get(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	if got := resp.URL.String(); got != "http://api.test/items?page=2" {
		t.Errorf("got the URL %s", got)
	}
	if got, want := strings.Join(queries, " "), "api_key="+key+" page=2&api_key="+key; got != want {
		t.Errorf("got the queries %s, want %s", got, want)
	}
}
