package strava

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/syncdhq/syncd"
)

// activities reads the list of the athlete's activities
// (https://developers.strava.com/docs/reference/#api-Activities-getLoggedInAthleteActivities).
//
// The list knows when an activity started, and not when it was changed, by
// which its records could be marked: their start can be corrected to an earlier
// one, and the state with the later start would win for ever. So they have no
// marks, and what was listed last counts. A walk over everything ends with the
// newest start as the sync token; the next walk lists what started up to
// lookback before it: what is new, and what was changed or uploaded late. A
// full walk finds the rest, and what was deleted.
type activities struct {
	client   *syncd.Client
	lookback int64 // in seconds
}

const day = 24 * 60 * 60 // in seconds

// slack is how much of the list is listed again, at the least, when it is asked
// for from the last start on. The reference does not say whether after is
// inclusive, and whether it is held against the time in UTC or where the
// activity took place, which is up to 14 hours ahead of it and 12 behind.
const slack = day

// An activity is what must be known of a SummaryActivity.
type activity struct {
	ID    syncd.ID        `json:"id"`
	Start syncd.Timestamp `json:"start_date"`
}

func (a activity) record() syncd.Record { return syncd.Record{ID: string(a.ID)} }

// A place is where a walk stands: the page token. Times are Unix seconds.
type place struct {
	After  int64 `json:"after"`  // the list is of what started after it,
	Page   int   `json:"page"`   // and this is the number of its page
	Newest int64 `json:"newest"` // the newest start that was seen, never beyond Strava's clock
}

// begin returns the place that a request is for.
func (a activities) begin(req syncd.Request) (place, error) {
	// With after, even if it leaves nothing out, Strava lists the oldest first.
	at := place{After: 1, Page: 1}
	switch {
	case req.Page != "":
		if err := json.Unmarshal([]byte(req.Page), &at); err != nil {
			return at, fmt.Errorf("list activities: page token %q: %w", req.Page, err)
		}
	case req.Sync != "":
		newest, err := strconv.ParseInt(req.Sync, 10, 64)
		if err != nil {
			return at, fmt.Errorf("list activities: sync token %q: %w", req.Sync, syncd.ErrResync)
		}
		at.Newest, at.After = newest, max(at.After, newest-max(a.lookback, slack)-1)
	}
	return at, nil
}

// fetch is the Fetch of the stream. "In certain cases, the number of items
// returned in the response may be lower than the requested page size, even when
// that page is not the last": only an empty page is
// (https://developers.strava.com/docs/#Pagination).
func (a activities) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	at, err := a.begin(req)
	if err != nil {
		return syncd.Page{}, err
	}
	resp, err := a.client.Get(ctx, "/athlete/activities", url.Values{
		"after":    {strconv.FormatInt(at.After, 10)},
		"page":     {strconv.Itoa(at.Page)},
		"per_page": {"200"}, // the most that Strava gives
	})
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list activities: %w", explain(err))
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list activities: the answer does not say when it was given: its header Date is %q", resp.Header.Get("Date"))
	}
	var seen span
	records, err := syncd.Decode(resp.Body, "", func(a activity) syncd.Record {
		seen.see(a.Start.Mark())
		return a.record()
	})
	if err != nil {
		return syncd.Page{}, fmt.Errorf("list activities: %w", err)
	}
	if seen.latest > 0 && seen.earliest < at.After-slack {
		return syncd.Page{}, fmt.Errorf("list activities: asked for what started after %s, got one of %s",
			syncd.UnixSeconds(at.After).Format(false), syncd.UnixSeconds(seen.earliest).Format(false))
	}
	at.Newest = max(at.Newest, min(seen.latest, date.Unix()))
	if len(records) > 0 {
		next, err := json.Marshal(at.next(seen, date.Unix()))
		return syncd.Page{Records: records, Next: string(next)}, err
	}
	page := syncd.Page{}
	if at.Newest > 0 {
		page.Sync = strconv.FormatInt(at.Newest, 10)
	}
	return page, nil
}

// next returns the place of the page behind one on which seen was listed. Page
// numbers do not do while activities are deleted: each one that is gone moves
// all that follow it forward, some of them onto pages that were read. So the
// list is asked for again from the last start on, unless the page lies so close
// together that all of it might be listed once more. Strava has been seen to
// list the oldest first where after is given; the reference does not say so.
// Where that does not hold, it is page numbers after all.
//
// A time in the future is refused as after (400, "code": "future").
func (p place) next(seen span, now int64) place {
	bound := min(seen.latest, now) - slack
	if !seen.unsorted && bound > p.After && seen.earliest <= bound-slack {
		p.After, p.Page = bound, 1
	} else {
		p.Page++
	}
	return p
}

// A span is what the starts on a page come to, in Unix seconds.
type span struct {
	earliest, latest, last int64
	unsorted               bool // they are not oldest first
}

// see takes in the next start of the page; one that is not known does not count.
func (s *span) see(start syncd.Mark) {
	if start <= 0 {
		return
	}
	at := start.Time().Unix()
	if s.earliest == 0 || at < s.earliest {
		s.earliest = at
	}
	s.unsorted = s.unsorted || at < s.last
	s.latest, s.last = max(s.latest, at), at
}
