package syncd

import (
	"context"
	"net/http"
	"time"
)

// A Connector reads one kind of provider, such as GitHub.
type Connector struct {
	Name    string         // as in the configuration's `connector:`; lower case, never renamed
	Summary string         // one line for listings: what it reads
	BaseURL string         // where the API lives; the configuration's `base_url:` overrides it
	Auth    Auth           // how requests are signed
	Rate    Rate           // the published limits: per app and per user
	Options func() Options // the default options: a pointer to a struct

	// File is a provider file: the options, in YAML, of the connector rest, of
	// which this one is made. With it, all fields but Name are taken from there.
	File []byte

	// Demo is a stand-in for the provider, for newcomers and tests. Where it is
	// set and neither BaseURL nor `base_url:` is, the daemon serves it on the
	// loopback interface and reads from there.
	Demo func() http.Handler
}

// Options are the settings of one source: a pointer to a struct whose exported
// fields are decoded strictly from the configuration's `options:` over the
// defaults. A field's key is its `yaml` tag, else its name in lower case; its
// `doc` tag is shown by `syncd connectors show`. When options change, lists are
// read anew; the tag `settings:"-"` is for those that do not decide what the
// lists hold.
type Options interface {
	// Streams checks the options and returns the streams to read. It makes no
	// requests. An *OptionError names the option that is wrong.
	Streams(c *Client) ([]Stream, error)
}

// An API is what the Options of a connector that is configured rather than
// written (rest) say of the provider in the Connector's stead.
type API struct {
	Summary string // one line for listings
	BaseURL string // `base_url:` beside the options overrides it
	Auth    Auth
	Rate    Rate
}

// An Exampler is an Options that knows what to begin with: the lines under a
// provider's `options:`, without indentation, shown by `syncd connectors show`.
type Exampler interface {
	Example() string
}

// A Describer is an Options that describes its provider: what API returns
// counts in place of the Connector's fields. Only a provider's options may: it
// is an error where those of a source would change it.
type Describer interface {
	API() (API, error)
}

// An Identifier is an Options that can tell whose account the requests are
// signed for. syncd remembers it, so that two people's records never mix where a
// user connects another account; and it tries keys by it before it keeps them.
type Identifier interface {
	// Identify returns the provider's own id of that account: the same for ever,
	// and never another's; no name or address that can be changed or given to
	// somebody else. It makes one cheap request, whose error it returns: an
	// *HTTPError of 401 says that the credentials are wrong, one of 403 that they
	// may not ask this. "" says that the provider does not tell.
	Identify(ctx context.Context, c *Client) (string, error)
}

// A Scheme is a way of signing requests.
type Scheme string

// The schemes of signing, and the keys they take from `credentials:`.
const (
	NoAuth    Scheme = ""       // requests are not signed
	Bearer    Scheme = "bearer" // Authorization: Bearer <token>; credentials: token
	Basic     Scheme = "basic"  // RFC 7617; credentials: username, password
	HeaderKey Scheme = "header" // <Name>: <Prefix><token>; credentials: token
	QueryKey  Scheme = "query"  // ?<Name>=<token>; credentials: token
	// OAuth2 is Authorization: Bearer <access token>, where users connect their
	// accounts (RFC 6749) and syncd keeps and refreshes the tokens.
	OAuth2 Scheme = "oauth2"
)

// Auth says how requests are signed. A connector never sees the secrets.
type Auth struct {
	Scheme   Scheme
	Name     string // of the header or the query parameter
	Prefix   string // of the header's value, before the token: "token "
	Optional bool   // requests without credentials are allowed: public data
	OAuth    *OAuth // of OAuth2; nil for all others
}

// OAuth is where and how users of a provider connect. The configuration's
// `oauth:` has the application's registration, and can override what is here.
type OAuth struct {
	AuthURL   string // where users consent
	TokenURL  string
	DeviceURL string // of the device flow (RFC 8628), "" if there is none
	RevokeURL string // where tokens are given back, "" if they can't be
	// RevokeParam is the parameter in which RevokeURL takes the access token, where
	// the provider has a call of its own; "" for RFC 7009.
	RevokeParam string
	Scopes      []string          // what is asked for
	InHeader    bool              // the application signs its token requests by HTTP basic, not in the body
	Params      map[string]string // more parameters for AuthURL: access_type=offline
}

// Rate is a provider's published limits: for the whole app, over all users,
// and for each user. The configuration can override both.
type Rate struct {
	App  Limit
	User Limit

	// Quota reads what an answer says is left, for providers that say so in
	// headers of their own. It sees the answer's header and the provider's time.
	// Nil is for all others: the RateLimit fields of the IETF's drafts,
	// X-RateLimit-Remaining and -Reset, and Retry-After are known without it.
	Quota func(h http.Header, now time.Time) Quota

	// Throttled reports whether an answer tells of a rate limit in a way that
	// only this provider has: a code in a body with status 200. Nil is for all others.
	Throttled func(status int, h http.Header, body []byte) bool
}

// A Quota is what is left of a rate limit. The zero Quota says nothing.
type Quota struct {
	Known bool
	Left  int64     // requests until the reset
	Reset time.Time // when there is more
}

// A Limit allows so many requests in a time. The zero Limit is no limit.
type Limit struct {
	Requests int
	Per      time.Duration
	Burst    int // how many at once; 0 means 1
}
