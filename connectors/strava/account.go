package strava

import (
	"context"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the athlete's id
// (https://developers.strava.com/docs/reference/#api-Athletes-getLoggedInAthlete).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	resp, err := c.Get(ctx, "/athlete", nil)
	if err != nil {
		return "", explain(err)
	}
	return syncd.IDIn(resp.Body, "id")
}
