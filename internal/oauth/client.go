package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/syncdhq/syncd/internal/vault"
)

// patience is how long an authorization server may take for an answer.
const patience = 30 * time.Second

// maxAnswer bounds an answer of a token endpoint, in bytes.
const maxAnswer = 1 << 20

// A Client asks the authorization server of one App.
type Client struct {
	App  App
	Base http.RoundTripper // nil: http.DefaultTransport
	Now  func() time.Time  // nil: time.Now
}

func (c *Client) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// NewVerifier returns a secret of the PKCE extension (RFC 7636).
func NewVerifier() vault.Secret { return vault.NewSecret(oauth2.GenerateVerifier()) }

// AuthCodeURL returns where to send a user for consent. state comes back with
// the user, and only Exchange with the same verifier can use the code.
func (c *Client) AuthCodeURL(state string, verifier vault.Secret) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier.Reveal())}
	for name, value := range c.App.Params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return c.App.config().AuthCodeURL(state, options...)
}

// Exchange turns the code that a user came back with into a token. Its errors
// are *Refusals, as are those of all that follow.
func (c *Client) Exchange(ctx context.Context, code string, verifier vault.Secret) (Token, error) {
	ctx, done := c.context(ctx, code, verifier.Reveal())
	defer done()
	t, err := c.App.config().Exchange(ctx, code, oauth2.VerifierOption(verifier.Reveal()))
	return c.token(t, err)
}

// Refresh returns a new token for a refresh token. Where the server keeps the
// refresh token as it is, the new Token has the old one.
func (c *Client) Refresh(ctx context.Context, refresh vault.Secret) (Token, error) {
	ctx, done := c.context(ctx, refresh.Reveal())
	defer done()
	t, err := c.App.config().TokenSource(ctx, &oauth2.Token{RefreshToken: refresh.Reveal()}).Token()
	return c.token(t, err)
}

// ClientCredentials returns a token of the app itself (RFC 6749, section 4.4).
func (c *Client) ClientCredentials(ctx context.Context) (Token, error) {
	ctx, done := c.context(ctx)
	defer done()
	o := c.App.config()
	t, err := (&clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.Endpoint.TokenURL, Scopes: o.Scopes, AuthStyle: o.Endpoint.AuthStyle,
	}).Token(ctx)
	return c.token(t, err)
}

// Revoke tells the server that a token is no longer wanted: by RFC 7009 the
// refresh token, where there is one; by a provider's own call the access token,
// which is refreshed for that if it has ended.
func (c *Client) Revoke(ctx context.Context, t Token) error {
	ctx, done := context.WithTimeout(ctx, 2*patience)
	defer done()
	param, token := "token", t.Refresh
	if c.App.RevokeParam != "" {
		if !t.Expires.IsZero() && c.now().After(t.Expires) && !t.Refresh.IsZero() {
			var err error
			if t, err = c.Refresh(ctx, t.Refresh); err != nil {
				return err
			}
		}
		param, token = c.App.RevokeParam, t.Access
	} else if token.IsZero() {
		token = t.Access
	}
	form := url.Values{param: {token.Reveal()}}
	if !c.App.InHeader {
		form.Set("client_id", c.App.ClientID)
		form.Set("client_secret", c.App.ClientSecret.Reveal())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.App.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the token: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.App.InHeader {
		req.SetBasicAuth(url.QueryEscape(c.App.ClientID), url.QueryEscape(c.App.ClientSecret.Reveal()))
	}
	resp, err := c.base().RoundTrip(req)
	if err != nil {
		return &Refusal{Detail: "no answer to the revocation"}
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return &Refusal{Status: resp.StatusCode, Detail: "the revocation was refused"}
	}
	return nil
}

func (c *Client) base() http.RoundTripper {
	if c.Base == nil {
		return http.DefaultTransport
	}
	return c.Base
}

// context puts our way of asking into a context, as x/oauth2 wants it, and
// limits the time. secrets are those of the request, which the server may echo.
func (c *Client) context(ctx context.Context, secrets ...string) (context.Context, context.CancelFunc) {
	return c.through(ctx, normal{client: c, secrets: secrets, read: readToken})
}

func (c *Client) through(ctx context.Context, n normal) (context.Context, context.CancelFunc) {
	client := &http.Client{Transport: n, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, client), patience)
}

// token returns what x/oauth2 made of an answer.
func (c *Client) token(t *oauth2.Token, err error) (Token, error) {
	if err != nil {
		return Token{}, c.refusal(err)
	}
	out := Token{Access: vault.NewSecret(t.AccessToken), Expires: t.Expiry}
	if t.RefreshToken != "" {
		out.Refresh = vault.NewSecret(t.RefreshToken)
	}
	out.Scope, _ = t.Extra("scope").(string)
	return out, nil
}

// refusal returns any error as a *Refusal, without what it may show.
func (c *Client) refusal(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := 0
		if r.Response != nil {
			status = r.Response.StatusCode
		}
		return &Refusal{Kind: kindOf(r.ErrorCode, ""), Status: status, Code: word(r.ErrorCode)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Refusal{Detail: fmt.Sprintf("no answer within %s", patience)}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Refusal{Detail: "no answer"}
}

// normal makes of an authorization server's answer what x/oauth2 expects.
type normal struct {
	client  *Client
	secrets []string
	read    func(status int, contentType string, body []byte, now time.Time) (map[string]any, *Refusal)
}

// RoundTrip implements http.RoundTripper.
func (n normal) RoundTrip(req *http.Request) (*http.Response, error) {
	// Redirects are not followed: they would carry the secret elsewhere.
	resp, err := n.client.base().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &Refusal{Detail: "the answer breaks off"}
	}
	fields, refusal := n.read(resp.StatusCode, resp.Header.Get("Content-Type"), body, n.client.now())
	switch {
	case refusal == nil:
		return answerWith(req, http.StatusOK, fields)
	case refusal.Code == "authorization_pending" || refusal.Code == "slow_down":
		return answerWith(req, http.StatusBadRequest, map[string]any{"error": refusal.Code})
	}
	refusal.Detail = clip(n.scrub(refusal.Detail))
	return nil, refusal
}

// readToken makes of an answer with a token what RFC 6749, section 5.1, has.
func readToken(status int, contentType string, body []byte, now time.Time) (map[string]any, *Refusal) {
	g, refusal := parse(status, contentType, body, now)
	if refusal != nil {
		return nil, refusal
	}
	fields := map[string]any{"access_token": g.access, "token_type": "Bearer", "scope": g.scope}
	if g.refresh != "" {
		fields["refresh_token"] = g.refresh
	}
	if g.lifetime > 0 {
		fields["expires_in"] = int64(g.lifetime / time.Second)
	}
	return fields, nil
}

// scrub takes the secrets of a request out of what a server says.
func (n normal) scrub(text string) string {
	for _, s := range append(n.secrets, n.client.App.ClientSecret.Reveal()) {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[secret]")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "[secret]")
		}
	}
	return text
}

func answerWith(req *http.Request, status int, fields map[string]any) (*http.Response, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: req,
	}, nil
}
