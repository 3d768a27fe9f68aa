package config

import (
	"fmt"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd/internal/vault"
)

// leastToken is how short a token of an application may be, in characters.
const leastToken = 20

// api reads who may ask the daemon for what. No error shows a token.
func (l *loader) api(root *yaml.Node, f *fileShape) {
	s := &f.API
	if (s.URL.good || s.Tokens.good) && !f.Listen.given() {
		l.add(root, "there is api:, and nowhere to ask", "write listen: HOST:PORT")
	}
	if s.URL.good {
		l.cfg.API.URL = l.publicURL(&s.URL)
	}
	if s.Tokens.good {
		for i, text := range s.Tokens.Value {
			n := resolve(s.Tokens.node).Content[i]
			if len(text) < leastToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
				l.add(n, fmt.Sprintf("tokens: a token is of %d or more characters of ASCII without spaces", leastToken), "make one such as by: openssl rand -base64 32")
				continue
			}
			l.cfg.API.Tokens = append(l.cfg.API.Tokens, vault.NewSecret(text))
		}
	}
	if s.ReturnTo.good {
		for i, text := range s.ReturnTo.Value {
			origin, ok := Origin(text)
			if u, err := url.Parse(text); !ok || err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
				l.refuse(spot{label: "return_to", node: resolve(s.ReturnTo.node).Content[i]}, "https://HOST", problem{fmt.Sprintf("%q is not https://HOST", clip(text)), "write it such as https://app.example.com"})
				continue
			}
			l.cfg.API.ReturnTo = append(l.cfg.API.ReturnTo, origin)
		}
	}
}

// publicURL returns where users' browsers find the daemon.
func (l *loader) publicURL(a *at[string]) string {
	u, err := url.Parse(a.Value)
	switch {
	case err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Host == "":
		l.refuse(a.spot, "https://HOST", problem{"it is not https://HOST", "write it such as https://sync.example.com"})
	case !isSafe(a.Value):
		l.refuse(a.spot, "https://HOST", problem{"it is not https://HOST", "credentials come this way: only a server on this machine may be asked by http"})
	}
	return strings.TrimSuffix(a.Value, "/")
}

// Origin returns the origin of a page as browsers spell it, where a user may be
// sent: by https, or on this machine.
func Origin(page string) (string, bool) {
	if !isSafe(page) || strings.ContainsFunc(page, func(r rune) bool { return r <= ' ' || r == '\\' }) {
		return "", false
	}
	u, err := url.Parse(page)
	if err != nil || u.Opaque != "" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host, true
}
