// Package github reads repositories on GitHub and GitHub Enterprise Server:
// their issues, pull requests and comments.
//
// Every stream is read in parts, one per repository. A part is named by the
// repository's numeric id, which outlives renames and transfers; the lists are
// asked for as /repositories/{id}/..., the form that GitHub itself uses in its
// Link headers (https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api).
// Names are resolved in each run and are never part of a key or a cursor.
package github

import (
	"net/url"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Limits: 5,000 requests an hour for each user's token; 60 an hour for each IP
// address without one; at most 100 requests at once and 900 points (one for
// each GET) a minute
// (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api).
// What is left of a limit is told in each answer's X-RateLimit headers.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "github",
		Summary: "issues, pull requests and comments of GitHub repositories",
		BaseURL: "https://api.github.com",
		Auth:    syncd.Auth{Scheme: syncd.Bearer, Optional: true},
		Rate:    syncd.Rate{User: syncd.Limit{Requests: 5000, Per: time.Hour, Burst: 20}},
		Options: func() syncd.Options { return &Options{} },
	}
}

// Options choose the repositories and the streams.
type Options struct {
	Repo  string   `yaml:"repo" doc:"the repository to read, as owner/name; without repo and repos, all that the token sees"`
	Repos []string `yaml:"repos" doc:"the repositories to read, each as owner/name"`
	Only  []string `yaml:"streams" settings:"-" doc:"the streams to read, of issues, pull_requests, comments and review_comments; without it, all"`
}

// overlap is how late a change may show up in a list: GitHub answers from
// replicas, and lists trail single reads by seconds.
const overlap = 5 * time.Minute

// Streams implements syncd.Options.
//
// Issues and comments are listed oldest change first from a `since` that is
// inclusive and exact to the second. The list of pull requests knows no `since`
// and is read newest change first:
//   - https://docs.github.com/en/rest/issues/issues#list-repository-issues
//   - https://docs.github.com/en/rest/issues/comments#list-issue-comments-for-a-repository
//   - https://docs.github.com/en/rest/pulls/comments#list-review-comments-in-a-repository
//   - https://docs.github.com/en/rest/pulls/pulls#list-pull-requests
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	r := &repositories{client: c, chosen: names}
	lists := []list{
		{name: "issues", path: "/issues", order: syncd.Ascending, query: url.Values{"state": {"all"}}},
		{name: "pull_requests", path: "/pulls", order: syncd.Descending, query: url.Values{"state": {"all"}}},
		{name: "comments", path: "/issues/comments", order: syncd.Ascending},
		{name: "review_comments", path: "/pulls/comments", order: syncd.Ascending},
	}
	var all []syncd.Stream
	for _, l := range lists {
		all = append(all, l.stream(r))
	}
	return syncd.Choose(all, o.Only)
}

func (l list) stream(r *repositories) syncd.Stream {
	return syncd.Stream{
		Name:      l.name,
		Order:     l.order,
		Overlap:   overlap,
		Precision: time.Second,
		Parts:     r.parts,
		Fetch:     l.fetch(r),
		Replay:    syncd.Replay(item.record),
	}
}
