package stripe

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/outside"
)

// signed signs requests, as the transport does.
type signed struct{ key string }

func (s signed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// Stripe's own mock takes every request that the connector makes: it knows each
// path and parameter of the API, and refuses what it does not know.
func TestRequestsAreValid(t *testing.T) {
	mock := outside.StripeMock(t)
	for _, account := range []string{"", "acct_1AbCdEfGhIjKlMnO"} {
		t.Run("account "+account, func(t *testing.T) {
			c, err := syncd.NewClient(mock.URL, signed{mock.Key}, signed{mock.Key})
			if err != nil {
				t.Fatal(err)
			}
			streams, err := (&Options{Account: account}).Streams(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range streams {
				reqs := []syncd.Request{
					{},
					{Since: syncd.At(time.Now())},
					{Sync: strconv.FormatInt(time.Now().Unix(), 10)},
				}
				for _, req := range reqs {
					if s.Name == "events" && req.Sync != "" {
						continue
					}
					page, err := s.Fetch(t.Context(), req)
					if err != nil {
						t.Errorf("%s, %+v: %v", s.Name, req, err)
						continue
					}
					// The mock has one element, and no more: an answer in Stripe's
					// shape comes to a record with an id, and a token for later.
					if req == (syncd.Request{}) && (len(page.Records) != 1 || page.Records[0].ID == "" || page.Records[0].Err != nil || s.Name != "events" && page.Sync == "") {
						t.Errorf("%s: %+v", s.Name, page)
					}
				}
			}
		})
	}
}

// What is asked for on later pages, of objects one by one, and where the object
// that a page ended with is gone.
func TestLaterRequestsAreValid(t *testing.T) {
	mock := outside.StripeMock(t)
	c, err := syncd.NewClient(mock.URL, signed{mock.Key}, signed{mock.Key})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{client: c}
	for _, k := range kinds() {
		s := source{api: a, kind: k}
		id := map[string]string{"charges": "ch_1", "customers": "cus_1", "invoices": "in_1", "subscriptions": "sub_1"}[k.name]
		if r, err := s.retrieve(t.Context(), change{id: id}); err != nil || r.ID != id || r.Err != nil {
			t.Errorf("%s %s: %+v, %v", k.name, id, r, err)
		}
		for _, query := range []url.Values{
			{"starting_after": {id}}, {"created[lte]": {"1780308000"}}, {"created[gte]": {"1780308000"}, "types[]": k.types},
		} {
			path := "/v1/" + k.name
			if query.Has("types[]") {
				path = "/v1/events"
			}
			if _, err := s.list(t.Context(), path, query, place{}, element.object); err != nil {
				t.Errorf("%s %v: %v", path, query, err)
			}
		}
		if len(k.types) > 20 {
			t.Errorf("%s: %d types, and Stripe takes 20", k.name, len(k.types))
		}
	}
	// The mock does refuse what Stripe would.
	for _, wrong := range []url.Values{{"page": {"2"}}, {"created[gte]": {"yesterday"}}, {"starting_before": {"ch_1"}}} {
		_, err := a.list(t.Context(), "/v1/charges", wrong, place{}, element.object)
		if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != 400 {
			t.Errorf("%v: %v, want it to be refused", wrong, err)
		}
	}
	_, err = a.get(t.Context(), "/v1/charge", nil)
	if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != 404 {
		t.Errorf("an unknown path: %v", fmt.Sprint(err))
	}
}
