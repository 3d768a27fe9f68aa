package transport

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// A signer adds the source's credentials to a request.
type signer struct {
	auth     syncd.Auth
	username string // of Basic
	signs    bool
	*held
}

// held is the secret that signs, which may be replaced while requests are made.
type held struct {
	mu     sync.RWMutex
	secret vault.Secret
	past   []vault.Secret // tokens that were used before: they are to be redacted still
}

// current returns the secret that signs.
func (h *held) current() vault.Secret {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.secret
}

// use makes a token the one that signs.
func (h *held) use(token vault.Secret) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.secret.IsZero() && !h.secret.Equal(token) {
		h.past = append(h.past[max(0, len(h.past)-4):], h.secret)
	}
	h.secret = token
}

// newSigner checks the credentials against what the scheme needs. Its errors
// name the key to set and never a value.
func newSigner(auth syncd.Auth, credentials map[string]vault.Secret) (*signer, error) {
	s := &signer{auth: auth, held: &held{}}
	if (auth.Scheme == syncd.HeaderKey || auth.Scheme == syncd.QueryKey) && auth.Name == "" {
		return nil, fmt.Errorf("auth: the scheme %q needs a name", auth.Scheme)
	}
	var keys []string
	switch auth.Scheme {
	case syncd.NoAuth:
		return s, nil
	case syncd.OAuth2:
		s.signs = true
		return s, nil
	case syncd.Bearer, syncd.HeaderKey, syncd.QueryKey:
		keys = []string{"token"}
	case syncd.Basic:
		keys = []string{"username", "password"}
	default:
		return nil, fmt.Errorf("auth: unknown scheme %q", auth.Scheme)
	}
	var missing []string
	for _, key := range keys {
		secret, ok := credentials[key]
		// An empty password is one: some providers take a key as the user name.
		if !ok || secret.IsZero() && key != "password" {
			missing = append(missing, key)
		}
		if err := printable(key, secret); err != nil {
			return nil, err
		}
	}
	if len(missing) == len(keys) && auth.Optional {
		return s, nil
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no credentials: set credentials: { %s: ... }", strings.Join(missing, ": ..., "))
	}
	s.signs, s.secret = true, credentials[keys[len(keys)-1]]
	if auth.Scheme == syncd.Basic {
		s.username = credentials["username"].Reveal()
		if strings.Contains(s.username, ":") {
			return nil, errors.New("credentials: username has a colon in it, which basic authentication cannot carry (RFC 7617)")
		}
	}
	return s, nil
}

// printable refuses what a header cannot carry: mostly the line break at the
// end of a file that a token was read from.
func printable(key string, secret vault.Secret) error {
	if strings.ContainsFunc(secret.Reveal(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("credentials: %s has a line break or another control character in it", key)
	}
	return nil
}

// sign adds the credentials, in place of what the connector or an answer put there.
func (s *signer) sign(req *http.Request) {
	if !s.signs {
		return
	}
	switch s.auth.Scheme {
	case syncd.Bearer, syncd.OAuth2:
		req.Header.Set("Authorization", "Bearer "+s.current().Reveal())
	case syncd.Basic:
		req.SetBasicAuth(s.username, s.current().Reveal())
	case syncd.HeaderKey:
		req.Header.Set(s.auth.Name, s.auth.Prefix+s.current().Reveal())
	case syncd.QueryKey:
		u := *req.URL
		pair := url.QueryEscape(s.auth.Name) + "=" + url.QueryEscape(s.current().Reveal())
		s.unsign(&u)
		if u.RawQuery != "" {
			pair = "&" + pair
		}
		u.RawQuery += pair
		req.URL = &u
	}
}

// unsign takes the key that sign adds out of a URL.
func (s *signer) unsign(u *url.URL) {
	if s.signs && s.auth.Scheme == syncd.QueryKey {
		u.RawQuery = dropPairs(u.RawQuery, func(name, _ string) bool { return name == s.auth.Name })
	}
}

// dropPairs removes pairs from a query and leaves the rest byte for byte.
func dropPairs(query string, drop func(name, value string) bool) string {
	if query == "" {
		return ""
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if !drop(unescape(name), unescape(value)) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// shortest is the length from which a secret is looked for in texts. A shorter
// one would blot out half of them, and is hardly one.
const shortest = 4

// spellings returns the forms in which the credentials could come back in an
// answer or in an error.
func (s *signer) spellings() []string {
	if !s.signs {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	secrets := []string{s.secret.Reveal()}
	for _, p := range s.past {
		secrets = append(secrets, p.Reveal())
	}
	if s.auth.Scheme == syncd.Basic {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(s.username+":"+s.secret.Reveal())))
		if s.secret.IsZero() {
			secrets = append(secrets, s.username) // it is the secret, then
		}
	}
	var all []string
	for _, secret := range secrets {
		if len(secret) < shortest {
			continue
		}
		all = append(all, secret)
		for _, other := range []string{url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(fmt.Sprintf("%q", secret), `"`)} {
			if other != secret {
				all = append(all, other)
			}
		}
	}
	return all
}

// redact replaces the credentials in a text.
func (s *signer) redact(text string) string {
	for _, secret := range s.spellings() {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// redactHeader replaces the credentials in a header: answers echo them in Link
// and Location, and what a connector takes from there is stored.
func (s *signer) redactHeader(h http.Header) {
	spellings := s.spellings()
	for _, values := range h {
		for i, value := range values {
			for _, secret := range spellings {
				value = strings.ReplaceAll(value, secret, "redacted")
			}
			values[i] = value
		}
	}
}
