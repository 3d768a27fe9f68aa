package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canary is a secret that must show up nowhere.
const canary = "canary-5f1d2c7e9a"

// Whatever a provider answers, a source's credentials are in no output and in
// no file of the store.
func TestSecretsAppearNowhere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header, r.URL), canary) {
			t.Errorf("another host was sent the secret: %v %v", r.URL, r.Header)
		}
		fmt.Fprint(w, "[]")
	}))
	defer other.Close()
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":"you sent %s"}`, r.Header.Get("Authorization"))
		}
	}
	answers := map[string]http.HandlerFunc{
		"unauthorized": echo(401),
		"forbidden":    echo(403),
		"not found":    echo(404),
		"broken":       echo(501),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?access_token="+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), http.StatusFound)
		},
		"a page of HTML": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<html>%s</html>", r.Header.Get("Authorization"))
		},
		"not JSON": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `[{"id":1 %s}]`, r.Header.Get("Authorization"))
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			searchFor(t, server.URL, 1)
		})
	}
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		searchFor(t, "http://"+l.Addr().String(), 1)
	})
}

// searchFor syncs a source against base and searches all that it left behind.
func searchFor(t *testing.T, base string, want int) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TOKEN", canary)
	cfg := writeFile(t, dir, "config.yaml", fmt.Sprintf(`store: sqlite:syncd.db
log: { level: debug, format: text }
limits: { inline_wait: 0s }
providers:
  hub: { connector: github, schedule: "@hourly", base_url: %s }
sources:
  - { user: alice, provider: hub, options: { repo: a/b, streams: [issues] }, credentials: { token: "${TOKEN}" } }
`, base))
	said, code := runCommand(t, "sync", "alice", "hub", "--config", cfg)
	if code != want && code != 0 {
		t.Errorf("exit code %d, want %d or 0:\n%s", code, want, said)
	}
	for _, args := range [][]string{{"runs", "list"}, {"status"}, {"sources", "list", "-o", "json"}, {"check"}, {"rejects", "list", "-o", "json"}, {"runs", "list", "-o", "json"}} {
		out, _ := runCommand(t, append(args, "--config", cfg)...)
		said += out
	}
	files, err := filepath.Glob(filepath.Join(dir, "syncd.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the store, %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		said += string(b)
	}
	if i := strings.Index(said, canary); i >= 0 {
		t.Errorf("the secret shows: ...%q", said[max(0, i-120):min(len(said), i+60)])
	}
}
