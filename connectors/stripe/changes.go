package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/syncdhq/syncd"
)

// A source reads the objects of one kind.
//
// The first walk, and each one over everything, lists them. It ends with a sync
// token: a moment (see head) since which the next walk reads the events. An
// event tells that an object has changed, and no more is taken from it; the
// object itself is asked for. What an event holds is not fit to be kept:
//
//   - It is "rendered according to Stripe API version at its creation time", and
//     not to that of the request (https://docs.stripe.com/api/events/list): the
//     same object would have one shape from the list and another from an event.
//   - It is the state at that time, in whole seconds, and Stripe promises no
//     order of events (https://docs.stripe.com/webhooks#event-ordering). One
//     payment makes several events of an invoice in one second: which of their
//     states is the last cannot be told.
//
// An object as it is answered now is newer than any that was answered before:
// records without marks, the last answer wins. Objects that were created since
// are not asked for one by one, but listed: see fetchChanges.
type source struct {
	*api
	kind
}

// overlap is how late an event may show up: Stripe does not say that a list has
// all that happened a moment ago.
const overlap = 5 * time.Minute

// kept is for how long the events are there: Stripe lists them "going back up
// to 30 days" (https://docs.stripe.com/api/events/list). A day is left for the
// walk itself.
const kept = 29 * 24 * time.Hour

// A token is where a walk has come to.
type token struct {
	Events bool  `json:"events,omitempty"` // in the list of events; else in the list of objects
	Head   int64 `json:"head"`             // since when the next walk reads events
	New    int64 `json:"new,omitempty"`    // objects that were created since then are listed; 0 is none of them or, in the list, all
	place
}

// fetch is the Fetch of the stream.
func (s source) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	var t token
	if err := unpack(req.Page, &t); err != nil {
		return syncd.Page{}, err
	}
	if req.Page == "" && req.Sync == "" {
		var err error
		if t.Head, err = s.begin(ctx); err != nil {
			return syncd.Page{}, err
		}
	}
	if t.Events || req.Page == "" && req.Sync != "" {
		return s.fetchChanges(ctx, req, t)
	}
	return s.fetchList(ctx, t)
}

// begin returns the head of a walk over everything.
func (s source) begin(ctx context.Context) (int64, error) {
	var newest int64
	got, err := s.list(ctx, "/v1/events", url.Values{"types[]": s.types}, place{}, func(e element) syncd.Record {
		at, _ := seconds(e.Created)
		newest = max(newest, at)
		return e.event()
	})
	if err != nil {
		return 0, fmt.Errorf("list the events of %s: %w", s.name, err)
	}
	return head(0, newest, got.date), nil
}

// head is the moment since which the next walk reads events: that of the newest
// event when this walk began, so that the same answers give the same head. Where
// nothing has happened for long, the moment would grow as old as the events that
// Stripe has forgotten: it is never before the day on which the walk began.
// It does not go back, and not beyond Stripe's clock.
func head(before, newest int64, now time.Time) int64 {
	today := now.Truncate(24 * time.Hour).Unix()
	return max(before, min(max(newest, today), now.Unix()))
}

// fetchList reads a page of the list of objects.
// https://docs.stripe.com/api/charges/list, https://docs.stripe.com/api/customers/list,
// https://docs.stripe.com/api/invoices/list, https://docs.stripe.com/api/subscriptions/list
func (s source) fetchList(ctx context.Context, t token) (syncd.Page, error) {
	query := url.Values{}
	maps.Copy(query, s.query)
	if t.New > 0 {
		query.Set("created[gte]", strconv.FormatInt(t.New, 10))
	}
	got, err := s.list(ctx, "/v1/"+s.name, query, t.place, element.object)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list %s: %w", s.name, err)
	}
	page := syncd.Page{Records: got.records}
	if got.more {
		t.place = got.end
		page.Next = pack(t)
	} else {
		page.Sync = strconv.FormatInt(t.Head, 10)
	}
	return page, nil
}

// fetchChanges reads a page of events, newest first, and the objects that they
// are about. Objects that were created since the walk's bound are left for the
// end of the walk, when they are listed, a hundred a request. The first of each
// page is read all the same: the engine ends a walk of very many pages without
// a record.
func (s source) fetchChanges(ctx context.Context, req syncd.Request, t token) (syncd.Page, error) {
	before, err := strconv.ParseInt(req.Sync, 10, 64)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("sync token %q: %w", req.Sync, syncd.ErrResync)
	}
	since := before - int64(overlap/time.Second)
	var told []change
	got, err := s.list(ctx, "/v1/events", url.Values{"types[]": s.types, "created[gte]": {strconv.FormatInt(since, 10)}}, t.place, func(e element) syncd.Record {
		c, err := s.change(e)
		if err != nil {
			return syncd.Record{Err: err, Place: "event " + string(e.ID)}
		}
		told = append(told, c)
		return syncd.Record{Err: errTold}
	})
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list the events of %s: %w", s.name, err)
	}
	if got.date.Unix()-since > int64(kept/time.Second) {
		return syncd.Page{}, fmt.Errorf("%s were read up to %s, and Stripe keeps events for 30 days: %w",
			s.name, time.Unix(before, 0).UTC().Format(time.RFC3339), syncd.ErrResync)
	}
	if req.Page == "" {
		var newest int64
		for _, c := range told {
			newest = max(newest, c.at)
		}
		t.Head = head(before, newest, got.date)
	}
	var page syncd.Page
	for _, r := range got.records {
		if r.Err != errTold {
			page.Records = append(page.Records, r)
		}
	}
	read := map[string]bool{}
	for _, c := range told {
		switch {
		case c.id == "" || read[c.id]:
			continue
		case c.created >= since && !c.deleted && len(read) > 0:
			if t.New == 0 || c.created < t.New {
				t.New = c.created
			}
			continue
		}
		read[c.id] = true
		r, err := s.retrieve(ctx, c)
		if err != nil {
			return syncd.Page{}, err
		}
		page.Records = append(page.Records, r)
	}
	switch {
	case got.more:
		t.Events, t.place = true, got.end
		page.Next = pack(t)
	case t.New > 0:
		t.Events, t.place = false, place{}
		page.Next = pack(t)
	default:
		page.Sync = strconv.FormatInt(t.Head, 10)
	}
	return page, nil
}

// errTold marks an event, which is no record.
var errTold = errors.New("an event")

// A change is what an event tells.
type change struct {
	event   string // its id
	at      int64  // when the event was created
	id      string // of the object; "" if the event is about none
	created int64  // when the object was created; 0 if the event does not say
	deleted bool   // the event says that the object was deleted
}

// change reads an event. It is about the object that it holds or, as an event of
// a dispute is about a charge, about the one that this names.
//
// An event of a connected account names it
// (https://docs.stripe.com/api/events/object#event_object-account): such an
// object is not to be found in another account.
func (s source) change(e element) (change, error) {
	c := change{event: string(e.ID)}
	c.at, _ = seconds(e.Created)
	if account := text(e.Account); account != "" && account != s.account {
		return c, nil
	}
	var data struct {
		Object map[string]json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || data.Object == nil {
		return c, syncd.Reject("unexpected_type", "the event holds no object")
	}
	if text(data.Object["object"]) != s.object {
		c.id = text(data.Object[s.object])
		return c, nil
	}
	c.id = text(data.Object["id"])
	c.created, _ = seconds(data.Object["created"])
	c.deleted = text(e.Type) == s.object+".deleted"
	return c, nil
}

// text returns a JSON text, and "" for what is none.
func text(raw json.RawMessage) string {
	var t string
	if json.Unmarshal(raw, &t) != nil {
		return ""
	}
	return t
}

// retrieve asks for an object that an event is about. One that is not there any
// more, as a draft of an invoice is after it was deleted
// (https://docs.stripe.com/api/invoices/delete), is a record that is deleted.
//
// https://docs.stripe.com/api/charges/retrieve, https://docs.stripe.com/api/customers/retrieve,
// https://docs.stripe.com/api/invoices/retrieve, https://docs.stripe.com/api/subscriptions/retrieve
func (s source) retrieve(ctx context.Context, c change) (syncd.Record, error) {
	where := "event " + c.event // and so two pages about one object are not alike
	resp, err := s.get(ctx, "/v1/"+s.name+"/"+url.PathEscape(c.id), nil)
	if isGone(err) {
		return syncd.Record{ID: c.id, Deleted: true, Place: where}, nil
	}
	if err != nil {
		return syncd.Record{}, fmt.Errorf("retrieve %s: %w", c.id, err)
	}
	var head struct {
		ID   syncd.ID        `json:"id"`
		Live json.RawMessage `json:"livemode"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return syncd.Record{}, fmt.Errorf("retrieve %s: %w", c.id, err)
	}
	if string(head.ID) != c.id {
		return syncd.Record{}, fmt.Errorf("retrieve %s: the answer is not as expected: it is of %q", c.id, head.ID)
	}
	if err := s.check(element{ID: head.ID, Live: head.Live}); err != nil {
		return syncd.Record{}, err
	}
	r, err := syncd.Replay(element.object)(ctx, bytes.TrimSpace(resp.Body))
	r.Place = where
	return r, err
}

// replay makes a record of what was set aside: an object, or an event whose
// object is asked for.
func (s source) replay(ctx context.Context, raw []byte) (syncd.Record, error) {
	var head struct {
		Object string `json:"object"`
	}
	if json.Unmarshal(raw, &head) != nil || head.Object != "event" {
		return syncd.Replay(element.object)(ctx, raw)
	}
	var c change
	r, err := syncd.Replay(func(e element) syncd.Record {
		var err error
		c, err = s.change(e)
		return syncd.Record{ID: c.id, Err: err}
	})(ctx, raw)
	if err != nil || r.Err != nil || r.ID == "" {
		return r, err
	}
	return s.retrieve(ctx, c)
}
