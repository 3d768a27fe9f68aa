package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/syncdhq/syncd"
)

// A channel is what must be known of a conversation object. updated is in
// milliseconds, where all other times of Slack are in seconds
// (https://docs.slack.dev/reference/objects/conversation-object). What changes
// without it (members come and go) is told all the same: each walk lists all.
type channel struct {
	ID      syncd.ID `json:"id"`
	Updated int64    `json:"updated"`
}

func (c channel) record() syncd.Record {
	r := syncd.Record{ID: string(c.ID)}
	if c.Updated != 0 {
		r.Mark = syncd.UnixMillis(c.Updated)
	}
	return r
}

// channels is the Fetch of the stream channels.
// https://docs.slack.dev/reference/methods/conversations.list
func (a *api) channels(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	body, next, err := a.ask(ctx, "conversations.list", a.kinds(req.Page))
	if err != nil {
		return syncd.Page{}, err
	}
	return page("conversations.list", body, "channels", next, channel.record)
}

// A user is what must be known of a user object. deleted says that the account
// is deactivated; it can be activated again
// (https://docs.slack.dev/reference/objects/user-object).
type user struct {
	ID      syncd.ID `json:"id"`
	Updated int64    `json:"updated"` // in seconds
	Deleted bool     `json:"deleted"`
}

func (u user) record() syncd.Record {
	r := syncd.Record{ID: string(u.ID), Deleted: u.Deleted}
	if u.Updated != 0 {
		r.Mark = syncd.UnixSeconds(u.Updated)
	}
	return r
}

// users is the Fetch of the stream users.
// https://docs.slack.dev/reference/methods/users.list
func (a *api) users(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	body, next, err := a.ask(ctx, "users.list", a.workspace(req.Page))
	if err != nil {
		return syncd.Page{}, err
	}
	return page("users.list", body, "members", next, user.record)
}

// parts returns the ids of the channels whose messages are read: those chosen,
// else those that the token's owner is a member of. A bot may read no others.
// https://docs.slack.dev/reference/methods/users.conversations
func (a *api) parts(ctx context.Context) ([]string, error) {
	if len(a.options.Channels) > 0 {
		return a.options.Channels, nil
	}
	var parts []string
	asked := map[string]bool{}
	for cursor := ""; !asked[cursor]; {
		asked[cursor] = true
		body, next, err := a.ask(ctx, "users.conversations", a.kinds(cursor))
		if err != nil {
			return nil, err
		}
		var answer struct {
			Channels []struct {
				ID string `json:"id"`
			} `json:"channels"`
		}
		if err := syncd.DecodeBody(body, &answer); err != nil {
			return nil, fmt.Errorf("users.conversations: %w", err)
		}
		for _, c := range answer.Channels {
			if !channelID.MatchString(c.ID) {
				return nil, fmt.Errorf("users.conversations: %q is not the id of a channel", c.ID)
			}
			parts = append(parts, c.ID)
		}
		if cursor = next; cursor == "" {
			if len(parts) == 0 {
				return nil, errors.New("the token's owner is a member of no channel: invite the app into those to be read, with /invite @NAME")
			}
			return parts, nil
		}
	}
	return nil, errors.New("users.conversations: a cursor comes round again")
}

// kinds is the query for a list of conversations.
func (a *api) kinds(cursor string) url.Values {
	query := a.workspace(cursor)
	query.Set("types", strings.Join(a.options.Types, ","))
	if a.options.SkipArchived {
		query.Set("exclude_archived", "true")
	}
	return query
}

// workspace is the query for a list of the workspace.
func (a *api) workspace(cursor string) url.Values {
	query := url.Values{}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if a.options.Team != "" {
		query.Set("team_id", a.options.Team)
	}
	return query
}

// page makes a page of an answer's list.
func page[T any](method string, body []byte, path, next string, record func(T) syncd.Record) (syncd.Page, error) {
	records, err := syncd.Decode(body, path, record)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("%s: %w", method, err)
	}
	return syncd.Page{Records: records, Next: next}, nil
}
