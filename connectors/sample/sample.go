// Package sample is a provider to try syncd with, and the connector to read
// before writing one's own: this file is all of it. The provider that it reads
// is in the files beside it; it needs no account and no network.
package sample

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector: a value with its name, how requests are
// signed, the published limits (here none), and the options with defaults.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "sample",
		Summary: "a built-in provider that changes while you watch",
		Auth:    syncd.Auth{Scheme: syncd.Bearer, Optional: true},
		Options: func() syncd.Options {
			return &Options{Size: 120, Seed: 1, ChangeEvery: 20 * time.Second, Faults: true}
		},
		// Only this connector brings its own provider. Others set BaseURL instead.
		Demo: func() http.Handler { return &Server{Now: time.Now} },
	}
}

// Options are a source's settings, as its `options:` in the configuration.
type Options struct {
	Account     string        `yaml:"account" doc:"whose data to read; without it, the token decides, and without a token all read the same"`
	Size        int           `yaml:"size" doc:"how many customers there are"`
	Seed        int           `yaml:"seed" doc:"another seed is another world"`
	ChangeEvery time.Duration `yaml:"change_every" doc:"how often one of the customers changes"`
	Faults      bool          `yaml:"faults" doc:"throttle and fail now and then, as real providers do"`
}

// Streams checks the options and lists what can be read. It makes no requests.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return []syncd.Stream{
		{
			// The best kind of list: oldest change first, from a given time on.
			// Order is a promise, and the engine checks it on every page.
			Name: "customers", Order: syncd.Ascending, Fetch: o.customers(c),
			Overlap:   time.Minute, // read a minute again, for changes that show up late
			Precision: time.Second, // since is exact to the second
			Replay:    syncd.Replay(customerItem.record),
		},
		{
			// Written once and never changed, numbered instead of dated.
			Name: "orders", Order: syncd.Ascending, Sequence: true, Append: true, Fetch: o.orders(c),
			Replay: syncd.Replay(orderItem.record),
		},
		{
			// No filter by time, but newest change first: the engine stops
			// reading where it stopped the last time.
			Name: "tickets", Order: syncd.Descending, Fetch: o.tickets(c),
			Overlap: time.Minute,
			Replay:  syncd.Replay(ticketItem.record), // for records that were set aside
		},
	}, nil
}

// A customerItem is what the engine must know of a customer; the rest is kept as it comes.
type customerItem struct {
	ID        syncd.ID        `json:"id"`
	UpdatedAt syncd.Timestamp `json:"updated_at"`
}

func (x customerItem) record() syncd.Record {
	return syncd.Record{ID: string(x.ID), Mark: x.UpdatedAt.Mark()}
}

// customers returns one page of a list with page numbers. A Fetch asks once and
// returns; paging on, waiting, retrying and storing are the engine's.
func (o *Options) customers(c *syncd.Client) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := o.query()
		if req.Since != 0 { // 0 means everything
			query.Set("since", req.Since.Time().Format(time.RFC3339))
		}
		if req.Page != "" { // "" is the first page, else what we returned as Next
			query.Set("page", req.Page)
		}
		resp, err := c.Get(ctx, "/v1/customers", query)
		if err != nil {
			return syncd.Page{}, err // it says already what was asked, and what came
		}
		records, err := syncd.Decode(resp.Body, "customers", customerItem.record)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := syncd.Token(resp.Body, "next_page") // null on the last page: ""
		return syncd.Page{Records: records, Next: next}, err
	}
}

type orderItem struct {
	ID     syncd.ID `json:"id"`
	Number int64    `json:"number"`
}

func (x orderItem) record() syncd.Record {
	return syncd.Record{ID: string(x.ID), Mark: syncd.Mark(x.Number)}
}

// orders returns one page of a list with cursors.
func (o *Options) orders(c *syncd.Client) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := o.query()
		query.Set("from", strconv.FormatInt(int64(req.Since), 10))
		if req.Page != "" {
			query.Set("cursor", req.Page)
		}
		resp, err := c.Get(ctx, "/v1/orders", query)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "orders", orderItem.record)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := syncd.Token(resp.Body, "next_cursor")
		return syncd.Page{Records: records, Next: next}, err
	}
}

type ticketItem struct {
	ID        syncd.ID        `json:"id"`
	UpdatedAt syncd.Timestamp `json:"updated_at"`
	Deleted   bool            `json:"deleted"`
}

func (x ticketItem) record() syncd.Record {
	return syncd.Record{ID: string(x.ID), Mark: x.UpdatedAt.Mark(), Deleted: x.Deleted}
}

// tickets returns one page of a list with Link headers, and says what is gone.
// One ticket has no id, as happens: it is set aside, and the rest goes on.
func (o *Options) tickets(c *syncd.Client) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := o.query()
		if req.Page != "" {
			query.Set("before", req.Page)
		}
		resp, err := c.Get(ctx, "/v1/tickets", query)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "", ticketItem.record)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := resp.NextLink()
		if err != nil {
			return syncd.Page{}, err
		}
		u, err := url.Parse(next)
		if err != nil {
			return syncd.Page{}, err
		}
		// The token is kept between runs, so it holds no host, which may change.
		return syncd.Page{Records: records, Next: u.Query().Get("before")}, nil
	}
}
