package googlecalendar

import (
	"context"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the id of the user's primary calendar. It
// is the account's address, which is all that this API tells of an account with
// the scope that is asked for
// (https://developers.google.com/workspace/calendar/api/v3/reference/calendars/get).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	resp, err := c.Get(ctx, "calendars/primary", nil)
	if err != nil {
		return "", explain(err)
	}
	return syncd.IDIn(resp.Body, "id")
}
