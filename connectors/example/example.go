// Package example reads the tickets of an imaginary help desk. It is a
// connector to start from: `syncd connectors new NAME --go` writes a copy.
//
// A connector says where things are and what they are called. Everything else
// is the engine's: paging through, storing, retrying, waiting for rate limits,
// remembering how far it got, running again after a crash. So there is no loop,
// clock, retry or state here, and there must be none.
package example

import (
	"context"
	"net/url"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector, for the program's list.
func Connector() syncd.Connector {
	return syncd.Connector{
		// The name in the configuration's `connector:`. It never changes, since
		// it is stored.
		Name: "example",
		// One line for `syncd connectors list`.
		Summary: "tickets of an imaginary help desk",
		// Where the API lives. Where each customer has a server of their own,
		// leave it out: `base_url:` must then be set.
		BaseURL: "https://api.example.com",
		// How requests are signed with the source's `credentials:`. The
		// connector itself never sees them. Others: Basic, HeaderKey, QueryKey.
		Auth: syncd.Auth{Scheme: syncd.Bearer},
		// The published limits, per user and for the whole app. Answers that say
		// 429 or tell what is left are heeded besides.
		Rate: syncd.Rate{User: syncd.Limit{Requests: 100, Per: time.Minute, Burst: 5}},
		// The default options, new for each caller.
		Options: func() syncd.Options { return &Options{} },
	}
}

// Options are what a user can set under `options:`. Whatever is written there
// and is not a field here is an error with its line.
type Options struct {
	Team string `yaml:"team" doc:"the team whose tickets to read; without it, all"`
}

// overlap is how late a change may show up in the list: each walk starts so
// long before the newest change that was seen. Write down where it is from: the
// provider's documentation, or what was observed.
const overlap = time.Minute

// Streams implements syncd.Options: it checks the options and returns the lists
// to read. It makes no requests.
//
// Cite the provider's page for each rule that is relied on:
//   - tickets are listed oldest change first, from `updated_since` on, which is
//     inclusive and exact to the second: https://api.example.com/docs/tickets
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if len(o.Team) > 40 {
		return nil, syncd.BadOption("team", "a team's name has 40 characters at most")
	}
	return []syncd.Stream{{
		Name:      "tickets",
		Order:     syncd.Ascending, // a promise, checked on every page: see syncd.Order
		Overlap:   overlap,
		Precision: time.Second,
		Fetch:     fetch(c, o.Team),
		Replay:    syncd.Replay(ticket.record),
	}}, nil
}

// A ticket has the fields that the engine needs, by the exact names they have
// in the provider's JSON. The rest of it is stored as it came.
type ticket struct {
	ID      syncd.ID        `json:"id"`         // text or whole number, never a float
	Updated syncd.Timestamp `json:"updated_at"` // RFC 3339; without an offset it is refused
	Deleted bool            `json:"deleted"`
}

// record says which thing it is, when it came to be as it is, and whether it is
// gone. The bytes are put in by Decode.
func (t ticket) record() syncd.Record {
	return syncd.Record{ID: string(t.ID), Mark: t.Updated.Mark(), Deleted: t.Deleted}
}

// fetch returns the stream's Fetch: one page of what changed at or after Since.
// The same request must get the same answer, so nothing is kept between calls.
func fetch(c *syncd.Client, team string) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := url.Values{"limit": {"100"}}
		if team != "" {
			query.Set("team", team)
		}
		if req.Since != 0 { // 0 is everything
			query.Set("updated_since", req.Since.Time().Format(time.RFC3339))
		}
		if req.Page != "" { // what this function returned as Next
			query.Set("cursor", req.Page)
		}
		// Signed, paced and retried. Any answer other than 2xx is an error.
		resp, err := c.Get(ctx, "/v1/tickets", query)
		if err != nil {
			return syncd.Page{}, err
		}
		// The list is at "tickets" in the answer. A bad element costs itself
		// alone; an answer that is cut or no list is an error and no empty page.
		records, err := syncd.Decode(resp.Body, "tickets", ticket.record)
		if err != nil {
			return syncd.Page{}, err
		}
		// The token of the next page; null or nothing ends the list.
		next, err := syncd.Token(resp.Body, "next_cursor")
		return syncd.Page{Records: records, Next: next}, err
	}
}
