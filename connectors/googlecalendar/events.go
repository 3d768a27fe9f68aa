package googlecalendar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/syncdhq/syncd"
)

// events are those of a calendar.
type events struct {
	*api
	single bool // recurring events are listed as their occurrences
	named  bool // the calendars were chosen by the operator
}

// An event is what must be known of one
// (https://developers.google.com/workspace/calendar/api/v3/reference/events).
type event struct {
	ID     syncd.ID `json:"id"`
	Status string   `json:"status"`
	// Updated is when "the main event data" last changed: what changes beside
	// it, such as reminders, comes with a sync token and leaves it as it was.
	// Of a cancelled event no more than the id need be there.
	Updated   syncd.Timestamp `json:"updated"`
	Recurring string          `json:"recurringEventId"` // the recurring event that it is an occurrence of
}

// record makes a record of an event.
//
// A cancelled event stands for two things
// (https://developers.google.com/workspace/calendar/api/v3/reference/events#status):
//
//   - "Cancelled exceptions of an uncancelled recurring event indicate that
//     this instance should no longer be presented to the user. Clients should
//     store these events for the lifetime of the parent recurring event."
//     Without them the recurring event would seem to take place on a day on
//     which it does not. They stay records, with `status: cancelled`.
//   - "All other cancelled events represent deleted events." These are deleted.
//
// Whether the parent is cancelled as well, an exception does not say, and the
// parent may be on another page or have been told long ago. So every cancelled
// exception stays a record, and one whose parent is deleted means nothing.
//
// Where recurring events are listed as their occurrences there is no parent to
// be read against: a cancelled occurrence is one that is gone.
func (e events) record(v event) syncd.Record {
	exception := v.Recurring != "" && !e.single
	return syncd.Record{
		ID: string(v.ID), Mark: v.Updated.Mark(),
		Deleted: v.Status == "cancelled" && !exception,
	}
}

// fetch is the Fetch of the stream events.
//
// A request with a sync token may not have timeMin, timeMax, updatedMin,
// orderBy, q, iCalUID and others beside it, "all other query parameters should
// be the same as for the initial synchronization to avoid undefined behavior",
// and it is "not allowed to set showDeleted to False"
// (https://developers.google.com/workspace/calendar/api/v3/reference/events/list#syncToken).
// So all requests have the same parameters, but for the tokens. Further pages
// are asked for with "the exact same syncToken" and the page token
// (https://developers.google.com/workspace/calendar/api/guides/sync#incremental_sync).
// req.Since plays no part.
func (e events) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	id, err := idOf(req.Part)
	if err != nil {
		return syncd.Page{}, err
	}
	query := url.Values{
		"maxResults":   {"2500"},
		"showDeleted":  {"true"},
		"singleEvents": {strconv.FormatBool(e.single)},
	}
	if req.Sync != "" {
		query.Set("syncToken", req.Sync)
	}
	if req.Page != "" {
		query.Set("pageToken", req.Page)
	}
	got, err := e.page(ctx, "calendars/"+url.PathEscape(id)+"/events", "calendar#events", query)
	if err != nil {
		return syncd.Page{}, e.refused(id, req, err)
	}
	records, err := decode(got, e.record)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("calendar %s: %w", id, err)
	}
	page := syncd.Page{Records: records, Next: got.next, Sync: got.sync}
	if got.role == "freeBusyReader" && req.Sync == "" && req.Page == "" {
		page.Notes = []string{fmt.Sprintf("calendar %s: the user may see when it is busy and no more: its events come without details", id)}
	}
	return page, nil
}

// refused names the calendar in an error. One that nobody chose, and that is in
// the list while its events are not to be had, is no reason to fail: its cursor
// stays where it is.
func (e events) refused(id string, req syncd.Request, err error) error {
	answer, ok := errors.AsType[*syncd.HTTPError](err)
	if ok && answer.Status == http.StatusNotFound && !e.named && req.Page == "" {
		return syncd.ErrNotModified
	}
	return fmt.Errorf("calendar %s: %w", id, refused(req, err))
}
