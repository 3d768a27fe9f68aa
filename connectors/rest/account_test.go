package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

// handled answers requests by a handler, without a network.
type handled http.HandlerFunc

func (h handled) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, req)
	resp := w.Result()
	resp.Request = req
	if resp.StatusCode/100 != 2 {
		return nil, &syncd.HTTPError{Method: req.Method, URL: req.URL.Path, Status: resp.StatusCode, Header: resp.Header, Body: w.Body.Bytes()}
	}
	return resp, nil
}

func TestAccount(t *testing.T) {
	lists := map[string]Stream{"items": {Path: "/items"}}
	for name, c := range map[string]struct {
		whose  Account
		status int
		answer string
		want   string
		err    string
	}{
		"an id":                {Account{Path: "/{{ params.v }}/user", ID: "body.user.id"}, 200, `{"user":{"id":"u-7"}}`, "u-7", ""},
		"a large number":       {Account{Path: "/user", ID: "body.id"}, 200, `{"id":90071992547409931234}`, "90071992547409931234", ""},
		"two together":         {Account{Path: "/user", ID: `body.team + "/" + body.id`}, 200, `{"team":"t","id":"u"}`, "t/u", ""},
		"GraphQL":              {Account{Path: "/graphql", Body: `{"query":"{ viewer { id } }"}`, ID: "body.data.viewer.id"}, 200, `{"data":{"viewer":{"id":"x"}}}`, "x", ""},
		"none in the answer":   {Account{Path: "/user", ID: "body.id"}, 200, `{"name":"x"}`, "", "it has no body.id"},
		"a page":               {Account{Path: "/user", ID: "body.id"}, 200, `<html>`, "", "not as expected"},
		"an error in disguise": {Account{Path: "/user", ID: "body.id"}, 200, `{"ok":false,"id":"x"}`, "", "not ok"},
		"a wrong key":          {Account{Path: "/user", ID: "body.id"}, 401, `{}`, "", "401"},
		"nobody is asked":      {Account{}, 500, ``, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Options{Lists: lists, Params: map[string]string{"v": "v2"}, Headers: map[string]string{"X-V": "{{ params.v }}"}, Account: c.whose,
				Errors: []ErrorRule{{When: "body.ok == false", Message: `"not ok"`}}}
			asked := 0
			client, err := syncd.NewClient("http://api.test", handled(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Header.Get("X-V") != "v2" || (r.Method == "POST") != (c.whose.Body != "") {
					t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				w.Write([]byte(c.answer))
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.Identify(t.Context(), client)
			switch {
			case got != c.want || (err == nil) != (c.err == ""):
				t.Errorf("got %q, %v, want %q, %s", got, err, c.want, c.err)
			case err != nil && !strings.Contains(err.Error(), c.err):
				t.Errorf("got %v, want %s", err, c.err)
			}
			if _, refused := errors.AsType[*syncd.HTTPError](err); refused != (c.status == 401) {
				t.Errorf("a refusal: %t of %v", refused, err)
			}
			if want := 1; c.whose.Path == "" && asked != 0 || c.whose.Path != "" && asked != want {
				t.Errorf("%d requests", asked)
			}
		})
	}
}

func TestAccountFaults(t *testing.T) {
	for want, whose := range map[string]Account{
		"account: it has no path":                {ID: "body.id"},
		"account: it has no id":                  {Path: "/user"},
		"account.path: it is below base_url":     {Path: "https://x.test/user", ID: "body.id"},
		"account.path: parameters belong":        {Path: "/user?a=b", ID: "body.id"},
		"account.id: ":                           {Path: "/user", ID: "record.id"},
		"account.headers.Authorization: this":    {Path: "/user", ID: "body.id", Headers: map[string]string{"Authorization": "x"}},
		"account.body: it does not come to JSON": {Path: "/user", ID: "body.id", Body: "{"},
		"account.query.q: ":                      {Path: "/user", ID: "body.id", Query: map[string]string{"q": "{{ since }}"}},
	} {
		_, err := (&Options{Lists: map[string]Stream{"items": {Path: "/items"}}, Account: whose}).API()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
