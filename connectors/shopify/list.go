package shopify

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/syncdhq/syncd"
)

// An item is what the elements of all lists have in common.
type item struct {
	ID      syncd.ID        `json:"id"`
	Updated syncd.Timestamp `json:"updated_at"`
}

func (i item) record() syncd.Record {
	return syncd.Record{ID: string(i.ID), Mark: i.Updated.Mark()}
}

// fetch returns the stream's Fetch. A page token is the query of the next
// request, from the Link header: page_info stands for the whole query, and
// nothing but limit and fields may be beside it
// (https://shopify.dev/docs/api/usage/pagination-rest).
func (l list) fetch(c *syncd.Client, path string) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := l.first(req.Since)
		if req.Page != "" {
			var err error
			if query, err = url.ParseQuery(req.Page); err != nil {
				return syncd.Page{}, fmt.Errorf("page token %q: %w", req.Page, err)
			}
		}
		resp, err := c.Get(ctx, path, query)
		if err != nil {
			return syncd.Page{}, explain(err)
		}
		records, err := syncd.Decode(resp.Body, l.name, item.record)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := nextQuery(resp)
		return syncd.Page{Records: records, Next: next}, err
	}
}

// first returns the query of a walk's first page.
func (l list) first(since syncd.Mark) url.Values {
	query := url.Values{"limit": {"250"}} // the most that Shopify gives
	for name, value := range l.query {
		query.Set(name, value)
	}
	if since != 0 {
		query.Set("updated_at_min", since.Time().Format(time.RFC3339))
	}
	return query
}

// nextQuery returns the query of the next page's URL, "" at the list's end.
func nextQuery(resp *syncd.Response) (string, error) {
	link, err := resp.NextLink()
	if link == "" || err != nil {
		return "", err
	}
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	if u.RawQuery == "" {
		return "", fmt.Errorf("next page: %s has no query", u.Path)
	}
	return u.RawQuery, nil
}
