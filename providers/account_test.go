package providers_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/syncdhq/syncd"
)

// A reply answers one path, as the provider's page documents it.
type reply struct{ path, body string }

func (a reply) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if req.URL.Path != a.path {
		return nil, &syncd.HTTPError{Method: req.Method, URL: req.URL.Path, Status: 404}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(a.body))
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// Whose account it is, of each provider that tells.
func TestAccounts(t *testing.T) {
	for name, c := range map[string]struct {
		reply
		want string
	}{
		"gitea":    {reply{"/api/v1/user", `{"id":9007199254740993,"login":"alice"}`}, "9007199254740993"},
		"gitlab":   {reply{"/api/v4/user", `{"id":7,"username":"alice","state":"active"}`}, "7"},
		"hubspot":  {reply{"/account-info/v3/details", `{"portalId":1234567,"timeZone":"US/Eastern"}`}, "1234567"},
		"jira":     {reply{"/rest/api/3/myself", `{"accountId":"5b10a2844c20165700ede21g","emailAddress":"a@example.com"}`}, "5b10a2844c20165700ede21g"},
		"miniflux": {reply{"/v1/me", `{"id":1,"username":"admin"}`}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := syncd.NewClient("https://provider.test", c.reply, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := connector(t, name).Options().(syncd.Identifier).Account(t.Context(), client)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
