package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/syncdhq/syncd"
)

// An api is a workspace as a source reads it.
type api struct {
	client  *syncd.Client
	options Options
}

// ask calls a method and returns the answer's body and the cursor of the next
// page, "" at the end (https://docs.slack.dev/apis/web-api/pagination: "an
// empty, null, or non-existent next_cursor").
//
// Slack refuses with status 200: {"ok": false, "error": "..."}
// (https://docs.slack.dev/apis/web-api/#responses). Such an answer is an error
// that unwraps to an *syncd.HTTPError with the status that says the same.
func (a *api) ask(ctx context.Context, method string, query url.Values) (body []byte, next string, err error) {
	query.Set("limit", strconv.Itoa(a.options.PageSize))
	resp, err := a.client.Get(ctx, method, query)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", method, err)
	}
	var head struct {
		OK       *bool  `json:"ok"`
		Error    string `json:"error"`
		Needed   string `json:"needed"`
		HasMore  bool   `json:"has_more"`
		Metadata struct {
			Next string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return nil, "", fmt.Errorf("%s: %w", method, err)
	}
	switch {
	case head.OK == nil:
		return nil, "", fmt.Errorf("%s: the answer is not as expected: it has no field ok", method)
	case !*head.OK:
		return nil, "", refuse(resp, method, head.Error, head.Needed)
	case head.HasMore && head.Metadata.Next == "":
		return nil, "", fmt.Errorf("%s: the answer says that there is more, and gives no cursor", method)
	}
	return resp.Body, head.Metadata.Next, nil
}

// A refusal is an answer with "ok": false.
type refusal struct {
	method string
	code   string
	hint   string // what to do; "" if nothing comes to mind
	answer *syncd.HTTPError
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s: Slack refuses with %q", r.method, r.code)
	if r.hint != "" {
		text += " (" + r.hint + ")"
	}
	return text
}

func (r *refusal) Unwrap() error { return r.answer }

// refuse returns the error for a code. The codes are listed on each method's
// page, such as https://docs.slack.dev/reference/methods/conversations.history.
func refuse(resp *syncd.Response, method, code, needed string) error {
	status, hint := meaning(code, needed)
	bare := url.URL{Scheme: resp.URL.Scheme, Host: resp.URL.Host, Path: resp.URL.Path}
	return &refusal{method, code, hint, &syncd.HTTPError{
		Method: http.MethodGet, URL: bare.String(), Status: status, Header: resp.Header,
		Body: resp.Body[:min(len(resp.Body), 4<<10)],
	}}
}

// meaning returns the status that says the same as a code, and what to do. A
// code that is not known is about what was asked for and nothing else.
func meaning(code, needed string) (status int, hint string) {
	switch code {
	case "invalid_cursor":
		return 400, "" // the list is read again
	case "not_authed", "invalid_auth":
		return 401, "the token is not one of Slack's, or not whole: set the app's token, xoxb-... or xoxp-..., under credentials"
	case "token_expired":
		return 401, "the token has expired, as those of apps with token rotation do: set a new one, or turn rotation off for the app"
	case "token_revoked", "account_inactive":
		return 401, "the token was revoked, or its owner or workspace is no more: install the app again and set the new token"
	case "missing_scope":
		if needed == "" {
			needed = "that the method asks for"
		}
		return 403, "add the scope " + needed + " to the app under OAuth & Permissions and install it again, or leave out what needs it: streams, types"
	case "not_in_channel":
		return 403, "invite the app into the channel: /invite @NAME"
	case "channel_not_found":
		return 404, "the channel is gone, or it is a private one that the token's owner is not in"
	case "thread_not_found":
		return 404, ""
	case "team_access_not_granted", "missing_argument", "org_login_required":
		return 403, "the token of an organization needs the option team and access to that workspace"
	case "ratelimited", "rate_limited":
		return 429, ""
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		return 503, "this passes"
	}
	return 403, ""
}

// throttled recognizes a rate limit that is told with status 200. The usual one
// is a 429 with Retry-After (https://docs.slack.dev/apis/web-api/rate-limits).
func throttled(status int, _ http.Header, body []byte) bool {
	if status != http.StatusOK || len(body) > 4<<10 || !bytes.Contains(body, []byte("limited")) {
		return false // almost every answer: not worth decoding
	}
	var head struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	return json.Unmarshal(body, &head) == nil && head.OK != nil && !*head.OK &&
		(head.Error == "ratelimited" || head.Error == "rate_limited")
}
