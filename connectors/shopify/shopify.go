// Package shopify reads a shop's orders, customers and products.
//
// It uses the REST Admin API (https://shopify.dev/docs/api/admin-rest), whose
// lists can be asked for what changed since a time and are paged by cursors.
package shopify

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Requests are signed by the header X-Shopify-Access-Token
// (https://shopify.dev/docs/api/admin-rest#authentication). A bucket of 40
// requests leaks two a second, for each app and shop
// (https://shopify.dev/docs/api/usage/limits#rest-admin-api-rate-limits).
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "shopify",
		Summary: "orders, customers and products of a Shopify shop",
		Auth:    syncd.Auth{Scheme: syncd.HeaderKey, Name: "X-Shopify-Access-Token"},
		Rate:    syncd.Rate{User: syncd.Limit{Requests: 40, Per: 20 * time.Second, Burst: 20}, Quota: bucket},
		Options: func() syncd.Options { return &Options{Version: "2026-07"} },
	}
}

// Options name the shop and choose the streams.
type Options struct {
	Shop    string   `yaml:"shop" doc:"the shop, as NAME or NAME.myshopify.com; not needed where base_url names it"`
	Version string   `yaml:"version" doc:"the version of the API: a quarter, such as 2026-07"`
	Only    []string `yaml:"streams" settings:"-" doc:"the streams to read, of orders, customers and products; without it, all"`
}

// A list is one of the shop's lists.
type list struct {
	name   string
	query  map[string]string // beside the page's size and the bound
	partly bool              // what it does not list may be there all the same
}

// lists are all that there are. Without status=any only open orders are listed.
// "Only the last 60 days' worth of orders from a store are accessible from the
// Order resource by default", without the scope read_all_orders: an order that
// is no longer listed has mostly grown old
// (https://shopify.dev/docs/api/admin-rest/latest/resources/order).
var lists = []list{
	{name: "orders", query: map[string]string{"status": "any"}, partly: true},
	{name: "customers"},
	{name: "products"},
}

// overlap is how late a change may show up in a list. Shopify does not say; the
// lists trail single reads by seconds.
const overlap = 2 * time.Minute

var (
	shopName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	quarter  = regexp.MustCompile(`^20[0-9][0-9]-(01|04|07|10)$`)
)

// Streams implements syncd.Options.
//
// The lists are in an order that is documented for none of them, so none is
// promised: a walk reads all that changed since the watermark. updated_at_min
// is inclusive ("at or after") and exact to the second.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	c, err := o.shop(c)
	if err != nil {
		return nil, err
	}
	if !quarter.MatchString(o.Version) {
		return nil, syncd.BadOption("version", "%q is not a version of the API: they are named by quarters, such as 2026-07", o.Version)
	}
	var all []syncd.Stream
	for _, l := range lists {
		all = append(all, syncd.Stream{
			Name: l.name, Overlap: overlap, Precision: time.Second, Increments: l.partly,
			Fetch: l.fetch(c, "/admin/api/"+o.Version+"/"+l.name+".json"), Replay: syncd.Replay(item.record),
		})
	}
	return syncd.Choose(all, o.Only)
}

// shop returns a client of the shop that is read.
func (o *Options) shop(c *syncd.Client) (*syncd.Client, error) {
	if o.Shop == "" {
		if !c.HasBase() {
			return nil, syncd.BadOption("shop", "it is not set: write it as acme or acme.myshopify.com")
		}
		return c, nil
	}
	name := strings.TrimSuffix(o.Shop, ".myshopify.com")
	if !shopName.MatchString(name) {
		return nil, syncd.BadOption("shop", "%q is not the name of a shop: write it as acme or acme.myshopify.com", o.Shop)
	}
	return c.At("https://" + name + ".myshopify.com")
}

// bucket reads X-Shopify-Shop-Api-Call-Limit: 39/40, the requests in the bucket
// and its size. A full one has room again when one request has leaked.
func bucket(h http.Header, now time.Time) syncd.Quota {
	used, size, ok := strings.Cut(h.Get("X-Shopify-Shop-Api-Call-Limit"), "/")
	n, err1 := strconv.ParseInt(used, 10, 64)
	of, err2 := strconv.ParseInt(size, 10, 64)
	if !ok || err1 != nil || err2 != nil || of <= 0 {
		return syncd.Quota{}
	}
	q := syncd.Quota{Known: true, Left: max(of-n, 0)}
	if q.Left == 0 {
		q.Reset = now.Add(500 * time.Millisecond)
	}
	return q
}

// explain says what to check where Shopify refuses a list.
func explain(err error) error {
	refused, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return err
	}
	switch refused.Status {
	case 401:
		return fmt.Errorf("%w (the token is of another shop, or the app was uninstalled)", err)
	case 402, 423:
		return fmt.Errorf("%w (the shop is frozen or locked)", err)
	case 403:
		return fmt.Errorf("%w (the app lacks the scope of this list: read_orders, read_customers or read_products)", err)
	case 404:
		return fmt.Errorf("%w (is it the shop's myshopify.com name, and a version that is still supported?)", err)
	}
	return err
}
