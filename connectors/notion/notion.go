// Package notion reads what a Notion workspace has shared with a connection:
// its pages, data sources and users, and the rows of data sources.
//
// Pages are read as the properties that Notion lists; their content, which is
// blocks, is not read.
package notion

import (
	"regexp"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Limits: three requests a second on average for each connection; 429, and 529
// where Notion is overloaded, with Retry-After
// (https://developers.notion.com/reference/request-limits).
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "notion",
		Summary: "pages, data sources, their rows and users of a Notion workspace",
		BaseURL: "https://api.notion.com/v1",
		Auth:    syncd.Auth{Scheme: syncd.Bearer},
		Rate:    syncd.Rate{User: syncd.Limit{Requests: 3, Per: time.Second, Burst: 3}},
		Options: func() syncd.Options { return &Options{Trash: true} },
	}
}

// Options choose the streams.
type Options struct {
	Only        []string `yaml:"streams" settings:"-" doc:"the streams to read, of pages, data_sources, users and rows; without it, all but rows"`
	DataSources []string `yaml:"data_sources" doc:"the data sources whose rows are read, by id; without it, all that are found"`
	Trash       bool     `yaml:"trash" doc:"look into the trash in each run for what was deleted"`
	Absence     bool     `yaml:"absence" settings:"-" doc:"take pages and data sources that a full walk does not find as deleted; Notion does not promise that it finds all"`
}

const (
	// indexing is how late a change may show up in a search. Notion says no
	// more than that its index is not immediate
	// (https://developers.notion.com/reference/search-optimizations-and-limitations).
	indexing = time.Hour
	// overlap is how late a row may show up in its data source.
	overlap = 5 * time.Minute
	// grain is how exact the times of last edits are
	// (https://developers.notion.com/changelog/last-edited-time-is-now-rounded-to-the-nearest-minute).
	grain = time.Minute
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// Streams implements syncd.Options.
//
// Pages and data sources are searched for: "search is not guaranteed to return
// everything" (https://developers.notion.com/reference/search-optimizations-and-limitations),
// so what it leaves out counts as deleted only by the operator's word. Rows are
// queried, which is the way to list all of them
// (https://developers.notion.com/reference/query-a-data-source). The list of
// users is whole, in no particular order, and tells of no times
// (https://developers.notion.com/reference/get-users).
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	for _, id := range o.DataSources {
		if !uuid.MatchString(strings.ToLower(id)) {
			return nil, syncd.BadOption("data_sources", "%q is not the id of a data source, such as 1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f: copy it in Notion under the database's Manage data sources", id)
		}
	}
	a := &api{client: c}
	search := func(name, kind string) syncd.Stream {
		return syncd.Stream{
			Name: name, Overlap: indexing, Precision: grain, Increments: !o.Absence,
			Fetch: finder{a, kind, o.Trash, o.Absence}.fetch, Replay: syncd.Replay(object.record),
		}
	}
	all := []syncd.Stream{
		search("pages", "page"),
		search("data_sources", "data_source"),
		{Name: "users", Snapshot: true, Fetch: a.users, Replay: syncd.Replay(object.record)},
		{
			Name: "rows", Order: syncd.Ascending, Overlap: overlap, Precision: grain,
			Parts: rows{a, o.DataSources}.parts, Fetch: rows{a, o.DataSources}.fetch, Replay: syncd.Replay(object.record),
		},
	}
	only := o.Only
	if len(only) == 0 {
		only = []string{"pages", "data_sources", "users"} // rows cost a request for each data source
	}
	return syncd.Choose(all, only)
}
