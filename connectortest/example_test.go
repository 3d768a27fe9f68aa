package connectortest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// Options are those of a connector of customers, listed oldest change first.
type Options struct{}

func (*Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	return []syncd.Stream{{
		Name: "customers", Order: syncd.Ascending, Precision: time.Second, Overlap: time.Minute,
		Fetch: func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			query := url.Values{"limit": {"100"}}
			if req.Since != 0 {
				query.Set("since", req.Since.Time().Format(time.RFC3339))
			}
			if req.Page != "" {
				query.Set("from", req.Page)
			}
			resp, err := c.Get(ctx, "/v1/customers", query)
			if err != nil {
				return syncd.Page{}, err
			}
			records, err := syncd.Decode(resp.Body, "customers", func(v struct {
				ID      syncd.ID        `json:"id"`
				Updated syncd.Timestamp `json:"updated_at"`
			}) syncd.Record {
				return syncd.Record{ID: string(v.ID), Mark: v.Updated.Mark()}
			})
			if err != nil {
				return syncd.Page{}, err
			}
			next, err := syncd.Token(resp.Body, "next")
			return syncd.Page{Records: records, Next: next}, err
		},
	}}, nil
}

// fake is GET /v1/customers?since=TIME&from=NUMBER&limit=NUMBER.
func fake(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/customers", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		items := connectortest.Oldest(connectortest.Since(w.Items("customers", ""), q.Get("since")))
		from, _ := strconv.Atoi(q.Get("from"))
		page, more := connectortest.Cut(items, from, w.Limit(q.Get("limit")))
		next := "null"
		if more > 0 {
			next = strconv.Itoa(more)
		}
		fmt.Fprintf(rw, `{"customers": %s, "next": %s}`, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %s, "visits": %d, "updated_at": %q}`, it.ID, it.Rev, it.Changed.Format(time.RFC3339))
		}), next)
	})
	return mux
}

func TestCustomers(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: syncd.Connector{Name: "shop", Options: func() syncd.Options { return &Options{} }},
		Fake:      fake,
	})
}

// The fake above is all that the suite needs to know of the provider.
func Example() {
	_ = TestCustomers
}
