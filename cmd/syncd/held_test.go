package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/pgtest"
)

// While a provider is waited for, no transaction is open and no lock is held.
func TestNothingIsHeldWhileAProviderIsWaitedFor(t *testing.T) {
	dsn := pgtest.Database(t)
	g, url := newGate(t, true)
	p := start(t, "run", "--config", writeFile(t, t.TempDir(), "config.yaml", sampleConfig(dsn, url, "")))
	select {
	case <-g.waiting:
	case <-time.After(20 * time.Second):
		t.Fatalf("it never asked:\n%s", p.output())
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sample := time.NewTicker(50 * time.Millisecond)
	defer sample.Stop()
	for range 20 {
		<-sample.C
		var idle int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND now() - state_change > interval '100 ms'`).Scan(&idle)
		if err != nil || idle != 0 {
			t.Fatalf("%d transactions are open while the provider is waited for, %v", idle, err)
		}
	}
}

// With `listen:` the daemon says over HTTP whether it lives and works.
func TestHealth(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, url := newGate(t, false)
	cfg := "listen: " + address + "\n" + sampleConfig("sqlite:"+t.TempDir()+"/syncd.db", url, "")
	p := start(t, "run", "--config", writeFile(t, t.TempDir(), "config.yaml", cfg))
	p.says("syncd runs", 20*time.Second)
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != want {
			t.Errorf("%s: %s %q %v, want %s", path, resp.Status, body, err, want)
		}
	}
}
