package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/syncdhq/syncd"
)

// An api is what a key may read.
type api struct {
	client  *syncd.Client
	account string // the connected account; "" is the key's own
	mode    string // "live", "test", or "" for either
}

// get asks for a path. The account that a platform's key is to act on stands in
// a header (https://docs.stripe.com/connect/authentication#stripe-account-header).
func (a *api) get(ctx context.Context, path string, query url.Values) (*syncd.Response, error) {
	req, err := a.client.NewRequest(ctx, path, query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Stripe-Version", version)
	if a.account != "" {
		req.Header.Set("Stripe-Account", a.account)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	return resp, nil
}

// A refusal is what Stripe says in the body of one
// (https://docs.stripe.com/api/errors).
type refusal struct {
	Error struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Param   string `json:"param"`
		Message string `json:"message"`
	} `json:"error"`
}

// readRefusal returns the status and the body of a refusal; 0 if err is none.
// A body that is not Stripe's, such as a proxy's page, says nothing.
func readRefusal(err error) (int, refusal) {
	answer, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return 0, refusal{}
	}
	var r refusal
	if json.Unmarshal(answer.Body, &r) != nil {
		r = refusal{}
	}
	return answer.Status, r
}

// lostPlace reports whether a list refuses to go on from an element, since it
// does not have it (https://docs.stripe.com/error-codes#resource-missing).
func lostPlace(err error) bool {
	status, r := readRefusal(err)
	return status == http.StatusBadRequest && r.Error.Code == "resource_missing" && r.Error.Param == "starting_after"
}

// isGone reports whether there is no object with the id that was asked for. The
// parameter that such an answer names differs by kind.
func isGone(err error) bool {
	status, r := readRefusal(err)
	return status == http.StatusNotFound && r.Error.Code == "resource_missing"
}

// keys are what Stripe's messages have of the key that was used: it is cut, and
// its end is readable.
var keys = regexp.MustCompile(`\b[sr]k_(?:(?:live|test|org)_)*[A-Za-z0-9*]+`)

// explain adds to a refusal what Stripe says of it, and what to do.
func explain(err error) error {
	status, r := readRefusal(err)
	if status == 0 {
		return err
	}
	if r.Error.Message != "" && status != http.StatusUnauthorized {
		err = fmt.Errorf("%w: %s", err, keys.ReplaceAllString(r.Error.Message, "[key]"))
	}
	switch status {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w (the key was revoked, has expired, or is not one of Stripe's: set a restricted or secret key, rk_... or sk_..., under credentials)", err)
	case http.StatusForbidden:
		return fmt.Errorf("%w (the key may not read this: give it read access to the streams' objects and to events, and, if account is set, to connected accounts)", err)
	}
	return err
}
