package strava

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/syncdhq/syncd"
)

// owner reads the athlete that the token is of, with their bikes and shoes
// (https://developers.strava.com/docs/reference/#api-Athletes-getLoggedInAthlete).
type owner struct{ client *syncd.Client }

// An athlete is what must be known of a DetailedAthlete.
type athlete struct {
	ID      syncd.ID        `json:"id"`
	Updated syncd.Timestamp `json:"updated_at"`
}

func (a athlete) record() syncd.Record {
	return syncd.Record{ID: string(a.ID), Mark: a.Updated.Mark()}
}

// fetch is the Fetch of the stream: one answer, which is the one record.
func (o owner) fetch(ctx context.Context, _ syncd.Request) (syncd.Page, error) {
	resp, err := o.client.Get(ctx, "/athlete", nil)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("read the athlete: %w", explain(err))
	}
	var whole json.RawMessage
	if err := syncd.DecodeBody(resp.Body, &whole); err != nil {
		return syncd.Page{}, fmt.Errorf("read the athlete: %w", err)
	}
	var who struct {
		ID syncd.ID `json:"id"`
	}
	if err := json.Unmarshal(whole, &who); err != nil || who.ID == "" {
		return syncd.Page{}, errors.New("read the athlete: the answer is not as expected: it is no object with an id")
	}
	list := slices.Concat([]byte("["), whole, []byte("]"))
	records, err := syncd.Decode(list, "", athlete.record)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("read the athlete: %w", err)
	}
	return syncd.Page{Records: records}, nil
}

// explain says what to check where Strava refuses. It answers 401 also where
// the user has left out a scope
// (https://developers.strava.com/docs/authentication/#detailsaboutrequestingaccess:
// "a user can opt out of the scopes requested by the application").
func explain(err error) error {
	refused, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return err
	}
	switch {
	case refused.Status == http.StatusUnauthorized && bytes.Contains(refused.Body, []byte("_permission")):
		return fmt.Errorf("%w (the user has not allowed this: connect again, and leave the box for activities ticked)", err)
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w (the token has expired, or the user has revoked the access)", err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("%w (Strava refuses the application: see its status at https://www.strava.com/settings/api)", err)
	}
	return err
}
