package stripe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/syncdhq/syncd"
)

// kept is for how long the events are there: Stripe lists them "going back up
// to 30 days" (https://docs.stripe.com/api/events/list). A day is left for the
// walk itself.
const kept = 29 * 24 * time.Hour

// fetchChanges reads a page of events, newest first, and the objects that they
// are about.
func (s source) fetchChanges(ctx context.Context, req syncd.Request, t token) (syncd.Page, error) {
	before, err := strconv.ParseInt(req.Sync, 10, 64)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("sync token %q: %w", req.Sync, syncd.ErrResync)
	}
	since := before - int64(overlap/time.Second)
	got, told, err := s.listChanges(ctx, since, t.place)
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
	changed, oldest, err := s.objects(ctx, told, since)
	if err != nil {
		return syncd.Page{}, err
	}
	if oldest > 0 && (t.New == 0 || oldest < t.New) {
		t.New = oldest
	}
	page := syncd.Page{Records: append(got.records, changed...)}
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

// listChanges reads a page of the events since a moment: what they tell, and as
// records those that cannot be read.
func (s source) listChanges(ctx context.Context, since int64, from place) (sheet, []change, error) {
	query := url.Values{"types[]": s.types, "created[gte]": {strconv.FormatInt(since, 10)}}
	var told []change
	got, err := s.list(ctx, "/v1/events", query, from, func(e element) syncd.Record {
		c, err := s.change(e)
		if err != nil {
			return syncd.Record{Err: err, Place: "event " + string(e.ID)}
		}
		told = append(told, c)
		return syncd.Record{Err: errTold}
	})
	got.records = slices.DeleteFunc(got.records, func(r syncd.Record) bool { return r.Err == errTold })
	return got, told, err
}

// objects asks for the objects that have changed, each once. Those that were
// created since the walk's bound are left for the end of the walk, when they
// are listed, a hundred a request; oldest is when the first of them was created.
// One of each page is read all the same: the engine ends a walk of very many
// pages without a record.
func (s source) objects(ctx context.Context, told []change, since int64) (records []syncd.Record, oldest int64, err error) {
	read := map[string]bool{}
	for _, c := range told {
		switch {
		case c.id == "" || read[c.id]:
			continue
		case c.created >= since && !c.deleted && len(read) > 0:
			if oldest == 0 || c.created < oldest {
				oldest = c.created
			}
			continue
		}
		read[c.id] = true
		r, err := s.retrieve(ctx, c)
		if err != nil {
			return nil, 0, err
		}
		records = append(records, r)
	}
	return records, oldest, nil
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
// a dispute is about a charge, about the one that this names. A schedule that was
// released names its subscription as the one that it has released
// (https://docs.stripe.com/api/subscription_schedules/release).
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
		c.id = cmp.Or(text(data.Object[s.object]), text(data.Object["released_"+s.object]))
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
		ID syncd.ID `json:"id"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return syncd.Record{}, fmt.Errorf("retrieve %s: %w", c.id, err)
	}
	if string(head.ID) != c.id {
		return syncd.Record{}, fmt.Errorf("retrieve %s: the answer is not as expected: it is of %q", c.id, head.ID)
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
