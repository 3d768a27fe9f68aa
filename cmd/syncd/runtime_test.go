package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// call asks a daemon's API, and waits until there is one.
func call(t *testing.T, method, url, body string, status int) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer an-application-of-the-tests")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil && time.Now().Before(deadline) {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s %s: %d %s, %v, want %d", method, url, resp.StatusCode, text, err, status)
		}
		return string(text)
	}
}

// A source that is added by the API of one daemon is run by any, beside those of
// the configuration, with the schedule that it has or its provider comes to have;
// a reload leaves it alone, and it can be taken away.
func TestSourcesAtRunTime(t *testing.T) {
	onEachStore(t, func(t *testing.T, dsn string) {
		dir, at := t.TempDir(), freeAddress(t)
		_, url := newGate(t, false)
		text := sampleConfig(dsn, url, "")
		file := writeFile(t, dir, "config.yaml", text)
		serving := writeFile(t, dir, "serving.yaml", "listen: "+at+"\napi: { tokens: [an-application-of-the-tests] }\n"+text)
		one := start(t, "run", "--config", serving)
		api := "http://" + at + "/v1/sources"
		call(t, "POST", api, `{"user":"carol","provider":"shop"}`, 201)
		one.says("carol shop: ", 30*time.Second)
		call(t, "POST", api, `{"user":"alice","provider":"shop"}`, 409)

		s := open(t, dsn)
		carol := store.Key{User: "carol", Provider: "shop"}
		count := func() (n int) {
			for _, r := range runs(t, s) {
				if r.Key == carol && r.State == store.Done {
					n++
				}
			}
			return n
		}
		one.until(30*time.Second, "carol's run is closed", func() bool { return count() == 1 })

		// Another daemon, whose configuration has no word of carol, goes on.
		one.signal(syscall.SIGTERM)
		one.ended(30 * time.Second)
		two := start(t, "run", "--config", file)
		two.says("look around with", 30*time.Second)
		writeFile(t, dir, "config.yaml", strings.Replace(text, "@every 1h", "@every 1s", 1))
		two.signal(syscall.SIGHUP)
		two.until(30*time.Second, "carol follows the schedule of the provider", func() bool { return count() > 2 })
		if got := len(rows(t, s, carol, "customers/")); got == 0 {
			t.Error("carol has no records")
		}

		// A provider that is gone costs the source nothing but its runs.
		writeFile(t, dir, "config.yaml", strings.ReplaceAll(strings.Replace(text, "@every 1h", "@every 1s", 1), "shop", "mart"))
		two.signal(syscall.SIGHUP)
		two.says("was added at run time, and does not fit the configuration", 30*time.Second)
		out, code := runCommand(t, "why", "carol", "shop", "--config", file)
		if code != 0 || !strings.Contains(out, `"shop" is not among the providers`) {
			t.Errorf("why: %d %s", code, out)
		}
		writeFile(t, dir, "config.yaml", strings.Replace(text, "@every 1h", "@every 1s", 1))
		two.signal(syscall.SIGHUP)
		before := count()
		two.until(90*time.Second, "carol is run again", func() bool { return count() > before })

		for {
			out, code = runCommand(t, "sources", "remove", "carol", "shop", "--purge", "--yes", "--config", file)
			if code == 0 || !strings.Contains(out, "is being run") {
				break
			}
		}
		if code != 0 {
			t.Fatalf("remove: %d %s", code, out)
		}
		for _, src := range sources(t, s) {
			if src.Key == carol {
				t.Errorf("carol is there still: %+v", src)
			}
		}
		if n := count(); n != 0 {
			t.Errorf("%d runs are left", n)
		}
	})
}
