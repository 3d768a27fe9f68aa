package config

import (
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// oauth reads the registration of the operator's application.
func (l *loader) oauth(p *provider, s *oauthShape) {
	first := s.first()
	if first == nil {
		return
	}
	if p.Connector.Auth.Scheme != syncd.OAuth2 || p.Connector.Auth.OAuth == nil {
		l.add(first.mark(), fmt.Sprintf("oauth: the connector %s does not take it: its users do not connect by OAuth", p.Connector.Name), "take it out")
		return
	}
	o := &OAuth{ClientID: s.ClientID.Value, OAuth: *p.Connector.Auth.OAuth}
	if s.ClientSecret.Value != "" {
		o.ClientSecret = vault.NewSecret(s.ClientSecret.Value)
	}
	if s.ClientID.Value == "" {
		l.add(first.mark(), "oauth has no client_id", "register your application with the provider, and write the id that it gives you")
	}
	if l.oneOf(&s.Grant, "grant") {
		o.Itself = s.Grant.Value == clientCredentials
	}
	if s.ClientAuth.given() && l.oneOf(&s.ClientAuth, "client_auth") {
		o.InHeader = s.ClientAuth.Value == inHeader
	}
	within(l, &s.KeepAlive, 0, 366*24*time.Hour)
	o.KeepAlive = s.KeepAlive.Value
	if s.Scopes.good {
		o.Scopes = s.Scopes.Value
	}
	for _, u := range []struct {
		at *at[string]
		to *string
	}{{&s.AuthURL, &o.AuthURL}, {&s.TokenURL, &o.TokenURL}, {&s.DeviceURL, &o.DeviceURL}, {&s.RevokeURL, &o.RevokeURL}} {
		if u.at.good {
			*u.to = u.at.Value
		}
		switch {
		case *u.to == "" || isSafe(*u.to):
		case u.at.good:
			l.refuse(u.at.spot, "https://HOST/PATH", problem{"it is not https://HOST/PATH", unsafe})
		default:
			l.add(first.mark(), "oauth: the connector "+p.Connector.Name+" names an address that is not https://HOST/PATH", unsafe)
		}
	}
	if o.TokenURL == "" || o.AuthURL == "" && o.DeviceURL == "" && !o.Itself {
		l.add(first.mark(), "oauth: it is not known where users connect", "write auth_url and token_url, as the provider's documentation has them")
	}
	p.OAuth = o
}

// unsafe is why an address is refused.
const unsafe = "secrets are sent there: only a server on this machine may be asked by http"

// first returns where the registration begins, nil if there is none.
func (s *oauthShape) first() *spot {
	for _, st := range []*standing{&s.ClientID.standing, &s.ClientSecret.standing, &s.Scopes.standing, &s.AuthURL.standing, &s.TokenURL.standing, &s.DeviceURL.standing, &s.RevokeURL.standing, &s.Grant.standing, &s.ClientAuth.standing, &s.KeepAlive.standing} {
		if st.given() {
			return &st.spot
		}
	}
	return nil
}

// isSafe reports whether secrets may be sent to a URL: by https, or to this machine.
func isSafe(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	if u.Scheme == "https" {
		return true
	}
	return u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host is this machine, as nobody else can reach it.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
