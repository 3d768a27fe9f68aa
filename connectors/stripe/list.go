package stripe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/syncdhq/syncd"
)

// pageSize is the most that Stripe gives (https://docs.stripe.com/api/pagination).
const pageSize = "100"

// An element is what must be known of the elements of all lists. Fields that
// are not needed to keep a record are read as they come: a broken one is no
// reason to set the record aside.
type element struct {
	ID      syncd.ID        `json:"id"`
	Created json.RawMessage `json:"created"`
	Live    json.RawMessage `json:"livemode"`
	Deleted json.RawMessage `json:"deleted"`

	// Of events only.
	Type    json.RawMessage `json:"type"`
	Account json.RawMessage `json:"account"`
	Data    json.RawMessage `json:"data"`
}

// object makes a record of an object. It has no mark: Stripe does not say when
// an object came to be as it is, and `created` orders no versions.
//
// Of a customer that was deleted Stripe gives the id and `deleted: true`
// (https://docs.stripe.com/api/customers/retrieve).
func (e element) object() syncd.Record {
	return syncd.Record{ID: string(e.ID), Deleted: string(e.Deleted) == "true"}
}

// event makes a record of an event, which is marked by when it was created.
func (e element) event() syncd.Record {
	r := syncd.Record{ID: string(e.ID)}
	switch at, ok := seconds(e.Created); {
	case ok:
		r.Mark = syncd.UnixSeconds(at)
	case len(e.Created) > 0 && string(e.Created) != "null":
		r.Err = syncd.Reject("bad_time", "created is %.40s, not a number of seconds", e.Created)
	}
	return r
}

// seconds reads a time as Stripe writes it, in whole seconds since 1970.
func seconds(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil && n > 0
}

// A place is where the last page of a list ended.
type place struct {
	After string `json:"after,omitempty"` // the id of its last element
	At    int64  `json:"at,omitempty"`    // when that was created; 0 if it is not known
}

// A sheet is one page of a list.
type sheet struct {
	records []syncd.Record
	more    bool
	end     place
	date    time.Time // by Stripe's clock
}

// list asks for the page of a list behind a place; the zero place is before its
// first element. Lists are newest first, and what follows an element is asked
// for by its id (https://docs.stripe.com/api/pagination).
//
// Stripe refuses to go on from an element that it no longer lists
// (https://github.com/stripe/stripe-go/issues/1030). All that follow it were
// created when it was, or before: from there the list is read.
func (a *api) list(ctx context.Context, path string, query url.Values, from place, record func(element) syncd.Record) (sheet, error) {
	query.Set("limit", pageSize)
	if from.After != "" {
		query.Set("starting_after", from.After)
	}
	resp, err := a.get(ctx, path, query)
	if from.At > 0 && lostPlace(err) {
		query.Del("starting_after")
		query.Set("created[lte]", strconv.FormatInt(from.At, 10))
		resp, err = a.get(ctx, path, query)
	}
	if err != nil {
		return sheet{}, err
	}
	return a.read(resp, record)
}

// read reads a page. What follows is asked for by the last element that has an
// id; one behind it that has none is listed once more.
func (a *api) read(resp *syncd.Response, record func(element) syncd.Record) (sheet, error) {
	var s sheet
	var wrong error
	records, err := syncd.Decode(resp.Body, "data", func(e element) syncd.Record {
		if e.ID != "" {
			at, _ := seconds(e.Created)
			s.end = place{string(e.ID), at}
		}
		wrong = cmp.Or(wrong, a.check(e))
		return record(e)
	})
	if err = cmp.Or(err, wrong); err != nil {
		return sheet{}, err
	}
	var head struct {
		More *bool `json:"has_more"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return sheet{}, err
	}
	switch {
	case head.More == nil:
		return sheet{}, errors.New("the answer is not as expected: it does not say whether it has_more")
	case *head.More && s.end.After == "":
		return sheet{}, errors.New("the answer is not as expected: it has_more, and no element with an id to go on from")
	}
	s.records, s.more = records, *head.More
	s.date, err = http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return sheet{}, fmt.Errorf("the answer is not as expected: its Date is %q", resp.Header.Get("Date"))
	}
	return s, nil
}

// check refuses what is of the other mode than the one that was chosen. Each
// key is of one mode (https://docs.stripe.com/keys), and each object says of
// which it is.
func (a *api) check(e element) error {
	is := map[string]string{"true": "live", "false": "test"}[string(e.Live)]
	if a.mode == "" || is == "" || is == a.mode {
		return nil
	}
	return fmt.Errorf("%s is of %s mode, and so is the key; the option mode says %s", e.ID, is, a.mode)
}

// events is the Fetch of the stream events. An event does not change, but for
// the number of webhooks that it waits for
// (https://docs.stripe.com/api/events/object#event_object-pending_webhooks).
// The filter is inclusive and exact to the second
// (https://docs.stripe.com/api/events/list#list_events-created).
func (a *api) events(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	var from place
	if err := unpack(req.Page, &from); err != nil {
		return syncd.Page{}, err
	}
	query := url.Values{}
	if req.Since > 0 {
		query.Set("created[gte]", strconv.FormatInt(req.Since.Time().Unix(), 10))
	}
	s, err := a.list(ctx, "/v1/events", query, from, element.event)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list events: %w", err)
	}
	page := syncd.Page{Records: s.records}
	if s.more {
		page.Next = pack(s.end)
	}
	return page, nil
}

// pack makes a page token.
func pack(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return string(b)
}

// unpack reads a page token; that of the first page, "", leaves v as it is.
func unpack(token string, v any) error {
	if token == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(token), v); err != nil {
		return fmt.Errorf("page token %q: %w", token, err)
	}
	return nil
}
