// Package slack reads a Slack workspace: its channels, its users, and the
// messages of its channels with the replies in their threads.
//
// Slack tells refusals in answers with status 200 (see ask.go). What a history
// can and cannot show is written above the type messages.
package slack

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Limits are counted for each method, workspace and app
// (https://docs.slack.dev/apis/web-api/rate-limits): 50 a minute (tier 3) for
// conversations.history, conversations.replies and users.conversations, 20 a
// minute (tier 2) for conversations.list and users.list, of which few requests
// are made. An app that is distributed outside of Slack's Marketplace gets one
// request a minute and 15 messages on a page
// (https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps):
// its operator sets `user_rate:` and the option page_size. An answer over the
// limit is a 429 with Retry-After.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "slack",
		Summary: "channels, users and messages of a Slack workspace",
		BaseURL: "https://slack.com/api",
		Auth:    syncd.Auth{Scheme: syncd.Bearer},
		Rate: syncd.Rate{
			User:      syncd.Limit{Requests: 50, Per: time.Minute, Burst: 5},
			Throttled: throttled,
		},
		Options: func() syncd.Options {
			return &Options{Types: []string{"public_channel", "private_channel"}, Threads: true, Lookback: 7, PageSize: 200}
		},
	}
}

// Options choose the channels and the streams.
type Options struct {
	Channels     []string `yaml:"channels" doc:"the channels whose messages are read, by id (C0123ABCD); without it, all that the token's owner is a member of"`
	Types        []string `yaml:"types" doc:"the kinds of conversations, of public_channel, private_channel, mpim and im"`
	SkipArchived bool     `yaml:"skip_archived" doc:"leave archived channels out"`
	Threads      bool     `yaml:"threads" doc:"read the replies in threads, with a request or more for each thread that has new ones"`
	Lookback     int      `yaml:"lookback" settings:"-" doc:"how many days before the newest message are read again in each run, for edits and for replies in older threads"`
	PageSize     int      `yaml:"page_size" settings:"-" doc:"how many elements to ask for at once, 1 to 999; Slack recommends 200 at most"`
	Team         string   `yaml:"team" doc:"the workspace's id (T0123ABCD), for the token of an organization"`
	Only         []string `yaml:"streams" settings:"-" doc:"the streams to read, of channels, users and messages; without it, all"`
}

// overlap is how late a message may show up: Slack does not say that a history
// has all that was posted a moment ago.
const overlap = 5 * time.Minute

var (
	kinds     = []string{"public_channel", "private_channel", "mpim", "im"}
	channelID = regexp.MustCompile(`^[A-Z][A-Z0-9]{2,}$`)
)

// Streams implements syncd.Options.
//
// The lists of channels and users can be neither filtered nor sorted
// (https://docs.slack.dev/reference/methods/conversations.list,
// https://docs.slack.dev/reference/methods/users.list: "in no particular
// order"), so each walk reads all of them. The order of a history is not
// relied on: see messages.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	a := &api{client: c, options: *o}
	m := &messages{api: a, lookback: time.Duration(o.Lookback) * 24 * time.Hour}
	all := []syncd.Stream{
		{Name: "channels", Snapshot: true, Fetch: a.channels, Replay: syncd.Replay(channel.record)},
		{Name: "users", Snapshot: true, Fetch: a.users, Replay: syncd.Replay(user.record)},
		{
			Name: "messages", Overlap: overlap, Precision: time.Microsecond,
			Parts: a.parts, Fetch: m.fetch, Replay: syncd.Replay(message.record),
		},
	}
	return syncd.Choose(all, o.Only)
}

func (o *Options) check() error {
	for _, id := range o.Channels {
		if !channelID.MatchString(id) {
			return syncd.BadOption("channels", "%q is not the id of a channel, such as C0123ABCD: it stands at the end of the channel's details in Slack", id)
		}
	}
	if len(o.Types) == 0 {
		return syncd.BadOption("types", "give one or more of %s", strings.Join(kinds, ", "))
	}
	for _, kind := range o.Types {
		if !slices.Contains(kinds, kind) {
			return syncd.BadOption("types", "there is no %q, only %s", kind, strings.Join(kinds, ", "))
		}
	}
	const most = 36500
	if o.Lookback < 0 || o.Lookback > most {
		return syncd.BadOption("lookback", "%d is not a number of days from 0 to %d", o.Lookback, most)
	}
	if o.PageSize < 1 || o.PageSize > 999 {
		return syncd.BadOption("page_size", "%d is not from 1 to 999", o.PageSize)
	}
	return nil
}
