package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"
)

// A DeviceCode is what a user of a device without a browser is told (RFC 8628).
type DeviceCode struct {
	UserCode string
	URL      string // where to enter it
	Complete string // the URL with the code in it, "" if there is none
	Expires  time.Time

	grant *oauth2.DeviceAuthResponse
}

// codeLasts is how long a user has to enter a code where the server does not say.
const codeLasts = 30 * time.Minute

// Device begins the device flow.
func (c *Client) Device(ctx context.Context) (DeviceCode, error) {
	ctx, done := c.through(ctx, normal{client: c, read: readDevice})
	defer done()
	r, err := c.App.config().DeviceAuth(ctx)
	if err != nil {
		return DeviceCode{}, c.refusal(err)
	}
	if r.Expiry.IsZero() {
		r.Expiry = time.Now().Add(codeLasts)
	}
	return DeviceCode{UserCode: r.UserCode, URL: r.VerificationURI, Complete: r.VerificationURIComplete, Expires: r.Expiry, grant: r}, nil
}

// Await waits until the user has entered the code, has refused, or its time is
// over; the latter two are errors of their own.
func (c *Client) Await(ctx context.Context, d DeviceCode) (Token, error) {
	client := &http.Client{Transport: polling{normal{client: c, secrets: []string{d.grant.DeviceCode}, read: readToken}}}
	t, err := c.App.config().DeviceAccessToken(context.WithValue(ctx, oauth2.HTTPClient, client), d.grant)
	r, refused := errors.AsType[*Refusal](err)
	switch {
	case refused && r.Code == "access_denied":
		return Token{}, errors.New("access was refused")
	case refused && r.Code == "expired_token", ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return Token{}, errors.New("the code was not entered in time")
	}
	return c.token(t, err)
}

// polling takes a trouble of the moment for a word to ask less often (RFC 8628,
// section 3.5): the code is good still.
type polling struct{ normal }

// RoundTrip implements http.RoundTripper.
func (p polling) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, done := context.WithTimeout(req.Context(), patience)
	defer done()
	resp, err := p.normal.RoundTrip(req.WithContext(ctx)) // has read the answer to its end
	r, answered := errors.AsType[*Refusal](err)
	if err == nil || req.Context().Err() != nil || answered && r.Status != http.StatusTooManyRequests && r.Status < 500 {
		return resp, err
	}
	return answerWith(req, http.StatusBadRequest, map[string]any{"error": "slow_down"})
}

// readDevice makes of an answer with a device code what RFC 8628, section 3.2,
// has. Google says verification_url.
func readDevice(status int, contentType string, body []byte, now time.Time) (map[string]any, *Refusal) {
	fields, ok := fieldsOf(contentType, body)
	if !ok || status/100 != 2 || fields["error"] != "" {
		_, refusal := parse(status, contentType, body, now)
		return nil, refusal
	}
	where := cmp.Or(fields["verification_uri"], fields["verification_url"])
	if fields["device_code"] == "" || fields["user_code"] == "" || where == "" {
		return nil, &Refusal{Status: status, Detail: "the answer holds no device_code, user_code and verification_uri"}
	}
	return map[string]any{
		"device_code": fields["device_code"], "user_code": fields["user_code"],
		"verification_uri": where, "verification_uri_complete": fields["verification_uri_complete"],
		"expires_in": wholeSeconds(fields["expires_in"]), "interval": wholeSeconds(fields["interval"]),
	}, nil
}
