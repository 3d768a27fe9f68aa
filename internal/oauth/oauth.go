// Package oauth gets tokens from authorization servers (RFC 6749, 7636, 8628,
// 7009): with golang.org/x/oauth2, under a layer that first makes of a real
// server's answer what that library expects, or an error that says whether a
// user must connect again, the operator must mend the settings, or it is a
// trouble of the moment. Only the first of these may ever cost an account.
package oauth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/syncdhq/syncd/internal/vault"
)

// An App is the registration of the operator's application with a provider.
type App struct {
	ClientID     string
	ClientSecret vault.Secret // zero for a public client
	AuthURL      string       // where users consent
	TokenURL     string
	DeviceURL    string // of the device flow (RFC 8628), "" if there is none
	RevokeURL    string // where tokens are given back, "" if there is none
	RevokeParam  string // that takes the access token there; "" for RFC 7009
	RedirectURL  string // where users come back to
	Scopes       []string
	InHeader     bool              // the client authenticates by HTTP basic, not in the body
	Params       map[string]string // more parameters for AuthURL: access_type=offline
	Itself       bool              // tokens are the application's own (RFC 6749, section 4.4): no user consents
}

// A Token is what a server granted.
type Token struct {
	Access  vault.Secret
	Refresh vault.Secret // zero: it can't be refreshed
	Expires time.Time    // zero: the server does not say
	Scope   string       // as the server says, "" if it does not
}

// A Kind says who can do something about a refusal.
type Kind int

// The kinds of refusals.
const (
	Unavailable   Kind = iota // a trouble of the moment: try again later
	Denied                    // the grant is no more: the user must connect again
	Misconfigured             // the registration is wrong: the operator must mend it
)

func (k Kind) String() string {
	return [...]string{"the token endpoint is not available", "access was withdrawn", "the app's registration is refused"}[k]
}

// A Refusal is why there is no token. It holds no secret.
type Refusal struct {
	Kind   Kind
	Status int    // 0 if there was no whole answer
	Code   string // the error code of RFC 6749, section 5.2, "" if there is none
	Detail string // what the server says, for people
}

func (e *Refusal) Error() string {
	s := e.Kind.String()
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d", e.Status)
		if e.Code != "" {
			s += " " + e.Code
		}
		s += ")"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unsure reports whether the server may have granted a token that did not get
// here: no whole answer came, or a gateway gave up waiting for it. Where a refresh
// token can be used once, it may be used up.
func (e *Refusal) Unsure() bool {
	return e.Code == "" && (e.Status == 0 || e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout)
}

// Missing returns the scopes of want that are not in got. A server that names no
// scopes grants what was asked for (RFC 6749, section 5.1).
func Missing(want, got string) []string {
	if strings.TrimSpace(got) == "" {
		return nil
	}
	has := scopes(got)
	var out []string
	for _, s := range scopes(want) {
		if !slices.Contains(has, s) {
			out = append(out, s)
		}
	}
	return out
}

// scopes splits a list of scopes: at spaces, and at commas as GitHub, Slack and
// Strava write them.
func scopes(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' })
}

func (a App) config() *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if a.InHeader {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: a.ClientID, ClientSecret: a.ClientSecret.Reveal(), RedirectURL: a.RedirectURL, Scopes: a.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: a.AuthURL, TokenURL: a.TokenURL, DeviceAuthURL: a.DeviceURL, AuthStyle: style},
	}
}
