package notion

import (
	"context"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the bot that the token is of, which is
// one for each workspace and integration
// (https://developers.notion.com/reference/get-self).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	resp, err := (&api{client: c}).send(ctx, "users/me", nil, nil)
	if err != nil {
		return "", err
	}
	return syncd.IDIn(resp.Body, "id")
}
