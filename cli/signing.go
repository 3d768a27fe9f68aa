package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// A signing is how a source's requests are signed.
type signing struct {
	auth        syncd.Auth
	credentials map[string]vault.Secret
	tokens      transport.Tokens // nil: by the credentials
}

// signing returns how a source's requests are signed: by the credentials of the
// configuration, else by the account that was connected. whose is the account
// that the source's records are of, "" if nobody knows.
func (f *fleet) signing(ctx context.Context, src *config.Source, whose string) (signing, error) {
	s := signing{auth: src.Of.Connector.Auth, credentials: src.Credentials}
	if s.auth.Scheme == syncd.OAuth2 && (len(src.Credentials) > 0 || src.Of.OAuth == nil) {
		s.auth.Scheme = syncd.Bearer // the user's own token, as it is
	}
	if len(src.Credentials) > 0 || src.Declared == "" && !connects(src.Of) {
		return s, nil
	}
	switch wayOf(src.Of) {
	case byNobody:
		return s, nil
	case byConsent, byItself:
		book, err := f.accounts(ctx)
		if err == nil {
			s.tokens = book.Session(keyOf(src), f.authorizer(src.Of, ""), f.terms(src.Of, whose))
		}
		return s, err
	}
	if s.auth.Optional {
		// Where nothing was connected, no keys need to be there either.
		if _, err := f.store.Credential(ctx, keyOf(src)); errors.Is(err, store.ErrNotFound) {
			return s, nil
		}
	}
	book, err := f.accounts(ctx)
	if err == nil {
		s.credentials, err = book.Secrets(ctx, keyOf(src), f.terms(src.Of, whose))
	}
	if err != nil {
		s.auth.Scheme, s.tokens = syncd.OAuth2, none{err}
	}
	return s, nil
}

// none is no token: the first request fails for that, and what makes none goes on.
type none struct{ err error }

func (n none) Token(context.Context) (vault.Secret, error) { return vault.Secret{}, n.err }

func (n none) Renew(context.Context, vault.Secret) (vault.Secret, error) {
	return vault.Secret{}, n.err
}

// A way is how users of a provider connect.
type way string

const (
	byNobody  way = "none"        // there is nothing to sign with
	byConsent way = "consent"     // OAuth 2: the user consents on the provider's page
	byItself  way = "application" // OAuth 2: the application's own credentials will do
	byToken   way = "token"       // the user gives an API key or a token
	byName    way = "username"    // the user gives a name and a password
)

// wayOf returns how users of a provider connect.
func wayOf(p *config.Provider) way {
	switch p.Connector.Auth.Scheme {
	case syncd.NoAuth:
		return byNobody
	case syncd.Basic:
		return byName
	case syncd.OAuth2:
		if p.OAuth != nil && p.OAuth.Itself {
			return byItself
		}
		if p.OAuth != nil {
			return byConsent
		}
	}
	return byToken
}

// fields are the names of what a user gives, "" for none.
func (w way) fields() []string {
	switch w {
	case byToken:
		return []string{"token"}
	case byName:
		return []string{"username", "password"}
	}
	return nil
}

// connects reports whether users of a provider connect by OAuth.
func connects(p *config.Provider) bool { return p.OAuth != nil }

// authorizer returns the client of a provider's authorization server.
func (f *fleet) authorizer(p *config.Provider, redirect string) *oauth.Client {
	o := p.OAuth
	return &oauth.Client{Base: f.base, Now: f.now, App: oauth.App{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, AuthURL: o.AuthURL, TokenURL: o.TokenURL, DeviceURL: o.DeviceURL,
		RevokeURL: o.RevokeURL, RevokeParam: o.RevokeParam, RedirectURL: redirect, Scopes: o.Scopes, InHeader: o.InHeader, Params: o.Params, Itself: o.Itself,
	}}
}

// terms are those on which the credentials of a provider's users are used.
func (f *fleet) terms(p *config.Provider, whose string) account.Terms {
	t := account.Terms{Bound: f.boundTo(p), Account: whose}
	if p.OAuth != nil {
		t.KeepAlive = p.OAuth.KeepAlive
	}
	return t
}

// boundTo is where the credentials of a provider's users may be sent.
func (f *fleet) boundTo(p *config.Provider) string {
	base, err := url.Parse(f.baseURL(p))
	if err != nil {
		return ""
	}
	api := base.Scheme + "://" + strings.ToLower(base.Host)
	if p.OAuth == nil {
		return api
	}
	return strings.Join([]string{p.OAuth.ClientID, p.OAuth.TokenURL, api}, " ")
}
