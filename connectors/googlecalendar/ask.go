package googlecalendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
)

// An api is what a token may read.
type api struct{ client *syncd.Client }

// An answer is one page of a list.
type answer struct {
	body  []byte // with the list under "items", unless empty
	empty bool   // there is no field items
	next  string // the token of the next page; "" on the last
	sync  string // on the last page: the token for what changes from now on
	role  string // of the user in the calendar; only beside events
}

// page asks for one page of a list whose answers are of the given kind.
//
// nextPageToken is "omitted if no further results are available, in which case
// nextSyncToken is provided", and the other way round
// (https://developers.google.com/workspace/calendar/api/v3/reference/events/list#response).
// So an answer that has neither is not whole, and what is beside a page token is
// not the end. A page may have no elements though others follow it
// (https://developers.google.com/workspace/calendar/api/v3/reference/events/list#maxResults).
//
// Google's rules for JSON let a service leave out a field that is empty
// (https://google.github.io/styleguide/jsoncstyleguide.xml#Empty/Null_Property_Values):
// the kind and a token prove that a page without items is one.
func (a *api) page(ctx context.Context, ref, kind string, query url.Values) (answer, error) {
	resp, err := a.client.Get(ctx, ref, query)
	if err != nil {
		return answer{}, err
	}
	var head struct {
		Kind  string          `json:"kind"`
		Items json.RawMessage `json:"items"`
		Next  string          `json:"nextPageToken"`
		Sync  string          `json:"nextSyncToken"`
		Role  string          `json:"accessRole"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return answer{}, err
	}
	got := answer{body: resp.Body, empty: head.Items == nil, next: head.Next, role: head.Role}
	switch {
	case head.Kind != kind:
		return answer{}, fmt.Errorf("the answer is not as expected: its kind is %q, not %q", head.Kind, kind)
	case head.Next == "" && head.Sync == "":
		return answer{}, errors.New("the answer is not as expected: it has neither nextPageToken nor nextSyncToken")
	case head.Next == "":
		got.sync = head.Sync
	}
	return got, nil
}

// decode returns the records of a page.
func decode[T any](got answer, record func(T) syncd.Record) ([]syncd.Record, error) {
	if got.empty {
		return nil, nil
	}
	return syncd.Decode(got.body, "items", record)
}

// A told is what Google says in the body of a refusal
// (https://developers.google.com/workspace/calendar/api/guides/errors).
type told struct {
	Error struct {
		Message string `json:"message"`
		Errors  []struct {
			Reason   string `json:"reason"`
			Location string `json:"location"`
		} `json:"errors"`
	} `json:"error"`
}

// readTold reads the body of a refusal. What is no JSON, a proxy's page, says nothing.
func readTold(body []byte) told {
	var t told
	if json.Unmarshal(body, &t) != nil {
		return told{}
	}
	return t
}

// has reports whether one of the reasons is given.
func (t told) has(reasons ...string) bool {
	for _, e := range t.Error.Errors {
		if slices.Contains(reasons, e.Reason) {
			return true
		}
	}
	return false
}

// isOfSyncToken reports whether the refusal is of the sync token.
func (t told) isOfSyncToken() bool {
	for _, e := range t.Error.Errors {
		if e.Location == "syncToken" {
			return true
		}
	}
	return strings.Contains(strings.ToLower(t.Error.Message), "sync token")
}

// throttled recognizes the limits that are told with 403. Both 403 and 429 are
// to be answered by waiting
// (https://developers.google.com/workspace/calendar/api/guides/errors#403_rate_limit_exceeded).
func throttled(status int, _ http.Header, body []byte) bool {
	return status == http.StatusForbidden && readTold(body).has("rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded")
}

// refused turns a refusal of a page of a list into what the engine understands.
//
// 410 says that a token died: "this should trigger a full wipe of the client's
// store and a new full sync"
// (https://developers.google.com/workspace/calendar/api/guides/sync#full_sync_required_by_server).
// In the middle of a walk it means the same. What the pages before have brought
// stays right, but neither what follows nor what was deleted is told any more,
// so the whole list is read once more. A page token without a sync token
// belongs to a walk over everything, which starts over too. Where no token was
// sent there is nothing to start over: what is gone is the calendar.
//
// A text that is no sync token at all is refused with 400, "Invalid sync token
// value." (https://github.com/kewisch/gdata-provider treats it as a 410, too).
// It would be refused for ever. Other 400s, such as those for a page token that
// has expired, are left to the engine, which drops the page token.
func refused(req syncd.Request, err error) error {
	answer, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return err
	}
	sent := req.Sync != "" || req.Page != ""
	switch {
	case answer.Status == http.StatusGone && sent,
		answer.Status == http.StatusBadRequest && req.Sync != "" && readTold(answer.Body).isOfSyncToken():
		return fmt.Errorf("%w: %w", syncd.ErrResync, explain(err))
	}
	return explain(err)
}

// explain adds to a refusal what Google says of it, and what to do.
func explain(err error) error {
	answer, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return err
	}
	t := readTold(answer.Body)
	if t.Error.Message != "" {
		err = fmt.Errorf("%w: %s", err, t.Error.Message)
	}
	hint := ""
	switch {
	case answer.Status == 401:
		hint = "the access token has expired, as Google's do after an hour, or was revoked: connect again, or set a new one where it stands under credentials"
	case answer.Status == 403 && t.has("accessNotConfigured"):
		hint = "turn the Google Calendar API on in the project that the token was made for"
	case answer.Status == 403:
		hint = "the token needs the scope https://www.googleapis.com/auth/calendar.readonly"
	case answer.Status == 404, answer.Status == 410 && t.has("deleted"):
		hint = "the calendar is gone, or it is not shared with the user"
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}
