package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/syncdhq/syncd/internal/outside"
)

// A user types an API key into the page behind a link, wrongly at first, and is
// back in the application.
func TestAKeyIsGivenInABrowser(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "right-"+canary {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `[{"id":1},{"id":2}]`)
	}))
	defer provider.Close()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<h1 id=welcome>Welcome back: %s</h1>", r.URL.Query().Get("syncd_status"))
	}))
	defer app.Close()
	page := outside.Browser(t)
	at := outside.FreeAddress(t)
	dir := t.TempDir()
	writeFile(t, dir, "safe.yaml", "base_url: "+provider.URL+"\nauth: { scheme: header, name: X-Key }\nstreams: { things: { path: /things } }\n")
	file := writeFile(t, dir, "syncd.yaml", fmt.Sprintf(`store: sqlite:syncd.db
listen: %[1]s
api: { url: "http://%[1]s", tokens: [an-application-of-the-tests], return_to: [%[2]q] }
log: { format: text }
providers: { safe: { connector: ./safe.yaml, schedule: "@daily" } }
sources: []
`, at, app.URL))
	p := start(t, "run", "--config", file)
	var session struct{ Link string }
	answer := call(t, "POST", "http://"+at+"/v1/connect-sessions", fmt.Sprintf(`{"user":"bob","provider":"safe","return_to":%q}`, app.URL), 201)
	if err := json.Unmarshal([]byte(answer), &session); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(page, time.Minute)
	defer cancel()
	text := func(selector string) string {
		t.Helper()
		shown, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
		if err != nil {
			t.Fatalf("the browser: %v; the daemon said:\n%s", err, p.output())
		}
		return shown
	}
	give := func(key string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS("input[name=token]"), key), outside.ClickThrough("#go")); err != nil {
			t.Fatalf("the browser: %v; the daemon said:\n%s", err, p.output())
		}
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(session.Link)); err != nil {
		t.Fatal(err)
	}
	give("wrong-" + canary)
	s := &shell{t, file}
	s.has(text(".wrong"), "safe does not accept it")
	if folder := os.Getenv("SYNCD_SCREENSHOTS"); folder != "" {
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, folder, "key.png", string(picture))
	}
	give("right-" + canary)
	s.has(text("#welcome"), "Welcome back: connected")
	p.says("bob safe: 2 inserted", time.Minute)
}
