package config

import "time"

// The shapes of the file. Whatever is added here is documented in
// config.example.yaml at the module's root, which a test compares.

type fileShape struct {
	Store   at[string]        `yaml:"store"`
	Listen  at[string]        `yaml:"listen"`
	Workers at[int]           `yaml:"workers"`
	Lease   at[time.Duration] `yaml:"lease"`
	Grace   at[time.Duration] `yaml:"grace"`
	Spread  at[time.Duration] `yaml:"spread"`
	CatchUp at[string]        `yaml:"catch_up"`
	Changes at[bool]          `yaml:"changes"`
	Budget  budgetShape       `yaml:"budget"`
	Limits  limitsShape       `yaml:"limits"`
	Log     logShape          `yaml:"log"`

	Providers subtree `yaml:"providers"`
	Sources   subtree `yaml:"sources"`
}

type budgetShape struct {
	Time  at[time.Duration] `yaml:"time"`
	Pages at[int]           `yaml:"pages"`
}

type limitsShape struct {
	Body       at[size]          `yaml:"body"`
	InlineWait at[time.Duration] `yaml:"inline_wait"`
	Park       at[time.Duration] `yaml:"park"`
	Rejects    at[Share]         `yaml:"rejects"`
}

type logShape struct {
	Level  at[string] `yaml:"level"`
	Format at[string] `yaml:"format"`
}

type timingShape struct {
	Schedule at[string]        `yaml:"schedule"`
	Timezone at[string]        `yaml:"timezone"`
	Full     at[string]        `yaml:"full"`
	Spread   at[time.Duration] `yaml:"spread"`
	CatchUp  at[string]        `yaml:"catch_up"`
}

type rateShape struct {
	Requests at[int]           `yaml:"requests"`
	Per      at[time.Duration] `yaml:"per"`
	Burst    at[int]           `yaml:"burst"`
}

type providerShape struct {
	Connector at[string] `yaml:"connector"`
	timingShape
	OnMissing  at[string]    `yaml:"on_missing"`
	MaxMissing at[Share]     `yaml:"max_missing"`
	AllowEmpty at[bool]      `yaml:"allow_empty"`
	BaseURL    at[string]    `yaml:"base_url"`
	Rate       at[rateShape] `yaml:"rate"`
	UserRate   at[rateShape] `yaml:"user_rate"`
	Budget     budgetShape   `yaml:"budget"`
	AllowHosts at[[]string]  `yaml:"allow_hosts"`
	Options    subtree       `yaml:"options"`
}

type sourceShape struct {
	User     at[string] `yaml:"user"`
	Provider at[string] `yaml:"provider"`
	timingShape
	Options     subtree `yaml:"options"`
	Credentials subtree `yaml:"credentials"`
}

// defaults returns a file that sets nothing.
func defaults() fileShape {
	var f fileShape
	f.Workers.Value = 8
	f.Lease.Value = time.Minute
	f.Grace.Value = 25 * time.Second
	f.Spread.Value = 30 * time.Second
	f.CatchUp.Value = "once"
	f.Budget.Time.Value = time.Hour
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
	return p
}
