package notion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
)

// rows are the pages of data sources, read in a part for each, oldest edit
// first (https://developers.notion.com/reference/query-a-data-source).
type rows struct {
	*api
	chosen []string // data sources; none means all that are found
}

// parts returns the ids of the data sources, with dashes and in lower case as
// Notion spells them.
func (r rows) parts(ctx context.Context) ([]string, error) {
	var parts []string
	for _, id := range r.chosen {
		parts = append(parts, canonical(id))
	}
	if len(parts) > 0 {
		return parts, nil
	}
	f := finder{api: r.api, kind: "data_source"}
	asked := map[string]bool{}
	for req := (syncd.Request{}); !asked[req.Page]; {
		asked[req.Page] = true
		page, err := f.fetch(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Records {
			// What else may be wrong with it is for the stream data_sources to say.
			var source struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(rec.Data, &source); err != nil || !uuid.MatchString(source.ID) {
				return nil, fmt.Errorf("search: the id of a data source is %q and not a UUID", source.ID)
			}
			parts = append(parts, source.ID)
		}
		if req.Page = page.Next; req.Page != "" {
			continue
		}
		if len(parts) == 0 {
			return nil, errors.New("no database is shared with the connection: add the connection to databases in Notion")
		}
		return parts, nil
	}
	return nil, errors.New("search: a cursor comes round again")
}

// A rowPosition is where a walk stands: the page token.
type rowPosition struct {
	Cursor string     `json:"cursor,omitempty"`
	From   syncd.Mark `json:"from,omitempty"` // the bound, where it is later than that of the request
}

type rowQuery struct {
	Filter *edited   `json:"filter,omitempty"`
	Sorts  []sorting `json:"sorts"`
	Cursor string    `json:"start_cursor,omitempty"`
	Size   int       `json:"page_size"`
}

// edited is the filter by the last edit
// (https://developers.notion.com/reference/filter-data-source-entries#timestamp).
type edited struct {
	Timestamp string `json:"timestamp"`
	Edited    struct {
		From string `json:"on_or_after"`
	} `json:"last_edited_time"`
}

// errEarlier marks what was edited before the bound.
var errEarlier = errors.New("before the bound")

// fetch is the Fetch of the stream rows.
//
// Notion rounds the times that it shows to the nearest minute: a row that shows
// the bound may have been edited up to half a minute before it. So a minute more
// is asked for, and what shows an earlier time than the bound is left out.
//
// A query lists 10,000 rows and no more
// (https://developers.notion.com/guides/data-apis/query-large-data-sources).
// Since the list begins with the oldest edit, it is asked for again from the
// last row's time; rows that are edited meanwhile only move to its end.
func (r rows) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	var at rowPosition
	if req.Page != "" {
		if err := json.Unmarshal([]byte(req.Page), &at); err != nil {
			return syncd.Page{}, fmt.Errorf("data source %s: page token %q: %w", req.Part, req.Page, err)
		}
	}
	q := rowQuery{Cursor: at.Cursor, Size: pageSize, Sorts: []sorting{{"last_edited_time", "ascending"}}}
	from := max(req.Since, at.From) - syncd.Mark(grain)
	if from > 0 {
		q.Filter = &edited{Timestamp: "last_edited_time"}
		q.Filter.Edited.From = from.Time().Format("2006-01-02T15:04:05.000Z")
	}
	got, err := r.ask(ctx, "data_sources/"+req.Part+"/query", nil, q)
	if err != nil {
		return syncd.Page{}, err
	}
	var last syncd.Mark
	records, err := syncd.Decode(got.body, "results", func(o object) syncd.Record {
		rec := o.record()
		last = max(last, rec.Mark)
		switch {
		case rec.ID == "":
			rec.Mark = 0 // it is set aside, and its time is out of the order
		case rec.Mark != 0 && rec.Mark < req.Since:
			rec.Err = errEarlier
		}
		return rec
	})
	if err != nil {
		return syncd.Page{}, fmt.Errorf("data source %s: %w", req.Part, err)
	}
	page := syncd.Page{Records: slices.DeleteFunc(records, func(rec syncd.Record) bool { return rec.Err == errEarlier })}
	switch {
	case got.next != "":
		at.Cursor = got.next
	case !got.cut:
		return page, nil
	case last-syncd.Mark(grain) <= from:
		return syncd.Page{}, fmt.Errorf("data source %s: more rows than Notion lists were edited in the minute of %s: %w", req.Part, last.Format(false), errCut("query"))
	default:
		at = rowPosition{From: last}
	}
	next, err := json.Marshal(at)
	page.Next = string(next)
	return page, err
}

// canonical spells an id, which people also copy without its dashes.
func canonical(id string) string {
	id = strings.ReplaceAll(strings.ToLower(id), "-", "")
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
}
