package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/syncdhq/syncd/internal/outside"
	"github.com/syncdhq/syncd/internal/store"
)

// A desk is the source alice desk: a Gitea behind a toll, which alice connects
// with a browser.
type desk struct {
	*shell
	dir    string
	dsn    string
	listen string // where the browser comes back to
	gitea  *outside.GiteaServer
	toll   *toll
	page   context.Context // of the browser
}

var deskKey = store.Key{User: "alice", Provider: "desk"}

// newDesk starts a Gitea with two repositories and three issues, and
// configures syncd for it, with a store of SQLite if dsn is "". Nobody has consented yet.
func newDesk(t *testing.T, dsn string, config outside.GiteaConfig) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), dsn: dsn, listen: outside.FreeAddress(t), gitea: outside.Gitea(t, config)}
	if dsn == "" {
		d.dsn = "sqlite:" + filepath.Join(d.dir, "syncd.db")
	}
	d.page = outside.Browser(t)
	d.toll = newToll(t, d.gitea.URL, outside.GiteaTokenPath)
	d.gitea.CreateRepository(t, "one")
	d.gitea.CreateRepository(t, "two")
	for i, repository := range []string{"one", "one", "two"} {
		d.gitea.CreateIssue(t, repository, fmt.Sprintf("issue <ö> %d", i))
	}
	id, secret := d.gitea.Application(t, "http://"+d.listen+"/callback", "http://"+d.listen+"/connect/callback")
	provider, err := os.ReadFile(filepath.Join("..", "..", "providers", "gitea.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The provider file as it is, but for the way in.
	const key = `auth: { scheme: header, name: Authorization, prefix: "token " }`
	if !strings.Contains(string(provider), key) {
		t.Fatalf("providers/gitea.yaml has no %s", key)
	}
	writeFile(t, d.dir, "gitea.yaml", strings.Replace(string(provider), key,
		"auth: { scheme: oauth2, auth_url: "+d.gitea.URL+outside.GiteaConsentPath+", token_url: "+d.toll.URL+outside.GiteaTokenPath+" }", 1))
	d.shell = &shell{t, writeFile(t, d.dir, "syncd.yaml", fmt.Sprintf(`store: %q
keys: syncd.keys
lease: 2s
log: { format: text }
providers:
  desk:
    connector: ./gitea.yaml
    base_url: %s
    schedule: "@every 1s"
    oauth: { client_id: %s, client_secret: %s }
sources:
  - { user: alice, provider: desk }
`, d.dsn, d.toll.URL, id, secret))}
	d.run(0, "keys", "add")
	return d
}

var consentAddress = regexp.MustCompile(`http://\S+` + outside.GiteaConsentPath + `\S+`)

// connect has alice connect, which goes well.
func (d *desk) connect(steps ...chromedp.Action[chromedp.Void]) {
	d.t.Helper()
	said, shown, code := d.consent(steps...)
	if code != 0 {
		d.t.Fatalf("syncd connect: exit %d:\n%s", code, said)
	}
	d.has(said, "connected alice desk")
	d.has(shown, "Connected", "The account at desk is connected")
}

// consent runs syncd connect, which shows an address that the browser opens;
// the steps are what alice does there. It returns what syncd and the browser show.
func (d *desk) consent(steps ...chromedp.Action[chromedp.Void]) (said, shown string, code int) {
	d.t.Helper()
	p := start(d.t, "connect", "alice", "desk", "--no-browser", "--listen", d.listen, "--config", d.config)
	var address string
	p.until(time.Minute, "it shows an address", func() bool {
		address = consentAddress.FindString(p.output())
		return address != ""
	})
	ctx, cancel := context.WithTimeout(d.page, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, append([]chromedp.Action[chromedp.Void]{chromedp.Navigate(address)}, steps...)...); err != nil {
		d.t.Fatalf("the browser: %v; syncd said:\n%s", err, p.output())
	}
	shown, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("body")))
	if err != nil {
		d.t.Fatal(err)
	}
	code = p.ended(30 * time.Second)
	return p.output(), shown, code
}

// holds checks that the store has what Gitea itself lists, as Gitea spells it.
func (d *desk) holds(s store.Store) {
	d.t.Helper()
	got, want := map[string]string{}, map[string]string{}
	for _, r := range rows(d.t, s, deskKey, "") {
		got[r.id] = r.data
	}
	type listed struct {
		ID       int64
		FullName string `json:"full_name"`
	}
	add := func(prefix, path string) (all []listed) {
		body := d.gitea.Call(d.t, "GET", path, nil).Body
		var texts []json.RawMessage
		if err := errors.Join(json.Unmarshal(body, &texts), json.Unmarshal(body, &all)); err != nil {
			d.t.Fatal(err)
		}
		for i, one := range all {
			want[fmt.Sprintf("%s%d", prefix, one.ID)] = string(texts[i])
		}
		return all
	}
	for _, repository := range add("repositories/", "/api/v1/user/repos?limit=50") {
		add(fmt.Sprintf("issues/%d/", repository.ID), "/api/v1/repos/"+repository.FullName+"/issues?state=all&type=issues&limit=50")
	}
	if !maps.Equal(got, want) {
		d.t.Errorf("%d records, which are not the %d that Gitea lists:\n%v\n%v", len(got), len(want), got, want)
	}
}

// paused returns why the source is paused.
func (d *desk) paused() string {
	d.t.Helper()
	return paused(d.shell)
}

// paused returns why alice's only source is paused.
func paused(s *shell) string {
	s.t.Helper()
	var list []struct{ Paused []string }
	s.json(&list, "sources", "list", "alice")
	if len(list) != 1 {
		s.t.Fatalf("sources: %v", list)
	}
	return strings.Join(list[0].Paused, ", ")
}

// sealed checks that no token that was granted is in a file of the store, or in what was said.
func (d *desk) sealed(said string) {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.dir, "syncd.*"))
	if err != nil || len(files) < 3 {
		d.t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			d.t.Fatal(err)
		}
		said += string(content)
	}
	for _, granted := range d.toll.all() {
		if strings.Contains(said, granted.Access) || strings.Contains(said, granted.Refresh) {
			d.t.Error("a token shows")
		}
	}
}
