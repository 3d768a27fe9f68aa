package connectortest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// options are those of the connectors of these tests: a list of streams.
type options struct {
	make func(c *syncd.Client) []syncd.Stream
}

func (o *options) Streams(c *syncd.Client) ([]syncd.Stream, error) { return o.make(c), nil }

func connector(streams func(c *syncd.Client) []syncd.Stream) syncd.Connector {
	return syncd.Connector{
		Name: "good", BaseURL: "https://api.good.test/v1", Auth: syncd.Auth{Scheme: syncd.Bearer},
		Options: func() syncd.Options { return &options{streams} },
	}
}

// An element is what the good connector must know of one.
type element struct {
	ID      syncd.ID        `json:"id"`
	Changed syncd.Timestamp `json:"changed"`
	Deleted bool            `json:"deleted"`
}

func (e element) record() syncd.Record {
	return syncd.Record{ID: string(e.ID), Mark: e.Changed.Mark(), Deleted: e.Deleted}
}

// render is an item as the good provider shows it.
func render(it connectortest.Item) string {
	return fmt.Sprintf(`{"id":%s,"rev":%d,"note":"<&> %d","changed":%q,"deleted":%v}`, it.ID, it.Rev, it.N, it.Changed.Format(time.RFC3339Nano), it.Deleted)
}

// A protocol is a way of listing: how it is asked, and how it is faked.
type protocol struct {
	stream syncd.Stream
	facts  connectortest.Facts
	fetch  func(c *syncd.Client) func(context.Context, syncd.Request) (syncd.Page, error)
	fake   func(w *connectortest.World, rw http.ResponseWriter, r *http.Request)
}

func (p protocol) subject() connectortest.Subject {
	return connectortest.Subject{
		Connector: connector(func(c *syncd.Client) []syncd.Stream {
			s := p.stream
			s.Name, s.Fetch = "things", p.fetch(c)
			return []syncd.Stream{s}
		}),
		Streams: map[string]connectortest.Facts{"things": p.facts},
		Fake: func(w *connectortest.World) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { p.fake(w, rw, r) })
		},
	}
}

// numbered asks for a list with page numbers, oldest change first.
func numbered(c *syncd.Client) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := url.Values{"limit": {"100"}}
		if req.Since != 0 {
			query.Set("since", req.Since.Time().Format(time.RFC3339Nano))
		}
		if req.Page != "" {
			query.Set("from", req.Page)
		}
		resp, err := c.Get(ctx, "/things", query)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "things", element.record)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := syncd.Token(resp.Body, "next")
		return syncd.Page{Records: records, Next: next}, err
	}
}

func fakeNumbered(order func([]connectortest.Item) []connectortest.Item) func(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
	return func(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items := order(connectortest.Since(w.Items("things", ""), q.Get("since")))
		from, _ := strconv.Atoi(q.Get("from"))
		page, next := connectortest.Cut(items, from, w.Limit(q.Get("limit")))
		token := "null"
		if next > 0 {
			token = strconv.Itoa(next)
		}
		fmt.Fprintf(rw, `{"things":%s,"next":%s}`, w.Elements(page, render), token)
	}
}

func TestAscending(t *testing.T) {
	p := protocol{
		stream: syncd.Stream{Order: syncd.Ascending},
		facts:  connectortest.Facts{Grain: time.Millisecond},
		fetch:  numbered, fake: fakeNumbered(connectortest.Oldest),
	}
	connectortest.Run(t, p.subject())
}
