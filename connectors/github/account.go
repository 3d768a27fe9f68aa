package github

import (
	"context"
	"errors"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the id of the user whose token it is
// (https://docs.github.com/en/rest/users/users#get-the-authenticated-user).
// Tokens of app installations are of no user, and GitHub refuses them there
// with 403.
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	resp, err := (&repositories{client: c}).get(ctx, "/user", nil)
	if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status == 403 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return syncd.IDIn(resp.Body, "id")
}
