package outside

import (
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A GiteaConfig is what an authorization server of Gitea is told about its tokens.
type GiteaConfig struct {
	Lifetime time.Duration // of an access token, in whole seconds; 0 for Gitea's hour
	Reuse    bool          // a refresh token may be used again, as without INVALIDATE_REFRESH_TOKENS
}

// A GiteaServer is a Gitea with one user, an administrator.
type GiteaServer struct {
	Server
	Username, Password string
	Database           string // the file of its SQLite database
}

// Gitea starts a Gitea on an empty SQLite database, which ends with the test.
// Ask and Call are the user's, by basic authentication.
//
// As an authorization server (https://docs.gitea.com/development/oauth2-provider)
// it consents at /login/oauth/authorize and grants at /login/oauth/access_token:
//
//	{"access_token":"eyJhbGciOiJFUzI1NiIs...","token_type":"bearer","expires_in":3600,"refresh_token":"eyJhbGciOiJFUzI1NiIs..."}
//
// What clients must stand, as the tests of this file show:
//
//   - A refresh token may be used once, as INVALIDATE_REFRESH_TOKENS is on here. A second
//     use is not invalid_grant but 400 {"error":"unauthorized_client",
//     "error_description":"token was already used"}. It takes nothing away: the grant and
//     the tokens that the first use has got stay good, as theft is not concluded from it.
//   - So an answer that is lost loses the account: the token that would be taken is
//     the one that nobody got.
//   - What is no token of its own is unauthorized_client too: "unable to parse refresh token".
//   - A wrong secret is invalid_client where a token is refreshed, and unauthorized_client where
//     a code is exchanged: "invalid client secret". Every refusal is status 400.
//   - Where Gitea cannot write to its database, it says that the grant is at fault: 400
//     {"error":"invalid_grant","error_description":"cannot increase the grant counter"}.
//     The token has not been used then, and is good when the database is.
//   - Where the user has withdrawn the grant, its access tokens are 401 at the API at once,
//     and its refresh tokens are 400 {"error":"invalid_grant","error_description":"grant does not exist"}.
//   - A refresh does not end the access token before: both are good until their time.
//   - There is no revocation endpoint: only the user withdraws, in the settings.
//   - A user who has consented once to an application with a secret is not asked again.
//   - Redirect addresses are compared letter by letter, the port too, where the application has a secret.
func Gitea(tb testing.TB, config GiteaConfig) *GiteaServer {
	tb.Helper()
	program := gitea.need(tb)
	g := &GiteaServer{Username: "owner", Password: "correct horse battery"}
	dir := tb.TempDir()
	g.Database = filepath.Join(dir, "gitea.db")
	file := filepath.Join(dir, "app.ini")
	// The module comes without the scripts that its pages would load, which a page complains of.
	pages := filepath.Join(dir, "custom", "templates", "custom")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pages, "footer.tmpl"), []byte(giteaFooter), 0o644); err != nil {
		tb.Fatal(err)
	}
	address := serve(tb, service{name: "gitea", dir: dir, health: "/api/healthz", command: func(address string) *exec.Cmd {
		if err := os.WriteFile(file, []byte(config.text(dir, filepath.Dir(program), address)), 0o600); err != nil {
			tb.Fatal(err)
		}
		return exec.Command(program, "web", "--config", file)
	}})
	g.Server = newServer(tb, address)
	g.sign = func(req *http.Request) { req.SetBasicAuth(g.Username, g.Password) }

	owner := exec.Command(program, "admin", "user", "create", "--config", file, "--admin", "--must-change-password=false",
		"--username", g.Username, "--password", g.Password, "--email", "owner@example.com")
	owner.Dir, owner.Env = dir, environment(dir)
	if out, err := owner.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", owner, err, lastLines(out))
	}
	return g
}

// giteaFooter is what each page has at its end.
const giteaFooter = `<script nonce="{{ctx.CspScriptNonce}}">window.config.frontendInited = true</script>
`

// text writes the configuration file.
func (c GiteaConfig) text(dir, static, address string) string {
	host, port, _ := net.SplitHostPort(address)
	lifetime := time.Hour
	if c.Lifetime != 0 {
		lifetime = c.Lifetime
	}
	return fmt.Sprintf(`RUN_MODE = prod
WORK_PATH = %[1]s
; The tests of a build may well run as root.
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true

[server]
HTTP_ADDR = %[2]s
HTTP_PORT = %[3]s
ROOT_URL = http://%[2]s:%[3]s/
STATIC_ROOT_PATH = %[4]s
APP_DATA_PATH = %[1]s/data
DISABLE_SSH = true
OFFLINE_MODE = true

[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 5000

[security]
INSTALL_LOCK = true
SECRET_KEY = a-key-for-tests
INTERNAL_TOKEN = eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJuYmYiOjE3MDAwMDAwMDB9.gzrQ0Gk9KPXqNBSOm5bGHZ3AxzL8t4t1cGGqmzLPRfs

[oauth2]
INVALIDATE_REFRESH_TOKENS = %[5]t
ACCESS_TOKEN_EXPIRATION_TIME = %[6]d
JWT_SIGNING_ALGORITHM = ES256

[log]
MODE = console
LEVEL = Warn

[indexer]
ISSUE_INDEXER_TYPE = db

[queue]
TYPE = channel

[session]
PROVIDER = memory

[picture]
DISABLE_GRAVATAR = true

[actions]
ENABLED = false

[cron]
ENABLED = false
`, dir, host, port, static, !c.Reuse, int(lifetime/time.Second))
}

// Where it is an authorization server, below its URL.
const (
	GiteaConsentPath = "/login/oauth/authorize"
	GiteaTokenPath   = "/login/oauth/access_token"
)

// Application registers an application that users come back from to one of the
// addresses, and returns its id and its secret.
func (g *GiteaServer) Application(tb testing.TB, redirect ...string) (id, secret string) {
	tb.Helper()
	made := g.Call(tb, "POST", "/api/v1/user/applications/oauth2", map[string]any{
		"name": "syncd", "redirect_uris": redirect, "confidential_client": true,
	}).Object(tb)
	return made.Text("client_id"), made.Text("client_secret")
}

// CreateRepository makes an empty repository.
func (g *GiteaServer) CreateRepository(tb testing.TB, name string) Object {
	tb.Helper()
	return g.Call(tb, "POST", "/api/v1/user/repos", map[string]any{"name": name}).Object(tb)
}

// CreateIssue opens an issue in a repository of the user.
func (g *GiteaServer) CreateIssue(tb testing.TB, repository, title string) Object {
	tb.Helper()
	return g.Call(tb, "POST", "/api/v1/repos/"+g.Username+"/"+repository+"/issues", map[string]any{"title": title}).Object(tb)
}

// LogIn fills in the form at which a browser has arrived that is to consent.
func (g *GiteaServer) LogIn() chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.SendKeys(chromedp.CSS("#user_name"), g.Username),
		chromedp.SendKeys(chromedp.CSS("#password"), g.Password),
		ClickThrough(`form[action="/user/login"] button.primary`),
	)
}

// Authorize says yes to what the application asks for.
func (g *GiteaServer) Authorize() chromedp.Action[chromedp.Void] {
	return ClickThrough("#authorize-app")
}

// Refuse says no.
func (g *GiteaServer) Refuse() chromedp.Action[chromedp.Void] {
	return ClickThrough(`form[action="/login/oauth/grant"] button[value="false"]`)
}

var giteaGrant = regexp.MustCompile(`/user/settings/applications/oauth2/[0-9]+/revoke/[0-9]+`)

// Withdraw takes back what the user has granted, all of it, as the user does in
// the settings.
func (g *GiteaServer) Withdraw(tb testing.TB) {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	session := *g.client
	session.Jar = jar
	user := Server{URL: g.URL, client: &session}
	if got, want := user.Ask(tb, "POST", "/user/login", url.Values{"user_name": {g.Username}, "password": {g.Password}}).Status, http.StatusSeeOther; got != want {
		tb.Fatalf("log in: status %d, want %d", got, want)
	}
	page := user.Call(tb, "GET", "/user/settings/applications", nil)
	grants := giteaGrant.FindAllString(string(page.Body), -1)
	if len(grants) == 0 {
		tb.Fatalf("there is no grant to withdraw in\n%s", page.Body)
	}
	for _, path := range grants {
		user.Call(tb, "POST", path, url.Values{})
	}
}
