package syncd

import (
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

	// Demo is a stand-in for the provider, for newcomers and tests. Where it is
	// set and neither BaseURL nor `base_url:` is, the daemon serves it on the
	// loopback interface and reads from there.
	Demo func() http.Handler
}

// Options are the settings of one source: a pointer to a struct whose exported
// fields are decoded strictly from the configuration's `options:` over the
// defaults. A field's key is its `yaml` tag, else its name in lower case; its
// `doc` tag is shown by `syncd connectors show`.
type Options interface {
	// Streams checks the options and returns the streams to read. It makes no
	// requests. An *OptionError names the option that is wrong.
	Streams(c *Client) ([]Stream, error)
}

// A Scheme is a way of signing requests.
type Scheme string

// The schemes of signing, and the keys they take from `credentials:`.
const (
	NoAuth    Scheme = ""       // requests are not signed
	Bearer    Scheme = "bearer" // Authorization: Bearer <token>; credentials: token
	Basic     Scheme = "basic"  // RFC 7617; credentials: username, password
	HeaderKey Scheme = "header" // <Name>: <token>; credentials: token
	QueryKey  Scheme = "query"  // ?<Name>=<token>; credentials: token
)

// Auth says how requests are signed. A connector never sees the secrets.
type Auth struct {
	Scheme   Scheme
	Name     string // of the header or the query parameter
	Optional bool   // requests without credentials are allowed: public data
}

// Rate is a provider's published limits: for the whole app, over all users,
// and for each user. The configuration can override both.
type Rate struct {
	App  Limit
	User Limit
}

// A Limit allows so many requests in a time. The zero Limit is no limit.
type Limit struct {
	Requests int
	Per      time.Duration
	Burst    int // how many at once; 0 means 1
}
