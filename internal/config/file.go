package config

import "time"

// The shapes of the file. Whatever is added here is documented in
// config.example.yaml at the module's root, which a test compares.

type fileShape struct {
	Store   at[string]        `yaml:"store" doc:"where the records are kept: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE"`
	Listen  at[string]        `yaml:"listen" doc:"where the daemon answers over HTTP, as HOST:PORT; nowhere without it"`
	Workers at[int]           `yaml:"workers" doc:"how many runs at once, 1 to 1000"`
	Lease   at[time.Duration] `yaml:"lease" doc:"how soon another daemon takes over the sources of one that died"`
	Grace   at[time.Duration] `yaml:"grace" doc:"how long runs have to end when the daemon stops"`
	Spread  at[time.Duration] `yaml:"spread" doc:"sources with the same schedule start spread over this time"`
	CatchUp at[string]        `yaml:"catch_up" doc:"ticks missed while no daemon ran: once (one run for all of them) or none"`
	Changes at[bool]          `yaml:"changes" doc:"write every insert, update and delete to the table changes too"`
	Keys    at[string]        `yaml:"keys" doc:"the file with the master keys that seal credentials; SYNCD_KEYS in the environment counts before it"`
	API     apiShape          `yaml:"api" doc:"what applications ask of the daemon where it listens: sources, links with which users connect"`
	Budget  budgetShape       `yaml:"budget" doc:"a run that takes longer goes on in its turn, after the others that wait"`
	GiveUp  giveUpShape       `yaml:"give_up" doc:"when a source that only fails pauses itself, until somebody resumes it"`
	Limits  limitsShape       `yaml:"limits" doc:"bounds of what one source can take"`
	Log     logShape          `yaml:"log" doc:"how the daemon logs"`

	Providers subtree `yaml:"providers" doc:"the services to read from, by name"`
	Sources   subtree `yaml:"sources" doc:"whose data to keep: one account of one user at one provider each"`
}

type apiShape struct {
	URL      at[string]   `yaml:"url" doc:"the address of listen as users' browsers see it, such as https://sync.example.com: links and the way back from a provider begin with it"`
	Tokens   at[[]string] `yaml:"tokens" doc:"what applications show as Authorization: Bearer TOKEN; of 20 characters at least"`
	ReturnTo at[[]string] `yaml:"return_to" doc:"the origins of the pages that users may be sent back to, such as https://app.example.com"`
}

type budgetShape struct {
	Time  at[time.Duration] `yaml:"time" doc:"how long a run may take; 0s is no limit"`
	Pages at[int]           `yaml:"pages" doc:"how many pages a run may take; 0 is no limit"`
}

type giveUpShape struct {
	Failures at[int]           `yaml:"failures" doc:"after so many failed runs in a row; 0 for never"`
	After    at[time.Duration] `yaml:"after" doc:"and so long after it last went well"`
}

type limitsShape struct {
	Body       at[size]          `yaml:"body" doc:"the largest answer that is held in memory"`
	InlineWait at[time.Duration] `yaml:"inline_wait" doc:"how long a run waits for quota before it is parked"`
	Park       at[time.Duration] `yaml:"park" doc:"how long a run can be parked at most"`
	Rejects    at[Share]         `yaml:"rejects" doc:"a run that would set aside more of its records fails instead"`
}

type logShape struct {
	Level  at[string] `yaml:"level" doc:"the least that is logged: debug, info, warn or error"`
	Format at[string] `yaml:"format" doc:"auto (short and coloured on a terminal, else text), text or json"`
}

type timingShape struct {
	Schedule at[string]        `yaml:"schedule" doc:"when to sync: five fields, @hourly, @daily or such, or @every 10m"`
	Timezone at[string]        `yaml:"timezone" doc:"of the schedule, such as Europe/Berlin; UTC where none is set"`
	Full     at[string]        `yaml:"full" doc:"when to read everything again, as a schedule; never without it"`
	Spread   at[time.Duration] `yaml:"spread" doc:"sources with the same schedule start spread over this time"`
	CatchUp  at[string]        `yaml:"catch_up" doc:"ticks missed while no daemon ran: once (one run for all of them) or none"`
}

type rateShape struct {
	Requests at[int]           `yaml:"requests" doc:"how many requests"`
	Per      at[time.Duration] `yaml:"per" doc:"in which time"`
	Burst    at[int]           `yaml:"burst" doc:"how many at once; 1 without it"`
}

type providerShape struct {
	Connector at[string] `yaml:"connector" doc:"what reads the provider: a connector of this program, or the path of a provider file"`
	timingShape
	OnMissing    at[string]    `yaml:"on_missing" doc:"records that a complete listing no longer has: keep, or mark as deleted"`
	MaxMissing   at[Share]     `yaml:"max_missing" doc:"a listing that lacks more of the records than this is held back for you to confirm"`
	OnDisconnect at[string]    `yaml:"on_disconnect" doc:"the records of an account that is disconnected: keep, or purge"`
	AllowEmpty   at[bool]      `yaml:"allow_empty" doc:"an empty listing is right, and marks all"`
	BaseURL      at[string]    `yaml:"base_url" doc:"where the API lives, if not where the connector says"`
	Rate         at[rateShape] `yaml:"rate" doc:"the limit for all users together; the provider's published one without it"`
	UserRate     at[rateShape] `yaml:"user_rate" doc:"the limit for each user; the provider's published one without it"`
	Budget       budgetShape   `yaml:"budget" doc:"a run that takes longer goes on in its turn"`
	AllowHosts   at[[]string]  `yaml:"allow_hosts" doc:"further hosts that redirects may lead to, without credentials, as HOST or HOST:PORT"`
	OAuth        oauthShape    `yaml:"oauth" doc:"the registration of your application, for providers whose users connect their accounts"`
	Options      subtree       `yaml:"options" doc:"what to read, for all sources of the provider"`
}

type oauthShape struct {
	ClientID     at[string]   `yaml:"client_id" doc:"the application's id"`
	ClientSecret at[string]   `yaml:"client_secret" doc:"the application's secret; a public client has none"`
	Scopes       at[[]string] `yaml:"scopes" doc:"what is asked for; the connector's without it"`
	AuthURL      at[string]   `yaml:"auth_url" doc:"where users consent; the connector's without it"`
	TokenURL     at[string]   `yaml:"token_url" doc:"where tokens are granted; the connector's without it"`
	DeviceURL    at[string]   `yaml:"device_url" doc:"of the device flow; the connector's without it"`
	RevokeURL    at[string]   `yaml:"revoke_url" doc:"where tokens are given back; the connector's without it"`

	Grant      at[string]        `yaml:"grant" doc:"how tokens are got: authorization_code (each user consents) or client_credentials (the application's own, for all its users)"`
	ClientAuth at[string]        `yaml:"client_auth" doc:"how the application signs its token requests: body or header (HTTP basic); the connector's without it"`
	KeepAlive  at[time.Duration] `yaml:"keep_alive" doc:"accounts that nobody syncs are refreshed after this time, before their refresh tokens die of age; 0s for never"`
}

type sourceShape struct {
	User     at[string] `yaml:"user" doc:"whose data it is: an id of yours of up to 255 bytes"`
	Provider at[string] `yaml:"provider" doc:"of the providers above; NAME@ACCOUNT for a second account of the same user"`
	timingShape
	Options     subtree `yaml:"options" doc:"what to read, over the provider's options"`
	Credentials subtree `yaml:"credentials" doc:"what requests are signed with: token, or username and password"`
}

// words are the keys of the file that take one of a few words.
var words = map[string][]string{
	"catch_up":      {"once", "none"},
	"on_missing":    {string(Keep), string(Mark)},
	"on_disconnect": {string(Keep), string(Purge)},
	"level":         {"debug", "info", "warn", "error"},
	"format":        {"auto", "text", "json"},
	"grant":         {authorizationCode, clientCredentials},
	"client_auth":   {inBody, inHeader},
}

// The words of grant and client_auth under oauth.
const (
	authorizationCode = "authorization_code"
	clientCredentials = "client_credentials"
	inBody            = "body"
	inHeader          = "header"
)

// defaults returns a file that sets nothing.
func defaults() fileShape {
	var f fileShape
	f.Workers.Value = 8
	f.Lease.Value = time.Minute
	f.Grace.Value = 25 * time.Second
	f.Spread.Value = 30 * time.Second
	f.CatchUp.Value = "once"
	f.Budget.Time.Value = time.Hour
	f.GiveUp.Failures.Value = 30
	f.GiveUp.After.Value = 7 * 24 * time.Hour
	f.Limits.Body.Value = 64 << 20
	f.Limits.InlineWait.Value = time.Minute
	f.Limits.Park.Value = 24 * time.Hour
	f.Limits.Rejects.Value = 50
	f.Log.Level.Value = "info"
	f.Log.Format.Value = "auto"
	return f
}

// providerDefaults returns a provider that sets nothing.
func providerDefaults() providerShape {
	var p providerShape
	p.OnMissing.Value = string(Keep)
	p.MaxMissing.Value = 30
	p.OnDisconnect.Value = string(Keep)
	p.OAuth.Grant.Value = authorizationCode
	p.OAuth.KeepAlive.Value = 7 * 24 * time.Hour
	return p
}
