package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/syncdhq/syncd/internal/outside"
	"github.com/syncdhq/syncd/internal/store"
)

// An application makes a link; its user follows it in a browser, consents at a
// server that others wrote, and is back in the application: the source is there,
// and a daemon has run it.
func TestALinkIsFollowed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", outside.GiteaConfig{})
	backAt := make(chan url.Values, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/settings" {
			backAt <- r.URL.Query()
		}
		fmt.Fprintf(w, "<h1 id=welcome>Welcome back from %s</h1>", r.Referer())
	}))
	defer app.Close()
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	serving := writeFile(t, d.dir, "serving.yaml", fmt.Sprintf("listen: %[1]s\napi: { url: \"http://%[1]s\", tokens: [an-application-of-the-tests], return_to: [%[2]q] }\n%[3]s", d.listen, app.URL, text))
	p := start(t, "run", "--config", serving)
	api := "http://" + d.listen + "/v1/"
	var session struct{ ID, Link, Status string }
	answer := call(t, "POST", api+"connect-sessions", fmt.Sprintf(`{"user":"bob","provider":"desk","return_to":%q}`, app.URL+"/settings"), 201)
	if err := json.Unmarshal([]byte(answer), &session); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(d.page, time.Minute)
	defer cancel()
	show := func(name string) {
		if folder := os.Getenv("SYNCD_SCREENSHOTS"); folder != "" {
			picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, folder, name+".png", string(picture))
		}
	}
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("the browser: %v; the daemon said:\n%s", err, p.output())
		}
	}
	do(chromedp.Navigate(session.Link))
	show("invitation")
	do(outside.ClickThrough("#go"), d.gitea.LogIn(), d.gitea.Authorize())
	shown, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("#welcome"))) // the browser goes on by itself
	if err != nil {
		t.Fatal(err)
	}
	d.has(shown, "Welcome back")
	if strings.Contains(shown, "connect") {
		t.Errorf("the application was told where its user comes from: %s", shown)
	}
	select {
	case q := <-backAt:
		if q.Get("syncd_session") != session.ID || q.Get("syncd_status") != "connected" {
			t.Errorf("back with %v", q)
		}
	default:
		t.Error("the user is not back in the application")
	}
	d.has(call(t, "GET", api+"connect-sessions/"+session.ID, "", 200), `"status":"connected"`)
	p.says("bob desk: 5 inserted", time.Minute)
	d.has(call(t, "GET", api+"sources/bob/desk", "", 200), `"added":true`, `"account":"1"`)
	do(chromedp.Navigate(session.Link))
	show("afterwards")
	shown, err = chromedp.Run(ctx, chromedp.Text(chromedp.CSS("body")))
	if err != nil {
		t.Fatal(err)
	}
	d.has(shown, "Your account at desk is connected")
	s := open(t, d.dsn)
	bob := store.Key{User: "bob", Provider: "desk"}
	if got := len(rows(t, s, bob, "")); got != 5 {
		t.Errorf("%d records of bob, want 5", got)
	}
	d.has(call(t, "POST", api+"sources/bob/desk/disconnect", `{"records":"purge"}`, 200), "its records are deleted")
	if got := len(rows(t, s, bob, "")); got != 0 {
		t.Errorf("%d records of bob are left", got)
	}
	logged := p.output()
	for _, secret := range []string{session.Link, filepath.Base(session.Link), "code="} {
		if strings.Contains(logged, secret) {
			t.Errorf("the log shows %s", secret)
		}
	}
	d.sealed(logged)
}
