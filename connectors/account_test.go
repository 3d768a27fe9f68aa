package connectors

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
)

// A reply answers one path, as the provider's page documents it.
type reply struct {
	path, body string
	status     int // 0 is 200
}

func (a reply) RoundTrip(req *http.Request) (*http.Response, error) {
	status := a.status
	if req.URL.Path != a.path {
		status = 404
	}
	if status != 0 {
		return nil, &syncd.HTTPError{Method: req.Method, URL: req.URL.Path, Status: status}
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(a.body))
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// Whose account it is, as each provider tells it.
func TestIdentify(t *testing.T) {
	told := map[string]struct {
		path, body, want string
	}{
		"gitea":           {"/api/v1/user", `{"id":9007199254740993,"login":"alice"}`, "9007199254740993"},
		"github":          {"/user", `{"login":"alice","id":583231,"node_id":"MDQ6VXNlcjU4MzIzMQ=="}`, "583231"},
		"gitlab":          {"/api/v4/user", `{"id":7,"username":"alice","state":"active"}`, "7"},
		"google_calendar": {"/calendars/primary", `{"kind":"calendar#calendar","id":"alice@example.com","summary":"Alice"}`, "alice@example.com"},
		"hubspot":         {"/account-info/v3/details", `{"portalId":1234567,"timeZone":"US/Eastern"}`, "1234567"},
		"jira":            {"/rest/api/3/myself", `{"accountId":"5b10a2844c20165700ede21g","emailAddress":"a@example.com"}`, "5b10a2844c20165700ede21g"},
		"miniflux":        {"/v1/me", `{"id":1,"username":"admin"}`, "1"},
		"notion":          {"/users/me", `{"object":"user","id":"9188c6a5-7381-452f-b3dc-d4865aa89bdf","type":"bot","bot":{}}`, "9188c6a5-7381-452f-b3dc-d4865aa89bdf"},
		"shopify":         {"/admin/api/2026-07/shop.json", `{"shop":{"id":548380009,"name":"Acme"}}`, "548380009"},
		"slack":           {"/auth.test", `{"ok":true,"team":"Acme","team_id":"T0123","user":"alice","user_id":"U0456"}`, "T0123/U0456"},
		"strava":          {"/athlete", `{"id":1234567890987654321,"username":"alice"}`, "1234567890987654321"},
		"stripe":          {"/v1/account", `{"id":"acct_1AbC","object":"account"}`, "acct_1AbC"},
	}
	untold := map[string]string{
		"csv":         "a file is nobody's",
		"hacker_news": "nobody signs in",
		"pocketbase":  "tokens are of a record of any collection, and nothing but a new token tells of which",
		"rest":        "it has none before its options say how",
		"sample":      "it is nobody's",
	}
	all, err := config.Expand(All)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			want, tells := told[c.Name]
			if why := untold[c.Name]; tells == (why != "") {
				t.Fatalf("say here what it tells, or why it does not: %q", why)
			}
			if !tells {
				return
			}
			ask := func(r reply) (string, error) {
				client, err := syncd.NewClient("https://provider.test", r, nil)
				if err != nil {
					t.Fatal(err)
				}
				return c.Options().(syncd.Identifier).Identify(t.Context(), client)
			}
			if got, err := ask(reply{want.path, want.body, 0}); err != nil || got != want.want {
				t.Errorf("got %q, %v, want %q", got, err, want.want)
			}
			if got, err := ask(reply{want.path, want.body, 401}); got != "" || err == nil {
				t.Errorf("refused: got %q, %v", got, err)
			} else if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != 401 {
				t.Errorf("refused: %v", err)
			}
			for _, body := range []string{`{"ok":true}`, `{"ok":true,"id":null,"shop":{"id":""}}`, `<html>`, ``} {
				if got, err := ask(reply{want.path, body, 0}); err == nil {
					t.Errorf("%s: got %q", body, got)
				}
			}
		})
	}
}

// GitHub does not tell of an app's installation, which is not wrong.
func TestIdentifyAnInstallation(t *testing.T) {
	for _, c := range All {
		if c.Name != "github" {
			continue
		}
		client, err := syncd.NewClient("https://api.github.com", reply{"/user", "", 403}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Options().(syncd.Identifier).Identify(t.Context(), client); got != "" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// Slack refuses with status 200.
func TestIdentifyARefusalOfSlack(t *testing.T) {
	for _, c := range All {
		if c.Name != "slack" {
			continue
		}
		client, err := syncd.NewClient("https://slack.com/api", reply{"/api/auth.test", `{"ok":false,"error":"invalid_auth"}`, 0}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Options().(syncd.Identifier).Identify(t.Context(), client)
		if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != 401 {
			t.Errorf("got %v", err)
		}
	}
}
