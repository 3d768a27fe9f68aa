package outside

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A giteaClient is an application that a user of a Gitea has consented to.
type giteaClient struct {
	*GiteaServer
	id, secret string
}

// ask asks for a token with more parameters.
func (c giteaClient) ask(t *testing.T, more url.Values) Answer {
	t.Helper()
	form := url.Values{"client_id": {c.id}, "client_secret": {c.secret}}
	for name, values := range more {
		form[name] = values
	}
	return c.Ask(t, "POST", GiteaTokenPath, form)
}

func (c giteaClient) refresh(t *testing.T, token string) Answer {
	t.Helper()
	return c.ask(t, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// user returns the status of who the token says is asking.
func (c giteaClient) user(t *testing.T, access string) int {
	t.Helper()
	return c.AskAs(t, "Authorization", "Bearer "+access, "GET", "/api/v1/user", nil).Status
}

// consented has a user consent in a browser, and returns the first tokens.
func consented(t *testing.T, config GiteaConfig) (giteaClient, Object) {
	t.Helper()
	arrived := make(chan url.Values, 1)
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			arrived <- r.URL.Query()
		}
	}))
	t.Cleanup(back.Close)
	c := giteaClient{GiteaServer: Gitea(t, config)}
	c.id, c.secret = c.Application(t, back.URL+"/callback")
	err := chromedp.Do(Browser(t), chromedp.Navigate(c.URL+GiteaConsentPath+"?"+url.Values{
		"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {back.URL + "/callback"}, "state": {"S"},
	}.Encode()), c.LogIn(), c.Authorize())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case q := <-arrived:
		answer := c.ask(t, url.Values{"grant_type": {"authorization_code"}, "redirect_uri": {back.URL + "/callback"}, "code": {q.Get("code")}})
		if answer.Status != 200 || q.Get("state") != "S" {
			t.Fatalf("exchange %s: status %d: %s", q, answer.Status, answer.Body)
		}
		return c, answer.Object(t)
	case <-t.Context().Done():
		t.Fatal("nobody came back")
		return c, nil
	}
}

// refuses checks an answer that is an error.
func refuses(t *testing.T, what string, got Answer, status int, code, description string) {
	t.Helper()
	said := got.Object(t)
	if got.Status != status || said.Text("error") != code || said.Text("error_description") != description {
		t.Errorf("%s: got %d %s, want %d %s %q", what, got.Status, got.Body, status, code, description)
	}
}

func TestGiteaRotates(t *testing.T) {
	t.Parallel()
	c, first := consented(t, GiteaConfig{})
	if got, want := first.Text("expires_in"), "3600"; got != want {
		t.Errorf("expires_in: got %s, want %s", got, want)
	}
	answer := c.refresh(t, first.Text("refresh_token"))
	if answer.Status != 200 {
		t.Fatalf("refresh: status %d: %s", answer.Status, answer.Body)
	}
	second := answer.Object(t)
	if first.Text("refresh_token") == second.Text("refresh_token") {
		t.Error("the refresh token is the same as before")
	}
	// A second use is refused, and takes nothing away.
	refuses(t, "a second use", c.refresh(t, first.Text("refresh_token")), 400, "unauthorized_client", "token was already used")
	for _, token := range []Object{first, second} {
		if got, want := c.user(t, token.Text("access_token")), 200; got != want {
			t.Errorf("an access token after a refresh: got status %d, want %d", got, want)
		}
	}
	third := c.refresh(t, second.Text("refresh_token"))
	if third.Status != 200 {
		t.Errorf("the token of the first use, after the second: status %d: %s", third.Status, third.Body)
	}
	refuses(t, "what is no token", c.refresh(t, "nonsense"), 400, "unauthorized_client", "unable to parse refresh token")
	good := c.secret
	c.secret = "wrong"
	refuses(t, "a wrong secret", c.refresh(t, third.Object(t).Text("refresh_token")), 400, "invalid_client", "invalid client secret")
	c.secret = good

	c.Withdraw(t)
	if got, want := c.user(t, second.Text("access_token")), 401; got != want {
		t.Errorf("an access token after the grant was withdrawn: got status %d, want %d", got, want)
	}
	refuses(t, "a grant that was withdrawn", c.refresh(t, third.Object(t).Text("refresh_token")), 400, "invalid_grant", "grant does not exist")
}

func TestGiteaTokensEnd(t *testing.T) {
	t.Parallel()
	c, first := consented(t, GiteaConfig{Lifetime: 2 * time.Second, Reuse: true})
	if got, want := c.user(t, first.Text("access_token")), 200; got != want {
		t.Errorf("a token: got status %d, want %d", got, want)
	}
	await(t, "the end of a token", func() bool { return c.user(t, first.Text("access_token")) == 401 })
	for range 2 {
		if answer := c.refresh(t, first.Text("refresh_token")); answer.Status != 200 {
			t.Errorf("a refresh token that may be used again: status %d: %s", answer.Status, answer.Body)
		}
	}
}
