package googlecalendar

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/syncdhq/syncd"
)

// primary is the keyword for the calendar of the user's own
// (https://developers.google.com/workspace/calendar/api/v3/reference/calendars/get).
const primary = "primary"

// A list is the user's list of calendars.
type list struct {
	*api
	chosen []string // the calendars whose events are read; none means all
}

// An entry is a calendar in the list. It tells of no time
// (https://developers.google.com/workspace/calendar/api/v3/reference/calendarList).
type entry struct {
	ID      syncd.ID `json:"id"`
	Deleted bool     `json:"deleted"` // it was taken out of the list
}

func (e entry) record() syncd.Record {
	return syncd.Record{ID: string(e.ID), Deleted: e.Deleted}
}

// ask asks for a page of the list, with hidden calendars: that a calendar does
// not show in the user's window is no reason to lose it. Nor is it one to stop
// reading its events.
// https://developers.google.com/workspace/calendar/api/v3/reference/calendarList/list
func (l list) ask(ctx context.Context, page string) (answer, error) {
	query := url.Values{"maxResults": {"250"}, "showHidden": {"true"}, "showDeleted": {"true"}}
	if page != "" {
		query.Set("pageToken", page)
	}
	return l.page(ctx, "users/me/calendarList", "calendar#calendarList", query)
}

// fetch is the Fetch of the stream calendars.
func (l list) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	got, err := l.ask(ctx, req.Page)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("calendar list: %w", refused(req, err))
	}
	records, err := decode(got, entry.record)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("calendar list: %w", err)
	}
	return syncd.Page{Records: records, Next: got.next}, nil
}

// unreadable is the part that stands for the entries of the list that can't be
// read. It is no calendar's: in those a % is followed by two digits.
const unreadable = "%"

// parts returns the calendars whose events are read: those chosen, or all in
// the list. A chosen calendar need not be in the list.
//
// An entry that can't be read must neither keep the other calendars from being
// read nor go unseen: it becomes a part of its own, whose Fetch fails.
func (l list) parts(ctx context.Context) ([]string, error) {
	if len(l.chosen) > 0 {
		return l.named(ctx)
	}
	var parts []string
	asked := map[string]bool{}
	for page := ""; ; {
		if asked[page] {
			return nil, fmt.Errorf("calendar list: the page token %q comes round again", page)
		}
		asked[page] = true
		got, err := l.ask(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("calendar list: %w", explain(err))
		}
		records, err := decode(got, entry.record)
		if err != nil {
			return nil, fmt.Errorf("calendar list: %w", err)
		}
		for _, r := range records {
			switch {
			case r.Err != nil || r.ID == "":
				parts = append(parts, unreadable)
			case !r.Deleted:
				parts = append(parts, partOf(r.ID))
			}
		}
		if page = got.next; page == "" {
			break
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("calendar list: it is empty, as that of a service account is; name the calendars under the option calendars")
	}
	return parts, nil
}

// named returns the parts of the chosen calendars. The keyword primary is
// resolved, since a part is named by what the calendar is called everywhere.
func (l list) named(ctx context.Context) ([]string, error) {
	var parts []string
	for _, id := range l.chosen {
		if id == primary {
			var err error
			if id, err = l.own(ctx); err != nil {
				return nil, fmt.Errorf("calendar primary: %w", err)
			}
		}
		parts = append(parts, partOf(id))
	}
	return parts, nil
}

// own returns the id of the user's own calendar.
// https://developers.google.com/workspace/calendar/api/v3/reference/calendars/get
func (l list) own(ctx context.Context) (string, error) {
	resp, err := l.client.Get(ctx, "calendars/"+primary, nil)
	if err != nil {
		return "", explain(err)
	}
	var calendar entry
	if err := syncd.DecodeBody(resp.Body, &calendar); err != nil {
		return "", err
	}
	if calendar.ID == "" {
		return "", errors.New("the answer is not as expected: it has no id")
	}
	return string(calendar.ID), nil
}

// partOf returns the part of a calendar: its id, in which the one character
// that a part may not hold, and the one that tells so, are escaped.
func partOf(id string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00").Replace(id)
}

// idOf returns the id of the calendar whose part it is.
func idOf(part string) (string, error) {
	if part == unreadable {
		return "", errors.New("calendar list: entries of it can't be read, so the events of these calendars are not read (see: syncd rejects list)")
	}
	id, err := url.PathUnescape(part)
	if err != nil || id == "" {
		return "", fmt.Errorf("part %q is no calendar", part)
	}
	return id, nil
}
