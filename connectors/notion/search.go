package notion

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/syncdhq/syncd"
)

// A finder searches for all objects of a kind.
//
// A search (https://developers.notion.com/reference/post-search) can be sorted
// by the last edit and not be filtered by it, and it finds either what is live
// or what is in the trash
// (https://github.com/makenotion/notion-sdk-js/releases/tag/v5.23.2). So a walk
// has two halves. The live ones are listed, last edit first, down to what was
// edited before the bound. Those in the trash, which Notion empties after 30
// days, are listed all: whether an old page that is thrown away counts as
// edited, Notion does not say. Over both halves there is no order to promise.
type finder struct {
	*api
	kind  string // page or data_source
	trash bool
}

// A position is where a walk stands: the page token.
type position struct {
	Trash  bool   `json:"trash,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// A query is the body of a search. Notion refuses fields that it does not know.
type query struct {
	Filter struct {
		Property string `json:"property"`
		Value    string `json:"value"`
		Trash    bool   `json:"in_trash,omitempty"`
	} `json:"filter"`
	Sort   sorting `json:"sort"`
	Cursor string  `json:"start_cursor,omitempty"`
	Size   int     `json:"page_size"`
}

type sorting struct {
	Timestamp string `json:"timestamp"`
	Direction string `json:"direction"`
}

func (f finder) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	var at position
	if req.Page != "" {
		if err := json.Unmarshal([]byte(req.Page), &at); err != nil {
			return syncd.Page{}, fmt.Errorf("search: page token %q: %w", req.Page, err)
		}
	}
	q := query{Cursor: at.Cursor, Size: pageSize, Sort: sorting{"last_edited_time", "descending"}}
	q.Filter.Property, q.Filter.Value, q.Filter.Trash = "object", f.kind, at.Trash
	got, err := f.ask(ctx, "search", nil, q)
	if err != nil {
		return syncd.Page{}, err
	}
	past := false // an element was edited before the bound
	records, err := syncd.Decode(got.body, "results", func(o object) syncd.Record {
		r := o.record()
		r.Deleted = r.Deleted || at.Trash
		past = past || r.Mark != 0 && r.Mark < req.Since
		return r
	})
	if err != nil {
		return syncd.Page{}, fmt.Errorf("search: %w", err)
	}
	page := syncd.Page{Records: records}
	switch ended := got.next == "" || past && !at.Trash; {
	case !ended:
		at.Cursor = got.next
	case at.Trash && got.cut:
		page.Notes = []string{"Notion does not list all of the trash: what was deleted long ago may be missing"}
		return page, nil
	case got.cut && !past:
		return syncd.Page{}, errCut("search")
	case at.Trash || !f.trash:
		return page, nil
	default:
		at = position{Trash: true}
	}
	next, err := json.Marshal(at)
	page.Next = string(next)
	return page, err
}
