// Package googlecalendar reads the calendars in a user's Google Calendar list,
// and their events.
//
// Events are read with Google's sync tokens
// (https://developers.google.com/workspace/calendar/api/guides/sync): the first
// walk over a calendar lists everything and ends with a token, and the next one
// asks with the token for what has changed. So times play no part in what is
// asked for.
package googlecalendar

import (
	"strings"
	"time"
	"unicode"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Limits: 10,000 requests a minute for each project in Google Cloud and 600 for
// each of its users, over a sliding window
// (https://developers.google.com/workspace/calendar/api/guides/quota).
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "google_calendar",
		Summary: "calendars and events of Google Calendar",
		BaseURL: "https://www.googleapis.com/calendar/v3",
		Auth:    syncd.Auth{Scheme: syncd.OAuth2, OAuth: consent()},
		Rate: syncd.Rate{
			App:       syncd.Limit{Requests: 10000, Per: time.Minute, Burst: 100},
			User:      syncd.Limit{Requests: 600, Per: time.Minute, Burst: 10},
			Throttled: throttled,
		},
		Options: func() syncd.Options { return &Options{} },
	}
}

// consent is where and how users connect, by
// https://developers.google.com/identity/protocols/oauth2/web-server: a refresh
// token comes with access_type=offline, and again only with prompt=consent.
func consent() *syncd.OAuth {
	return &syncd.OAuth{
		AuthURL:   "https://accounts.google.com/o/oauth2/v2/auth",
		TokenURL:  "https://oauth2.googleapis.com/token",
		RevokeURL: "https://oauth2.googleapis.com/revoke",
		Scopes:    []string{"https://www.googleapis.com/auth/calendar.readonly"},
		Params:    map[string]string{"access_type": "offline", "prompt": "consent"},
	}
}

// Options choose the calendars and the streams.
type Options struct {
	Calendars []string `yaml:"calendars" doc:"the calendars whose events are read, by id (alice@example.com), or primary; without it, all in the user's list, hidden ones too"`
	Single    bool     `yaml:"single_events" doc:"read each occurrence of a recurring event as an event, in place of the recurring event and its exceptions"`
	Only      []string `yaml:"streams" settings:"-" doc:"the streams to read, of calendars and events; without it, both"`
}

// Streams implements syncd.Options.
//
// The list of calendars has sync tokens, too, and they are of no use here: "If
// only read-only fields such as calendar properties or ACLs have changed, the
// entry won't be returned"
// (https://developers.google.com/workspace/calendar/api/v3/reference/calendarList/list#syncToken).
// A calendar that its owner renames, or opens to or closes from the user, would
// stay as it was. The whole list is one request for 250 calendars, just as many
// as asking with a token, so each walk reads all of it.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	for _, id := range o.Calendars {
		if !isCalendar(id) {
			return nil, syncd.BadOption("calendars", "%q is not the id of a calendar, such as alice@example.com or primary: it stands in Google Calendar under the calendar's settings, Integrate calendar", id)
		}
	}
	a := &api{client: c}
	l := list{a, o.Calendars}
	e := events{a, o.Single, len(o.Calendars) > 0}
	all := []syncd.Stream{
		{Name: "calendars", Snapshot: true, Fetch: l.fetch, Replay: syncd.Replay(entry.record)},
		{Name: "events", Parts: l.parts, Fetch: e.fetch, Replay: syncd.Replay(e.record)},
	}
	return syncd.Choose(all, o.Only)
}

// isCalendar reports whether a text can be a calendar's id, or is the keyword
// for the user's own calendar. All ids have the form of an e-mail address.
func isCalendar(id string) bool {
	const most = 200 // a part has 256 bytes at most, and grows where it is escaped
	if id == primary {
		return true
	}
	return strings.Contains(id, "@") && len(id) <= most && !strings.Contains(id, "://") &&
		!strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar })
}
