package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/syncdhq/syncd"
)

// A list is one of a repository's lists.
type list struct {
	name  string
	path  string // below /repositories/{id}
	order syncd.Order
	query url.Values // beside the order
}

// An item is what the elements of all lists have in common. The id is unique
// among the elements of one kind, over all repositories.
type item struct {
	ID      syncd.ID        `json:"id"`
	Updated syncd.Timestamp `json:"updated_at"`
	Pull    json.RawMessage `json:"pull_request"` // in the list of issues: it is a pull request
}

func (i item) record() syncd.Record {
	return syncd.Record{ID: string(i.ID), Mark: i.Updated.Mark()}
}

// errPull marks a pull request in the list of issues. GitHub lists both there,
// and tells them apart by the key pull_request alone; such an element has
// another id than the same pull request in its own list
// (https://docs.github.com/en/rest/issues/issues#list-repository-issues). It is
// left out: the stream pull_requests has it whole.
var errPull = errors.New("a pull request among the issues")

// fetch returns the stream's Fetch. A page token is the query of the next
// request: GitHub's own, from the Link header, which holds a page number or,
// in large lists, a cursor. Tokens hold no secret, host or path.
func (l list) fetch(r *repositories) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := l.first(req.Since)
		if req.Page != "" {
			var err error
			if query, err = url.ParseQuery(req.Page); err != nil {
				return syncd.Page{}, fmt.Errorf("page token %q: %w", req.Page, err)
			}
		}
		resp, err := r.list(ctx, req.Part, l.path, query)
		if err != nil {
			return syncd.Page{}, err
		}
		var s span
		records, err := syncd.Decode(resp.Body, "", func(i item) syncd.Record {
			pull := len(i.Pull) > 0 && string(i.Pull) != "null"
			s.see(i.Updated.Mark(), pull)
			if pull {
				return syncd.Record{Err: errPull}
			}
			return i.record()
		})
		if err != nil {
			return syncd.Page{}, r.explain(req.Part, err)
		}
		next, err := l.next(resp, query, s)
		if err != nil {
			return syncd.Page{}, r.explain(req.Part, err)
		}
		records = slices.DeleteFunc(records, func(rec syncd.Record) bool { return rec.Err == errPull })
		return syncd.Page{Records: records, Next: next}, nil
	}
}

// first returns the query of a walk's first page.
func (l list) first(since syncd.Mark) url.Values {
	query := maps.Clone(l.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("sort", "updated")
	query.Set("per_page", "100") // the most that GitHub gives
	query.Set("direction", "desc")
	if l.order == syncd.Ascending {
		query.Set("direction", "asc")
		if since != 0 {
			query.Set("since", since.Time().Format(sinceFormat))
		}
	}
	return query
}

// sinceFormat is exact to the second; what is finer is cut off, towards the past.
const sinceFormat = "2006-01-02T15:04:05Z"

// next returns the token of the page after the one that query asked for.
//
// The engine moves on by the marks of a page's records. It cannot where the
// issues of a page all lie in the past of the pull requests that were left out
// behind them; following page numbers there would lose issues, since each
// change of an earlier element moves all later ones forward by one. So the
// list is asked for again from the last element's time.
func (l list) next(resp *syncd.Response, query url.Values, s span) (string, error) {
	link, err := resp.NextLink()
	if link == "" || err != nil {
		return "", err
	}
	if l.order == syncd.Ascending && s.sorted() && s.last > s.kept {
		jump := l.first(s.last)
		if jump.Get("since") > query.Get("since") { // one format, so texts sort as times
			return jump.Encode(), nil
		}
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

// A span is what the times of a page's elements come to.
type span struct {
	last syncd.Mark // of all elements
	kept syncd.Mark // the latest of those that become records
	back bool       // some element is older than the one before it
}

func (s *span) see(m syncd.Mark, pull bool) {
	if m == 0 {
		return
	}
	s.back = s.back || m < s.last
	s.last = max(s.last, m)
	if !pull {
		s.kept = max(s.kept, m)
	}
}

func (s *span) sorted() bool { return !s.back }
