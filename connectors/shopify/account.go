package shopify

import (
	"context"

	"github.com/syncdhq/syncd"
)

// Identify implements syncd.Identifier: the shop's id, which outlives its name
// (https://shopify.dev/docs/api/admin-rest/latest/resources/shop).
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	c, err := o.shop(c)
	if err != nil {
		return "", err
	}
	resp, err := c.Get(ctx, "/admin/api/"+o.Version+"/shop.json", nil)
	if err != nil {
		return "", explain(err)
	}
	return syncd.IDIn(resp.Body, "shop.id")
}
