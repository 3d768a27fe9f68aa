package rest

import "time"

// Options describe an API. A provider file holds the same keys.
type Options struct {
	Summary     string            `yaml:"summary" settings:"-" doc:"one line for listings: what is read"`
	BaseURL     string            `yaml:"base_url" doc:"where the API lives; base_url: of the provider overrides it"`
	Auth        Auth              `yaml:"auth" settings:"-" doc:"how requests are signed with the source's credentials"`
	Rate        Limit             `yaml:"rate" settings:"-" doc:"the provider's published limit for the app, over all users"`
	UserRate    Limit             `yaml:"user_rate" settings:"-" doc:"the provider's published limit for each user"`
	RateHeaders RateHeaders       `yaml:"rate_headers" settings:"-" doc:"the headers that tell what is left of a limit, if their names are not the usual ones"`
	Headers     map[string]string `yaml:"headers" doc:"headers of every request; may hold {{ params.NAME }}"`
	Params      map[string]string `yaml:"params" doc:"values that templates use as params.NAME; an empty one must be set by the source"`
	Account     Account           `yaml:"account" settings:"-" doc:"how the API is asked whose account the credentials are of"`
	Errors      []ErrorRule       `yaml:"errors" settings:"-" doc:"answers that mean something else than their status says"`
	Lists       map[string]Stream `yaml:"streams" settings:"-" doc:"the lists to read, by name"`
	Only        []string          `yaml:"only" settings:"-" doc:"the streams to read; without it, all"`
}

// Auth says how requests are signed. See syncd.Auth.
type Auth struct {
	Scheme   string `yaml:"scheme" doc:"none, bearer, basic, header, query or oauth2"`
	Name     string `yaml:"name" doc:"of the header or the query parameter"`
	Prefix   string `yaml:"prefix" doc:"of the header's value, before the token"`
	Optional bool   `yaml:"optional" doc:"requests without credentials are allowed"`

	AuthURL     string            `yaml:"auth_url" doc:"of oauth2: where users consent"`
	TokenURL    string            `yaml:"token_url" doc:"of oauth2: where tokens are granted"`
	DeviceURL   string            `yaml:"device_url" doc:"of oauth2: where the device flow begins, if there is one"`
	RevokeURL   string            `yaml:"revoke_url" doc:"of oauth2: where tokens are given back, if they can be"`
	RevokeParam string            `yaml:"revoke_param" doc:"of oauth2: the parameter in which revoke_url takes the access token; without it, as RFC 7009 has it"`
	Scopes      []string          `yaml:"scopes" doc:"of oauth2: what is asked for"`
	Params      map[string]string `yaml:"params" doc:"of oauth2: more parameters for auth_url, such as access_type: offline"`
}

// A Limit allows so many requests in a time. See syncd.Limit.
type Limit struct {
	Requests int           `yaml:"requests" doc:"how many requests"`
	Per      time.Duration `yaml:"per" doc:"in which time"`
	Burst    int           `yaml:"burst" doc:"how many at once; 1 without it"`
}

// RateHeaders name the headers that tell what is left of a rate limit.
type RateHeaders struct {
	Remaining string `yaml:"remaining" doc:"the header with the number of requests left"`
	Reset     string `yaml:"reset" doc:"the header with the seconds, or the Unix time, until there are more"`
}

// An ErrorRule says what an answer means. The first that fits counts: those of
// the stream, then those of the API.
type ErrorRule struct {
	Status  int    `yaml:"status" doc:"the status that the rule is for; without it, 200 to 299"`
	When    string `yaml:"when" doc:"an expression over body, headers and status; without it, always"`
	As      string `yaml:"as" doc:"fail, resync (read all anew), throttled (wait and ask again) or not_modified (nothing is new); without it, fail"`
	Message string `yaml:"message" doc:"an expression for what the error says"`
}

// A Stream is one list of the API.
type Stream struct {
	Path        string            `yaml:"path" doc:"below the base URL; a template"`
	Query       map[string]string `yaml:"query" doc:"parameters, as templates; one that comes to nothing is left out"`
	Headers     map[string]string `yaml:"headers" doc:"headers of this stream's requests, as templates"`
	Body        string            `yaml:"body" doc:"a template of the body; with it, requests are sent by POST"`
	ContentType string            `yaml:"content_type" doc:"of the body; application/json without it"`

	Format  string `yaml:"format" doc:"of the answer: json, ndjson, csv or xml; json without it"`
	Records string `yaml:"records" doc:"where the list is in the answer, such as body.items; body without it"`
	ID      Key    `yaml:"id" doc:"the field with the record's id, or a list of fields; id without it"`
	Mark    Mark   `yaml:"mark" doc:"the field that says when the record changed, or a mapping of field, format and zone"`
	Deleted string `yaml:"deleted" doc:"a condition on the record that says that it is gone"`
	Keep    string `yaml:"keep" doc:"a condition on the record; those that do not meet it are no records of this stream"`

	Order      string        `yaml:"order" doc:"ascending or descending, by mark; without it, in any order"`
	Overlap    time.Duration `yaml:"overlap" doc:"how late a change may show up: each walk starts this far before the watermark"`
	Snapshot   bool          `yaml:"snapshot" doc:"a walk lists all there is, so what it does not list is gone"`
	Append     bool          `yaml:"append" doc:"records never change once written"`
	Increments bool          `yaml:"increments" doc:"even a walk over everything may not list all there is: nothing is deleted by absence"`
	Version    int           `yaml:"version" doc:"raise it when the records' meaning changes: everything is read once more"`

	Since  Since  `yaml:"since" doc:"the parameter that asks for what changed since a time, or a mapping"`
	Paging Paging `yaml:"paging" doc:"how the list goes on: none, page, offset, cursor, link, url, or a mapping"`
	Sync   Sync   `yaml:"sync" doc:"the provider's tokens for what changed since the last walk"`

	ForEach string      `yaml:"for_each" doc:"the stream whose records this list is read for, one by one; templates see the record as parent"`
	Parts   Parts       `yaml:"parts" doc:"sub-lists that are read one by one, as a list or an expression over params; templates see the name as part"`
	Errors  []ErrorRule `yaml:"errors" settings:"-" doc:"answers of this stream that mean something else than their status says"`
}

// A Key is one expression for the id, or several that make it together.
type Key []string

// UnmarshalYAML takes one text or a list.
func (k *Key) UnmarshalYAML(decode func(any) error) error {
	var one string
	if decode(&one) == nil {
		*k = Key{one}
		return nil
	}
	var several []string
	if err := decode(&several); err != nil {
		return err
	}
	*k = several
	return nil
}

// Spellings are values of the types that a Key is decoded from.
func (Key) Spellings() []any { return []any{"", []string(nil)} }

// Parts are names, or an expression that comes to a list of them.
type Parts struct {
	Names []string `yaml:"names" doc:"the names"`
	From  string   `yaml:"from" doc:"an expression over params that comes to a list of texts, such as split(params.channels, \",\")"`
}

// UnmarshalYAML takes a list or an expression.
func (p *Parts) UnmarshalYAML(decode func(any) error) error {
	if decode(&p.From) == nil {
		p.Names = nil
		return nil
	}
	p.From = ""
	return decode(&p.Names)
}

// Spellings are values of the types that Parts are decoded from.
func (Parts) Spellings() []any { return []any{"", []string(nil)} }

// A Mark says where a record's mark is and how it is written.
type Mark struct {
	Field  string `yaml:"field" doc:"the field, or an expression over the record"`
	Format string `yaml:"format" doc:"rfc3339, unix, unix_ms, integer (a sequence number), or a layout such as 2006-01-02 15:04:05; rfc3339 without it"`
	Zone   string `yaml:"zone" doc:"of times without an offset, such as Europe/Berlin; without it, those are set aside"`
}

// UnmarshalYAML takes the field alone or a mapping.
func (m *Mark) UnmarshalYAML(decode func(any) error) error {
	type mapping Mark
	return either(decode, (*mapping)(m), func(m *mapping) *string { return &m.Field })
}

// Spellings are values of the types that a Mark is decoded from.
func (Mark) Spellings() []any { type mapping Mark; return []any{"", mapping{}} }

// Since says how to ask for what changed since a mark.
type Since struct {
	Param     string        `yaml:"param" doc:"the query parameter; without it, templates use {{ since }}"`
	Format    string        `yaml:"format" doc:"as the mark's; the mark's without it"`
	Zone      string        `yaml:"zone" doc:"of the time in a layout without an offset; the mark's, else UTC"`
	Precision time.Duration `yaml:"precision" doc:"what finer times are rounded down to; by the format without it"`
	Exclusive bool          `yaml:"exclusive" doc:"the provider leaves out what changed at that very time, so it is asked for one step earlier"`
}

// UnmarshalYAML takes the parameter alone or a mapping.
func (s *Since) UnmarshalYAML(decode func(any) error) error {
	type mapping Since
	return either(decode, (*mapping)(s), func(s *mapping) *string { return &s.Param })
}

// Spellings are values of the types that a Since is decoded from.
func (Since) Spellings() []any { type mapping Since; return []any{"", mapping{}} }

// Paging says how a list goes on.
type Paging struct {
	By        string `yaml:"by" doc:"none, page (numbers), offset, cursor (a token), link (the header Link) or url (of the next page)"`
	Param     string `yaml:"param" doc:"the query parameter of the page; without it, templates use {{ page }}"`
	Size      int    `yaml:"size" doc:"how many records to ask for at once"`
	SizeParam string `yaml:"size_param" doc:"the query parameter of the size"`
	First     *int   `yaml:"first" doc:"the number of the first page; 1 without it"`
	Next      string `yaml:"next" doc:"an expression for the next token or URL, over body, headers, last (the last record that could be read), count and page"`
	More      string `yaml:"more" doc:"a condition, over the same, for there being more; without it, a list ends where next is empty, or with an empty page"`
}

// UnmarshalYAML takes the kind alone or a mapping.
func (p *Paging) UnmarshalYAML(decode func(any) error) error {
	type mapping Paging
	return either(decode, (*mapping)(p), func(p *mapping) *string { return &p.By })
}

// Spellings are values of the types that a Paging is decoded from.
func (Paging) Spellings() []any { type mapping Paging; return []any{"", mapping{}} }

// Sync says how a provider's sync tokens travel. A token that the provider has
// forgotten needs an error rule with `as: resync`.
type Sync struct {
	Param string `yaml:"param" doc:"the query parameter of the token; without it, templates use {{ sync }}"`
	Next  string `yaml:"next" doc:"an expression over the last page for the token of the next walk"`
}

// either decodes a single text, which stands for a mapping with nothing else in
// it, or else a mapping over what is there.
func either[T any](decode func(any) error, mapping *T, text func(*T) *string) error {
	var s string
	if decode(&s) == nil {
		var alone T
		*text(&alone) = s
		*mapping = alone
		return nil
	}
	return decode(mapping)
}
