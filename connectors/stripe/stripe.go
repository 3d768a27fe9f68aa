// Package stripe reads a Stripe account: its charges, customers, invoices,
// subscriptions and events.
//
// Stripe's lists know when an object was created and not when it changed: no
// object has a time of its last change, and no list can be filtered or sorted
// by one. What has changed is told by events, which Stripe keeps for 30 days
// (https://docs.stripe.com/api/events). So the first walk over a stream reads
// its list, and each later one reads the events since; see the type source
// for what an event is good for, and what is not taken from it.
package stripe

import (
	"regexp"
	"time"

	"github.com/syncdhq/syncd"
)

// version is the version of the API that all requests ask for, whatever the
// account's own is, so that all records have the shape of this one
// (https://docs.stripe.com/api/versioning). Whoever raises it raises
// Stream.Version, too: the records are to be read once more.
const version = "2026-05-27.dahlia"

// Connector returns the connector.
//
// An account may make 100 requests a second in live mode and 25 in a sandbox,
// and 25 a second to any one endpoint in either; its own application shares
// these limits (https://docs.stripe.com/rate-limits). So they are kept a fifth
// below the lowest. A refusal is a 429; it need not say when to come back.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "stripe",
		Summary: "charges, customers, invoices, subscriptions and events of a Stripe account",
		BaseURL: "https://api.stripe.com",
		Auth:    syncd.Auth{Scheme: syncd.Bearer}, // https://docs.stripe.com/api/authentication
		Rate:    syncd.Rate{User: syncd.Limit{Requests: 20, Per: time.Second, Burst: 5}},
		Options: func() syncd.Options { return &Options{} },
	}
}

// Options choose the account and the streams.
type Options struct {
	Account string   `yaml:"account" doc:"the connected account to read (acct_...), with the key of its platform; without it, the key's own account"`
	Mode    string   `yaml:"mode" settings:"-" doc:"live or test: fail where the key turns out to be one of the other mode"`
	Only    []string `yaml:"streams" settings:"-" doc:"the streams to read, of charges, customers, invoices, subscriptions and events; without it, all"`
}

var accountID = regexp.MustCompile(`^acct_[A-Za-z0-9]+$`)

// Streams implements syncd.Options.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if o.Account != "" && !accountID.MatchString(o.Account) {
		return nil, syncd.BadOption("account", "%q is not the id of an account, such as acct_1AbCdEfGhIjKlMnO", o.Account)
	}
	if o.Mode != "" && o.Mode != "live" && o.Mode != "test" {
		return nil, syncd.BadOption("mode", "%q is neither live nor test", o.Mode)
	}
	a := &api{client: c, account: o.Account, mode: o.Mode}
	var all []syncd.Stream
	for _, k := range kinds() {
		s := source{api: a, kind: k}
		all = append(all, syncd.Stream{Name: k.name, Fetch: s.fetch, Replay: s.replay})
	}
	all = append(all, syncd.Stream{
		Name: "events", Order: syncd.Descending, Overlap: overlap, Precision: time.Second, Append: true,
		Fetch: a.events, Replay: syncd.Replay(element.event),
	})
	return syncd.Choose(all, o.Only)
}
