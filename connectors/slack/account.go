package slack

import (
	"context"
	"net/url"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the workspace and who the token is of in
// it. Another member sees other channels
// (https://docs.slack.dev/reference/methods/auth.test).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	a := &api{client: c, options: *o}
	body, _, err := a.ask(ctx, "auth.test", url.Values{})
	if err != nil {
		return "", err
	}
	team, err := syncd.IDIn(body, "team_id")
	if err != nil {
		return "", err
	}
	user, err := syncd.IDIn(body, "user_id")
	return team + "/" + user, err
}
