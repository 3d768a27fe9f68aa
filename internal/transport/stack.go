// Package transport makes the requests of sources: it signs them, paces them,
// repeats those that may be repeated, and keeps answers within limits, so that
// what arrives at a connector is whole or an error.
//
// The order from the outside in is retry, pace, sign, guard: every attempt is
// paced anew, and every hop of a redirect is judged before it is signed.
package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// Config is what a Stack is made of. Durations and counts that are zero take
// the default named beside them; a negative Budget is none.
type Config struct {
	Auth        syncd.Auth
	Credentials map[string]vault.Secret // by the keys that the scheme takes
	Tokens      Tokens                  // of the scheme OAuth2
	Origin      *url.URL                // alone gets credentials; nil: the origin that is asked

	App, User *Pacer // shared by all sources of the provider, and of the user there; nil is no limit

	MaxInlineWait time.Duration // longer waits end in a *WaitError; 60 s
	MaxPark       time.Duration // no WaitError asks for more; 24 h
	MaxBody       int64         // bytes of a whole answer, unpacked; 64 MiB
	HeaderTimeout time.Duration // from the request to the answer's header, with connecting; 60 s
	IdleTimeout   time.Duration // between two bytes of a body; 60 s
	Attempts      int           // for one request; 5
	Budget        int           // attempts after the first, over all requests since Reset; 20

	Allow     []string // HOST or HOST:PORT that redirects may lead to, without credentials
	UserAgent string   // "syncd"

	// How this provider alone tells of its limits; nil is allowed. See syncd.Rate.
	Quota     func(h http.Header, now time.Time) syncd.Quota
	Throttled func(status int, h http.Header, body []byte) bool

	// Base sends one request and follows no redirect; NewBase.
	Base http.RoundTripper
}

// Tokens are the access tokens of an account, for the scheme OAuth2. Their
// errors hold no secret.
type Tokens interface {
	// Token returns one that is good for a while.
	Token(ctx context.Context) (vault.Secret, error)
	// Renew returns another than used, which the provider has refused.
	Renew(ctx context.Context, used vault.Secret) (vault.Secret, error)
}

// A Stack makes the requests of one source. It may be used by several at once.
type Stack struct {
	cfg   Config
	sign  *signer
	guard *guard

	requests atomic.Int64
	retries  atomic.Int64
	mu       sync.Mutex
	date     time.Time
}

// New returns a stack. Credentials that the scheme needs and that are not
// there are an error that names what to set.
func New(cfg Config) (*Stack, error) {
	sign, err := newSigner(cfg.Auth, cfg.Credentials)
	if err != nil {
		return nil, err
	}
	if (cfg.Auth.Scheme == syncd.OAuth2) != (cfg.Tokens != nil) {
		return nil, fmt.Errorf("auth: the scheme %q and its tokens go together", syncd.OAuth2)
	}
	orDefault(&cfg.MaxInlineWait, time.Minute)
	orDefault(&cfg.MaxPark, 24*time.Hour)
	orDefault(&cfg.MaxBody, 64<<20)
	orDefault(&cfg.HeaderTimeout, time.Minute)
	orDefault(&cfg.IdleTimeout, time.Minute)
	orDefault(&cfg.Attempts, 5)
	orDefault(&cfg.Budget, 20)
	orDefault(&cfg.UserAgent, "syncd")
	if cfg.App == nil {
		cfg.App = NewPacer(syncd.Limit{})
	}
	if cfg.User == nil {
		cfg.User = NewPacer(syncd.Limit{})
	}
	if cfg.Base == nil {
		cfg.Base = NewBase()
	}
	cfg.Credentials = nil // the signer has what it needs
	return &Stack{cfg: cfg, sign: sign, guard: &guard{cfg.Origin, cfg.Allow, sign}}, nil
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Whole returns the round tripper whose answers have been read to their end
// and checked: a body that was cut, or that is not what was asked for, is an error.
func (s *Stack) Whole() http.RoundTripper { return roundTripper{s, false} }

// Stream returns the round tripper whose answers are read as they come: of any
// size, for any time, so long as bytes keep coming. A body that was cut ends in
// an error other than io.EOF. Only what happens before the header is repeated.
func (s *Stack) Stream() http.RoundTripper { return roundTripper{s, true} }

// Client returns a client of the kit for the API at base.
func (s *Stack) Client(base string) (*syncd.Client, error) {
	return syncd.NewClient(base, s.Whole(), s.Stream())
}

// Redact replaces the credentials of the source, in the forms in which they could
// come back, in a text that is to be shown.
func (s *Stack) Redact(text string) string { return s.sign.redact(text) }

// Requests returns how many requests were sent since Reset, retries and
// redirects included.
func (s *Stack) Requests() int64 { return s.requests.Load() }

// Date returns the time of the provider's clock in its first answer since
// Reset; zero if there was none.
func (s *Stack) Date() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.date
}

// Reset begins a new run: Requests, Date and the budget of retries start over.
func (s *Stack) Reset() {
	s.requests.Store(0)
	s.retries.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date = time.Time{}
}

func (s *Stack) sawDate(h http.Header) {
	at := answeredAt(h, time.Time{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date.IsZero() {
		s.date = at
	}
}

type roundTripper struct {
	stack  *Stack
	stream bool
}

// RoundTrip implements http.RoundTripper. Its errors hold no query, no header
// and no credentials.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	return t.stack.retry(req, t.stream)
}
