// Package config reads the configuration file: strictly, wholly, and with
// every error at once, each with its file, line and column.
//
// What Load returns has been checked against the connectors. What it refuses
// leaves nothing half done: there is no configuration, only a list of errors.
//
// Values that come from environment variables, and all credentials, never
// appear in an error.
package config

import (
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/vault"
)

// A Config is a configuration file that has been read and checked. It is not
// to be changed, and safe for concurrent use.
type Config struct {
	Path string // of the file, as it was given
	Dir  string // of the file, absolute: relative paths in it start there

	Store   string // sqlite:ABSOLUTE_PATH or postgres://...; the latter may hold a password
	Listen  string // HOST:PORT, or "" for none
	Keys    string // the file of the master keys, absolute; "" where the file names none and the store is no SQLite file
	API     API
	Workers int // runs at once
	Lease   time.Duration
	Grace   time.Duration // how long runs have to end when the daemon stops
	Changes bool          // write the outbox
	GiveUp  GiveUp
	Limits  Limits
	Log     Log

	Providers map[string]*Provider // by name
	Sources   []*Source            // in the order of the file

	Files []string // the provider files that were read, absolute

	Warnings []Error // what is valid but may not mean what its author thinks

	declarer *declarer
}

// API is who may ask the daemon for what, where it listens.
type API struct {
	URL      string         // as users' browsers see it, without a slash at its end; "" if they can't
	Tokens   []vault.Secret // of applications; none: nobody is answered
	ReturnTo []string       // origins, as browsers spell them
}

// GiveUp says when a source that only fails pauses itself: after so many failures
// in a row (0: never), and so long after it last went well.
type GiveUp struct {
	Failures int
	After    time.Duration
}

// Limits bound what one source can take.
type Limits struct {
	Body       int64         // bytes of one answer held in memory
	InlineWait time.Duration // longest wait for quota within a run; a longer one parks it
	Park       time.Duration // longest time that a run may be parked for
	Rejects    Share         // a run that sets aside more of its records than this fails
}

// Log says how the daemon logs.
type Log struct {
	Level  slog.Level
	Format string // auto, text or json
}

// A Share is a part of a whole in percent: 0 to 100.
type Share int

// Timing says when a source is due. Sources with equal timing share one.
type Timing struct {
	Schedule schedule.Schedule  // of a provider without one: the zero Schedule
	Full     *schedule.Schedule // of walks that read everything; nil is none
	Timezone *time.Location
	Spread   time.Duration // the window over which sources with the same tick are spread
	CatchUp  bool          // ticks missed while no daemon ran become one run
}

// A Budget ends long runs, to be gone on with in their turn. Zero is no limit.
type Budget struct {
	Time  time.Duration
	Pages int
}

// OnMissing is what to do with records that a complete listing no longer has.
type OnMissing string

// The values of `on_missing:`.
const (
	Keep OnMissing = "keep"
	Mark OnMissing = "mark" // as deleted
)

// Purge is the other value of `on_disconnect:`.
const Purge OnMissing = "purge"

// A Provider is a service as the operator configured it.
type Provider struct {
	Name      string
	Connector syncd.Connector
	*Timing   // for the sources that set none of it

	OnMissing  OnMissing
	MaxMissing Share // a listing that lacks more of the records than this is held back
	AllowEmpty bool  // a complete listing may be empty

	PurgeLeft bool // the records of an account that is disconnected are deleted

	BaseURL    string       // the configuration's, else the connector's; "" if neither has one
	Rate       *syncd.Limit // nil leaves the connector's
	UserRate   *syncd.Limit // nil leaves the connector's
	Budget     Budget
	OAuth      *OAuth   // nil: users do not connect, or the file has no registration
	AllowHosts []string // HOST or HOST:PORT, lower case
}

// OAuth is the registration of the operator's application with a provider, and
// where its users connect.
type OAuth struct {
	ClientID     string
	ClientSecret vault.Secret // zero for a public client
	Itself       bool         // tokens are the application's own, by its credentials: no user consents
	KeepAlive    time.Duration
	syncd.OAuth
}

// A Source is one user's account at one provider.
type Source struct {
	User     string
	Provider string    // as the file has it: "github", or "github@work" for a second account
	Of       *Provider // without the account
	*Timing            // its own over the provider's

	// Options are decoded from the source's `options:` over the provider's over
	// the defaults, and have been checked. Sources with equal options share
	// them: they are not to be changed.
	Options syncd.Options

	// Credentials by their keys. Sources with equal credentials share the map:
	// it is not to be changed. Nil if there are none.
	Credentials map[string]vault.Secret

	// Settings is a fingerprint of what decides the content of the lists:
	// connector, options and base URL. It holds no secret, depends on neither
	// machine nor folder, and does not change when a connector gains an option
	// whose default is its zero value.
	Settings string

	Line, Column int // where the file has it

	Declared string // what it was added with at run time; "" in the file. Its credentials are in the vault.
}

// StoreName returns the store as it may be shown: without user, password and parameters.
func (c *Config) StoreName() string {
	if strings.HasPrefix(c.Store, "sqlite:") {
		return c.Store
	}
	u, err := url.Parse(c.Store)
	if err != nil {
		return "postgres"
	}
	return "postgres://" + u.Host + u.Path
}

// Account returns the account of the source's provider: "work" of
// "github@work", and "" of "github".
func (s *Source) Account() string {
	_, account, _ := strings.Cut(s.Provider, "@")
	return account
}
