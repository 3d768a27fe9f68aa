package stripe

import (
	"context"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the account that is read, which is the
// key's own or the connected one (https://docs.stripe.com/api/accounts/retrieve:
// without an id, the account of the request).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	a := &api{client: c, account: o.Account, mode: o.Mode}
	resp, err := a.get(ctx, "/v1/account", nil)
	if err != nil {
		return "", err
	}
	return syncd.IDIn(resp.Body, "id")
}
