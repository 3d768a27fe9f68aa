// Package rest reads any HTTP API that its options describe: where the lists
// are, how they are paged, what their records' ids and marks are. The engine
// sees its streams as it sees those of any connector.
//
// Data flows one way: Options (as written) → compile (checked: lists) → Fetch:
// request → answer → elements → records. Everything that can be wrong with the
// options is found by compile, before any request.
package rest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector of APIs that the configuration describes.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "rest",
		Summary: "any HTTP API with JSON, NDJSON, CSV or XML, described in YAML",
		Auth:    syncd.Auth{Scheme: syncd.Bearer}, // of the example: what the options say counts
		Options: func() syncd.Options { return &Options{} },
	}
}

// API implements syncd.Describer. Its errors are all that is wrong with the
// options, joined, each a *syncd.OptionError.
func (o *Options) API() (syncd.API, error) {
	a := compile(o)
	if len(a.faults) > 0 {
		return syncd.API{}, errors.Join(a.faults...)
	}
	scheme := syncd.Scheme(o.Auth.Scheme)
	if scheme == "none" {
		scheme = syncd.NoAuth
	}
	return syncd.API{
		Summary: o.Summary,
		BaseURL: o.BaseURL,
		Auth:    syncd.Auth{Scheme: scheme, Name: o.Auth.Name, Prefix: o.Auth.Prefix, Optional: o.Auth.Optional, OAuth: o.Auth.oauth()},
		Rate: syncd.Rate{
			App: o.Rate.limit(), User: o.UserRate.limit(),
			Quota: o.RateHeaders.quota(), Throttled: a.throttled(),
		},
	}, nil
}

// oauth returns where users connect, nil where they do not.
func (u Auth) oauth() *syncd.OAuth {
	if u.Scheme != "oauth2" {
		return nil
	}
	return &syncd.OAuth{AuthURL: u.AuthURL, TokenURL: u.TokenURL, DeviceURL: u.DeviceURL, RevokeURL: u.RevokeURL, RevokeParam: u.RevokeParam, Scopes: u.Scopes, Params: u.Params}
}

func (l Limit) limit() syncd.Limit {
	return syncd.Limit{Requests: l.Requests, Per: l.Per, Burst: l.Burst}
}

// Example implements syncd.Exampler: the params that must be set, or an API.
func (o *Options) Example() string {
	if len(o.Lists) > 0 {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(o.Params)) {
			if o.Params[name] == "" {
				fmt.Fprintf(&b, "  %s: ...\n", name)
			}
		}
		if b.Len() == 0 {
			return ""
		}
		return "params:\n" + b.String()
	}
	return example
}

const example = `base_url: https://api.example.com/v1
auth: { scheme: bearer }
streams:
  tickets:
    path: /tickets
    records: body.tickets
    mark: updated_at
    order: ascending
    since: updated_since
    paging: { by: cursor, param: cursor, next: body.next_cursor }
`

// Streams implements syncd.Options.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	a := compile(o)
	a.needParams()
	if len(a.faults) > 0 {
		return nil, errors.Join(a.faults...)
	}
	var streams []syncd.Stream
	for _, l := range a.lists {
		if len(o.Only) == 0 || slices.Contains(o.Only, l.name) {
			streams = append(streams, l.stream(c, o.Lists[l.name]))
		}
	}
	slices.SortFunc(streams, func(a, b syncd.Stream) int { return cmp.Compare(a.Name, b.Name) })
	return streams, nil
}

func (l *list) stream(c *syncd.Client, o Stream) syncd.Stream {
	r := &reader{list: l, client: c}
	s := syncd.Stream{
		Name: l.name, Order: orders[o.Order], Overlap: o.Overlap, Precision: l.since.precision,
		Sequence: l.extract.mark != nil && l.extract.clock.sequence(), Snapshot: o.Snapshot, Append: o.Append,
		Increments: o.Increments, Version: o.Version, Settings: l.settings(o),
		Fetch: r.fetch, Replay: l.replay,
	}
	if l.inParts {
		s.Parts = r.parts
	}
	return s
}

// settings identify what decides the content of a list, how it goes on included:
// a list that was not followed to its end is to be read again. How many records
// are asked for at once, how late changes are and what errors mean can be set
// differently without reading everything again. Fields that are added leave zero values out.
func (l *list) settings(o Stream) string {
	content := struct {
		Path, Body, Format, Records, Deleted, Keep string
		Query, Headers                             map[string]string
		ID                                         Key
		Mark                                       Mark
		Paging                                     Paging
		Order                                      string
		Parent                                     string `json:",omitzero"`
	}{o.Path, o.Body, o.Format, o.Records, o.Deleted, o.Keep, o.Query, o.Headers, o.ID, o.Mark, o.Paging, o.Order, ""}
	content.Paging.Size, content.Paging.SizeParam = 0, ""
	if l.parent != nil {
		content.Parent = l.parent.name + " " + l.parent.path.source + " " + fmt.Sprint(l.wanted)
	}
	text, err := json.Marshal(content) // maps come in the order of their keys
	if err != nil {
		return "" // texts alone can always be spelt
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

var orders = map[string]syncd.Order{"": syncd.Unordered, "ascending": syncd.Ascending, "descending": syncd.Descending}

// fault is what is wrong with an option.
func fault(option, format string, args ...any) error {
	return &syncd.OptionError{Option: option, Err: fmt.Errorf(format, args...)}
}
