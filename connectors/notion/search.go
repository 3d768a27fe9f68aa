package notion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
// Where absence counts, what was edited meanwhile is listed at the end.
type finder struct {
	*api
	kind    string // page or data_source
	trash   bool
	absence bool // what a walk over everything does not find counts as deleted
}

// A position is where a walk stands: the page token.
type position struct {
	Trash  bool       `json:"trash,omitempty"`
	Cursor string     `json:"cursor,omitempty"`
	Newest syncd.Mark `json:"newest,omitempty"` // the last edit of all when the walk began
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
	past := false // an element was edited before the bound
	var newest syncd.Mark
	records, got, err := f.list(ctx, at, func(o object) syncd.Record {
		r := o.record()
		r.Deleted = r.Deleted || at.Trash
		past = past || r.Mark != 0 && r.Mark < req.Since
		newest = max(newest, r.Mark)
		return r
	})
	if err != nil {
		return syncd.Page{}, err
	}
	if req.Page == "" && f.absence && req.Since == 0 {
		at.Newest = newest
	}
	page := syncd.Page{Records: records}
	switch ended := got.next == "" || past && !at.Trash; {
	case !ended:
		at.Cursor = got.next
	case got.cut && !at.Trash && !past:
		return syncd.Page{}, errCut("search")
	case f.trash && !at.Trash:
		at = position{Trash: true, Newest: at.Newest}
	default:
		if got.cut && at.Trash {
			page.Notes = []string{"Notion does not list all of the trash: what was deleted long ago may be missing"}
		}
		moved, err := f.moved(ctx, at.Newest)
		page.Records = append(page.Records, moved...)
		return page, err
	}
	next, err := json.Marshal(at)
	page.Next = string(next)
	return page, err
}

// list asks for a page of one half.
func (f finder) list(ctx context.Context, at position, record func(object) syncd.Record) ([]syncd.Record, answer, error) {
	q := query{Cursor: at.Cursor, Size: pageSize, Sort: sorting{"last_edited_time", "descending"}}
	q.Filter.Property, q.Filter.Value, q.Filter.Trash = "object", f.kind, at.Trash
	got, err := f.ask(ctx, "search", nil, q)
	if err != nil {
		return nil, answer{}, err
	}
	records, err := syncd.Decode(got.body, "results", record)
	if err != nil {
		return nil, answer{}, fmt.Errorf("search: %w", err)
	}
	return records, got, nil
}

// moved lists what was edited since a walk over everything began, which has
// come to the top of the list: a walk that had not met it yet does not meet it
// any more, and what is not met counts as deleted. Zero is for all other walks,
// which prove nothing to be gone.
func (f finder) moved(ctx context.Context, since syncd.Mark) ([]syncd.Record, error) {
	if since == 0 {
		return nil, nil
	}
	var all []syncd.Record
	asked := map[string]bool{}
	for at := (position{}); !asked[at.Cursor]; {
		asked[at.Cursor] = true
		past := false
		records, got, err := f.list(ctx, at, func(o object) syncd.Record {
			r := o.record()
			r.Place = "listed again" // and so no page is like one before
			if r.Mark != 0 && r.Mark < since {
				past, r.Err = true, errEarlier
			}
			return r
		})
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(records, func(r syncd.Record) bool { return r.Err == errEarlier })...)
		switch at.Cursor = got.next; {
		case past || at.Cursor == "" && !got.cut:
			return all, nil
		case at.Cursor == "":
			return nil, errCut("search")
		}
	}
	return nil, errors.New("search: a cursor comes round again")
}
