package stripe

import (
	"context"
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
// are not asked for one by one, but listed: see objects.
type source struct {
	*api
	kind
}

// overlap is how late an event may show up: Stripe does not say that a list has
// all that happened a moment ago.
const overlap = 5 * time.Minute

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
