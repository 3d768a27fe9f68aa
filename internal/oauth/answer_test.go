package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/vault"
)

// answering is a token endpoint.
type answering func(req *http.Request, form url.Values) (status int, contentType, body string)

func (f answering) RoundTrip(req *http.Request) (*http.Response, error) {
	var form url.Values
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if form, err = url.ParseQuery(string(body)); err != nil {
			return nil, err
		}
	}
	status, contentType, body := f(req, form)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

func client(f answering) *Client {
	return &Client{Base: f, App: App{ClientID: "app", ClientSecret: vault.NewSecret("canary-secret"), TokenURL: "https://auth.test/token", AuthURL: "https://auth.test/authorize", DeviceURL: "https://auth.test/device", RevokeURL: "https://auth.test/revoke", Scopes: []string{"read"}}}
}

// Every answer of the shared table, as an answer to a refresh.
func TestSharedTable(t *testing.T) {
	data, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "oauth_token_table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name        string
		ContentType string `json:"content_type"`
		Status      int
		Body        string
		Expect      struct {
			Outcome string
			TTL     json.RawMessage `json:"ttl_s"`
			Refresh string          `json:"stored_refresh_token"`
		}
	}
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(func(*http.Request, url.Values) (int, string, string) { return row.Status, row.ContentType, row.Body })
				got, err := c.Refresh(t.Context(), vault.NewSecret("R1"))
				if row.Expect.Outcome != "ok" {
					want := map[string]Kind{"transient": Unavailable, "reauth_required": Denied, "provider_config_error": Misconfigured}
					kind, known := want[row.Expect.Outcome]
					if r, ok := errors.AsType[*Refusal](err); !known || !ok || r.Kind != kind {
						t.Fatalf("got %v, want %s", err, row.Expect.Outcome)
					}
					return
				}
				if err != nil || got.Access.Reveal() != "A" {
					t.Fatalf("got %q, %v", got.Access.Reveal(), err)
				}
				if got.Refresh.Reveal() != row.Expect.Refresh {
					t.Errorf("refresh token %q, want %q", got.Refresh.Reveal(), row.Expect.Refresh)
				}
				ttl := "null"
				switch left := time.Until(got.Expires); {
				case got.Expires.IsZero():
				case left == 24*time.Hour:
					ttl = `"clamp"`
				default:
					ttl = strings.TrimSuffix(strings.TrimSuffix(left.String(), "0m0s"), "h") // "1"
					ttl = map[string]string{"1": "3600"}[ttl]
				}
				if ttl != string(row.Expect.TTL) {
					t.Errorf("it lasts %s, want %s", ttl, row.Expect.TTL)
				}
			})
		})
	}
}

// What else real servers say.
func TestWhatServersSay(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       Kind
		ok         bool
	}{
		"Gitea, a token that is no more":    {400, "application/json", `{"error":"unauthorized_client","error_description":"unable to parse refresh token"}`, Denied, false},
		"Gitea, a token that was used":      {400, "application/json", `{"error":"unauthorized_client","error_description":"token was already used"}`, Denied, false},
		"Gitea, a database that is busy":    {400, "application/json", `{"error":"invalid_grant","error_description":"cannot increase the grant counter"}`, Unavailable, false},
		"Gitea, a wrong secret":             {400, "application/json", `{"error":"unauthorized_client","error_description":"invalid client secret"}`, Misconfigured, false},
		"unauthorized_client without words": {400, "application/json", `{"error":"unauthorized_client"}`, Misconfigured, false},
		"Dex, a token that is no more":      {400, "application/json", `{"error":"invalid_request","error_description":"Refresh token is invalid or has already been claimed by another client."}`, Denied, false},
		"invalid_request without words":     {400, "application/json", `{"error":"invalid_request"}`, Unavailable, false},
		"GitHub, status 200":                {200, "application/json", `{"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}`, Denied, false},
		"GitHub, a wrong secret":            {200, "application/x-www-form-urlencoded", "error=incorrect_client_credentials&error_description=The+client_id", Misconfigured, false},
		"Slack":                             {200, "application/json", `{"ok":false,"error":"invalid_refresh_token"}`, Denied, false},
		"a failure that carries a code":     {500, "application/json", `{"error":"invalid_grant"}`, Unavailable, false},
		"too many":                          {429, "application/json", `{"error":"invalid_grant"}`, Unavailable, false},
		"a page with 200":                   {200, "text/html", "<html>log in</html>", Unavailable, false},
		"no token":                          {200, "application/json", `{"token_type":"bearer"}`, Unavailable, false},
		"cut":                               {200, "application/json", `{"access_token":"A","refresh`, Unavailable, false},
		"a list":                            {200, "application/json", `["A"]`, Unavailable, false},
		"a redirect":                        {302, "text/plain", "", Unavailable, false},
		"an unknown code":                   {400, "application/json", `{"error":"temporarily_unavailable"}`, Unavailable, false},
		"Strava's expires_at":               {200, "application/json", `{"access_token":"A","expires_at":1780308000}`, 0, true},
		"scopes as a list":                  {200, "application/json", `{"access_token":"A","scope":["a","b"]}`, 0, true},
		"Facebook's form":                   {200, "text/plain", "access_token=A&expires=5183999", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := client(func(*http.Request, url.Values) (int, string, string) { return c.status, c.kind, c.body })
			_, err := c2.Refresh(t.Context(), vault.NewSecret("R1"))
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if r, ok := errors.AsType[*Refusal](err); !ok || r.Kind != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A server that echoes what it was sent gives nothing away.
func TestNothingIsEchoed(t *testing.T) {
	for _, status := range []int{200, 400, 500} {
		c := client(func(_ *http.Request, form url.Values) (int, string, string) {
			body, _ := json.Marshal(map[string]string{"error": "invalid_grant canary-refresh", "error_description": "bad " + form.Encode() + " canary-refresh"})
			return status, "application/json", string(body)
		})
		_, err := c.Refresh(t.Context(), vault.NewSecret("canary-refresh"))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A secret that is longer than what is kept of a text is not kept in part.
func TestALongSecretIsNotCutInTwo(t *testing.T) {
	secret := strings.Repeat("canary-", 80)
	c := client(func(*http.Request, url.Values) (int, string, string) {
		return 400, "application/json", `{"error":"invalid_grant","error_description":"bad value ` + secret + `"}`
	})
	if _, err := c.Refresh(t.Context(), vault.NewSecret(secret)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func TestRefresh(t *testing.T) {
	for _, inHeader := range []bool{false, true} {
		var asked int
		c := client(func(req *http.Request, form url.Values) (int, string, string) {
			asked++
			user, password, basic := req.BasicAuth()
			if basic != inHeader || inHeader && (user != "app" || password != "canary-secret") || !inHeader && form.Get("client_secret") != "canary-secret" {
				t.Errorf("the client says %q %q %v", user, password, form)
			}
			if form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "R1" {
				t.Errorf("asked %v", form)
			}
			return 200, "application/json", `{"access_token":"A2","refresh_token":"R2","expires_in":60,"scope":"read"}`
		})
		c.App.InHeader = inHeader
		got, err := c.Refresh(t.Context(), vault.NewSecret("R1"))
		if err != nil || got.Access.Reveal() != "A2" || got.Refresh.Reveal() != "R2" || got.Scope != "read" || asked != 1 {
			t.Errorf("got %s %s %q, %v, in %d requests", got.Access.Reveal(), got.Refresh.Reveal(), got.Scope, err, asked)
		}
	}
}

// A server that does not answer is given up in time, and nothing of the request shows.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(nil)
		c.Base = stuck{}
		_, err := c.Refresh(t.Context(), vault.NewSecret("canary-refresh"))
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Kind != Unavailable || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	})
}

type stuck struct{}

func (stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestCode(t *testing.T) {
	verifier := NewVerifier()
	c := client(func(_ *http.Request, form url.Values) (int, string, string) {
		if form.Get("code") != "C" || form.Get("code_verifier") != verifier.Reveal() || form.Get("redirect_uri") != "https://syncd.test/callback" {
			return 400, "application/json", `{"error":"invalid_grant"}`
		}
		return 200, "application/json", `{"access_token":"A","refresh_token":"R"}`
	})
	c.App.RedirectURL, c.App.Params = "https://syncd.test/callback", map[string]string{"access_type": "offline"}
	u, err := url.Parse(c.AuthCodeURL("S", verifier))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{"state": "S", "code_challenge_method": "S256", "response_type": "code", "client_id": "app", "scope": "read", "access_type": "offline", "redirect_uri": "https://syncd.test/callback"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if q.Get("code_challenge") == "" || strings.Contains(u.String(), verifier.Reveal()) || strings.Contains(u.String(), "canary") {
		t.Errorf("the URL is %s", u)
	}
	if got, err := c.Exchange(t.Context(), "C", verifier); err != nil || got.Access.Reveal() != "A" || !got.Expires.IsZero() {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := c.Exchange(t.Context(), "C", NewVerifier()); err == nil {
		t.Error("another verifier will do")
	}
}

func TestClientCredentialsAndRevoke(t *testing.T) {
	var revoked string
	c := client(func(req *http.Request, form url.Values) (int, string, string) {
		if req.URL.Path == "/revoke" {
			revoked = form.Get("token")
			return 200, "", ""
		}
		if form.Get("grant_type") != "client_credentials" {
			return 400, "application/json", `{"error":"unsupported_grant_type"}`
		}
		return 200, "application/json", `{"access_token":"A"}`
	})
	if got, err := c.ClientCredentials(t.Context()); err != nil || got.Access.Reveal() != "A" {
		t.Error(got, err)
	}
	if err := c.Revoke(t.Context(), Token{Access: vault.NewSecret("A"), Refresh: vault.NewSecret("R")}); err != nil || revoked != "R" {
		t.Error(revoked, err)
	}
	if err := c.Revoke(t.Context(), Token{Access: vault.NewSecret("A")}); err != nil || revoked != "A" {
		t.Error(revoked, err)
	}
}

// A call of the provider's own takes the access token, which must be good.
func TestRevokeByAnOwnCall(t *testing.T) {
	for name, test := range map[string]struct {
		expires time.Time
		want    string
	}{"good": {time.Now().Add(time.Hour), "A1"}, "no end is known": {time.Time{}, "A1"}, "over": {time.Now().Add(-time.Hour), "A2"}} {
		var revoked string
		c := client(func(req *http.Request, form url.Values) (int, string, string) {
			if req.URL.Path == "/revoke" {
				revoked = form.Get("access_token")
				return 200, "", ""
			}
			return 200, "application/json", `{"access_token":"A2","refresh_token":"R2"}`
		})
		c.App.RevokeParam = "access_token"
		err := c.Revoke(t.Context(), Token{Access: vault.NewSecret("A1"), Refresh: vault.NewSecret("R1"), Expires: test.expires})
		if err != nil || revoked != test.want {
			t.Errorf("%s: revoked %q, %v, want %s", name, revoked, err, test.want)
		}
	}
}
