package shopify

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/casebook"
)

func TestSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{Connector: Connector(), Fake: fake})
}

// fake is the lists of a shop: those that changed at or after updated_at_min,
// in the order of their ids, in pages whose place page_info stands for.
func fake(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/api/2026-07/{list}", func(rw http.ResponseWriter, r *http.Request) {
		name, q := strings.TrimSuffix(r.PathValue("list"), ".json"), r.URL.Query()
		since, after := q.Get("updated_at_min"), int64(0)
		if token := q.Get("page_info"); token != "" {
			if len(q) > 2 {
				http.Error(rw, `{"errors":{"page_info":"Cannot be combined with other parameters"}}`, 400)
				return
			}
			place, bound, _ := strings.Cut(token, "_")
			after, _ = strconv.ParseInt(place, 10, 64)
			since = bound
		}
		var items []connectortest.Item
		for _, it := range connectortest.Since(w.Items(name, ""), since) {
			if it.N > after {
				items = append(items, it)
			}
		}
		page, next := connectortest.Cut(items, 0, w.Limit(q.Get("limit")))
		if next > 0 {
			token := fmt.Sprintf("%d_%s", page[len(page)-1].N, since)
			rw.Header().Set("Link", fmt.Sprintf(`<http://provider.test%s?limit=250&page_info=%s>; rel="next"`, r.URL.Path, url.QueryEscape(token)))
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{%q: %s}`, name, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %s, "tags": "%d", "updated_at": %q}`, it.ID, it.Rev, it.Changed.In(time.FixedZone("", -4*3600)).Format(time.RFC3339))
		}))
	})
	return mux
}

// open returns the streams over a handler that answers for the shop.
func open(t *testing.T, o *Options, h http.HandlerFunc) map[string]syncd.Stream {
	t.Helper()
	return connectortest.Open(t, syncd.NoBase, o, h)
}

func TestRequests(t *testing.T) {
	var asked []string
	streams := open(t, &Options{Shop: "acme", Version: "2026-07"}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		io.WriteString(w, `{"orders": [], "customers": [], "products": []}`)
	})
	since := syncd.At(time.Date(2026, 6, 1, 10, 0, 0, 999, time.UTC))
	for _, req := range []syncd.Request{{}, {Since: since}, {Since: since, Page: "limit=250&page_info=abc%3D"}} {
		for _, name := range []string{"orders", "products"} {
			if _, err := streams[name].Fetch(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	const base = "https://acme.myshopify.com/admin/api/2026-07/"
	want := []string{
		base + "orders.json?limit=250&status=any", base + "products.json?limit=250",
		base + "orders.json?limit=250&status=any&updated_at_min=2026-06-01T10%3A00%3A00Z", base + "products.json?limit=250&updated_at_min=2026-06-01T10%3A00%3A00Z",
		base + "orders.json?limit=250&page_info=abc%3D", base + "products.json?limit=250&page_info=abc%3D",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// Recorded answers of a real shop arrive whole and byte for byte. Those that hold
// one object are made lists.
func TestRecordedAnswers(t *testing.T) {
	for name, c := range map[string]struct{ file, field, updated string }{
		"orders":    {"orders.json", "orders", "2016-05-17T08:14:36Z"},
		"customers": {"customer.json", "customer", "2017-09-23T18:15:47Z"},
		"products":  {"product.json", "product", "2017-09-22T18:48:44Z"},
	} {
		body, err := os.ReadFile(casebook.Shared(t, "data", "shopify-go-shopify", c.file))
		if err != nil {
			t.Fatal(err)
		}
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(c.file, err)
		}
		want := []json.RawMessage{answer[c.field]}
		if c.field == name {
			if err := json.Unmarshal(answer[c.field], &want); err != nil {
				t.Fatal(c.file, err)
			}
		} else {
			body = fmt.Appendf(nil, `{%q: [%s]}`, name, answer[c.field])
		}
		s := open(t, &Options{Shop: "acme.myshopify.com", Version: "2026-07"}, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })[name]
		page, err := s.Fetch(t.Context(), syncd.Request{})
		if err != nil || len(page.Records) != len(want) || len(want) == 0 {
			t.Fatalf("%s: %d records of %d, %v", name, len(page.Records), len(want), err)
		}
		for i, r := range page.Records {
			if r.Err != nil || r.ID == "" || r.Mark.Format(false) != c.updated || string(r.Data) != string(want[i]) {
				t.Errorf("%s: record %d: %q at %s, %v", name, i, r.ID, r.Mark.Format(false), r.Err)
			}
		}
	}
}

// An order that is not listed any more has grown older than 60 days, and is not
// deleted.
func TestOrdersAreNotDeletedByAbsence(t *testing.T) {
	for name, s := range open(t, &Options{Shop: "acme", Version: "2026-07"}, nil) {
		if s.Increments != (name == "orders") || s.Snapshot {
			t.Errorf("%s: increments %v, snapshot %v", name, s.Increments, s.Snapshot)
		}
	}
}

func TestBucket(t *testing.T) {
	now := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	for header, want := range map[string]syncd.Quota{
		"1/40": {Known: true, Left: 39}, "39/40": {Known: true, Left: 1},
		"40/40": {Known: true, Reset: now.Add(500 * time.Millisecond)}, "41/40": {Known: true, Reset: now.Add(500 * time.Millisecond)},
		"": {}, "40": {}, "a/b": {}, "0/0": {},
	} {
		h := http.Header{}
		h.Set("X-Shopify-Shop-Api-Call-Limit", header)
		if got := bucket(h, now); got != want {
			t.Errorf("%q: got %+v, want %+v", header, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	none, err := syncd.NewClient(syncd.NoBase, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Version: "2026-07"}, "shop: it is not set"},
		{Options{Shop: "evil.example/", Version: "2026-07"}, "is not the name of a shop"},
		{Options{Shop: "acme.myshopify.com.evil.example", Version: "2026-07"}, "is not the name of a shop"},
		{Options{Shop: "acme", Version: "latest"}, "named by quarters"},
		{Options{Shop: "acme", Version: "2026-07", Only: []string{"refunds"}}, `there is no stream "refunds", only orders, customers, products`},
	} {
		if _, err := c.o.Streams(none); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status           int
		body, link, want string
	}{
		"uninstalled":    {401, `{"errors":"[API] Invalid API key or access token"}`, "", "the app was uninstalled"},
		"no scope":       {403, `{"errors":"[API] This action requires merchant approval for read_orders scope."}`, "", "lacks the scope"},
		"no such shop":   {404, `{"errors":"Not Found"}`, "", "myshopify.com name"},
		"frozen":         {402, `{"errors":"Unavailable Shop"}`, "", "frozen"},
		"no list":        {200, `{"errors":"x"}`, "", `no field "orders"`},
		"empty":          {200, "", "", "empty"},
		"another origin": {200, `{"orders":[]}`, `<https://evil.example/admin/api/2026-07/orders.json?page_info=a>; rel="next"`, "another origin"},
		"no query":       {200, `{"orders":[]}`, `<https://acme.myshopify.com/admin/api/2026-07/orders.json>; rel="next"`, "no query"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &Options{Shop: "acme", Version: "2026-07"}, func(w http.ResponseWriter, r *http.Request) {
				if c.link != "" {
					w.Header().Set("Link", c.link)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})["orders"]
			if page, err := s.Fetch(t.Context(), syncd.Request{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want %q", page, err, c.want)
			}
		})
	}
}
