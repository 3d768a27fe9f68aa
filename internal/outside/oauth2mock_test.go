package outside

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestOAuth2Mock(t *testing.T) {
	t.Parallel()
	s := OAuth2Mock(t)
	const back = "http://127.0.0.1:1/callback"
	consent := func() string {
		// RFC 7636, appendix B.
		answer := s.Ask(t, "GET", "/authorize?"+url.Values{"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {back}, "state": {"S"},
			"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}.Encode(), nil)
		to, err := url.Parse(answer.Header.Get("Location"))
		if err != nil || answer.Status != http.StatusFound || !strings.HasPrefix(to.String(), back) || to.Query().Get("state") != "S" {
			t.Fatalf("sent to %s with status %d (%v)", to, answer.Status, err)
		}
		return to.Query().Get("code")
	}
	exchange := func(code, verifier string) Answer {
		return s.Ask(t, "POST", "/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "client_id": {"app"}, "code_verifier": {verifier}})
	}
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	code := consent()
	granted := exchange(code, verifier).Object(t)
	if granted.Text("access_token") == "" || granted.Text("refresh_token") == "" || granted.Text("expires_in") != "3600" {
		t.Errorf("granted %s", granted)
	}
	for what, answer := range map[string]Answer{"a code that was used": exchange(code, verifier), "another's verifier": exchange(consent(), strings.Repeat("x", 43))} {
		if answer.Status != 400 || answer.Object(t).Text("title") != "Bad Request" {
			t.Errorf("%s: got %d %s", what, answer.Status, answer.Body)
		}
	}
	if got, want := s.Requests(t), 3; got != want {
		t.Errorf("requests: got %d, want %d", got, want)
	}
}

func TestOAuth2MockOrders(t *testing.T) {
	t.Parallel()
	s := OAuth2Mock(t)
	refresh := func() Answer {
		return s.Ask(t, "POST", "/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"made up"}, "client_id": {"app"}})
	}
	s.Next(t,
		Order{Status: 503, Type: "text/html", Body: "<html>"},
		Order{Delay: 50, Change: map[string]any{"expires_in": nil, "scope": "read"}},
		Order{Status: 400, Change: map[string]any{"error": "invalid_grant"}},
		Order{Cut: true},
	)
	if got := refresh(); got.Status != 503 || string(got.Body) != "<html>" || got.Header.Get("Content-Type") != "text/html" {
		t.Errorf("another answer: got %d %s", got.Status, got.Body)
	}
	if got := refresh().Object(t); got.Text("expires_in") != "" || got.Text("scope") != "read" || got.Text("refresh_token") == "" {
		t.Errorf("a changed answer: got %s", got)
	}
	if got := refresh(); got.Status != 400 || got.Object(t).Text("error") != "invalid_grant" {
		t.Errorf("a refusal: got %d %s", got.Status, got.Body)
	}
	resp, err := s.client.PostForm(s.URL+"/token", url.Values{"grant_type": {"refresh_token"}})
	if err == nil {
		resp.Body.Close()
		t.Errorf("a connection that is cut: got status %d", resp.StatusCode)
	}
	if got := refresh(); got.Status != 200 || got.Object(t).Text("expires_in") != "3600" {
		t.Errorf("after all orders: got %d %s", got.Status, got.Body)
	}
	if got, want := s.Requests(t), 5; got != want {
		t.Errorf("requests: got %d, want %d", got, want)
	}
}

// What npm installs is the version that the cache is named for.
func TestNpmVersion(t *testing.T) {
	content, err := packages.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := `"oauth2-mock-server": "` + oauth2mock.version + `"`; !strings.Contains(string(content), want) {
		t.Errorf("package.json has no %s", want)
	}
}
