package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/web"
)

func TestSourcesAdd(t *testing.T) {
	w := newWorld(t, providers+sources)
	contains(t, w.run(exitDone, "sources", "add", "dave", "desk", "--option", "size=30", "--schedule", "@every 7m"), "added dave desk: not paused, due now")
	contains(t, w.run(exitDone, "sources", "list", "dave"), "dave", "desk", "added", "@every 7m")
	contains(t, w.run(exitDone, "next", "dave", "desk"), "6m", "13m", "20m")
	contains(t, w.run(exitDone, "sync", "dave", "desk", "--stream", "customers"), "inserted")
	contains(t, w.run(exitDone, "sources", "add", "dave", "desk", "--json", `{"options": {"size": 40}, "timezone": "Asia/Tokyo"}`), "changed dave desk")
	var rows []web.Source
	w.json(&rows, "sources", "list", "dave")
	if len(rows) != 1 || !rows[0].Added || !strings.HasPrefix(rows[0].Schedule, "@every 10m") {
		t.Errorf("got %+v", rows)
	}
	contains(t, w.run(exitFailed, "sources", "add", "alice", "shop"), "is in the configuration", "change it there")
	for args, want := range map[string]string{
		"dave nothing":                   `"nothing" is not among the providers`,
		"dave desk --option sise=1":      "did you mean size",
		"dave desk --option size":        "write it as NAME=VALUE",
		"dave desk --json []":            "is no JSON object",
		"dave desk --schedule 0_0_30_2_": "schedule",
	} {
		contains(t, w.run(exitUsage, append([]string{"sources", "add"}, strings.Fields(args)...)...), want)
	}
	contains(t, w.run(exitUsage, "sources", "add", "dave", "desk", "--option", "size=30", "--json", `{"options":{}}`), "leave --option away")
	contains(t, w.run(exitUsage, "sources", "confirm", "dave", "desk"), "--records keep or --records purge")
	contains(t, w.run(exitUsage, "sources", "confirm", "dave", "desk", "--records", "keep"), "nothing to confirm")
	contains(t, w.run(exitDone, "sources", "remove", "dave", "desk", "--purge", "--yes"), "its records are deleted")
	contains(t, w.run(exitFailed, "sync", "dave", "desk"), "there is no source dave desk")
}

// An API key is typed, tried and kept; and given back.
func TestConnectByKey(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.dir, "syncd.yaml")
	run := func(code int, typed string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := Run(t.Context(), connectors.All, append(args, "--config", file), Streams{strings.NewReader(typed), &out, &out}); got != code {
			t.Fatalf("%s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, out.String())
		}
		search(t, "what is said", out.String())
		return out.String()
	}
	contains(t, run(exitDone, "", "sources", "add", "alice", "safe"), "added alice safe: paused: auth", "syncd connect alice safe")
	contains(t, run(exitDone, "", "why", "alice", "safe"), "waits for its user to connect", "syncd connect alice safe")
	contains(t, run(exitUsage, "", "connect", "alice", "safe"), "there is no token")
	contains(t, run(exitFailed, "canary-wrong\n", "connect", "alice", "safe"), "refuses it, so it was not kept")
	contains(t, run(exitDone, "canary-key", "connect", "alice", "safe"), "connected alice safe")
	contains(t, run(exitDone, "", "sync", "alice", "safe"), "1 inserted")
	contains(t, run(exitDone, "", "connectors", "try", "alice", "safe"), "1 record")
	contains(t, run(exitDone, "", "disconnect", "alice", "safe", "--records", "purge"), "its key is deleted", "its records are deleted")
	contains(t, run(exitFailed, "", "sync", "alice", "safe"), "must be connected again (it is not connected)")
	contains(t, run(exitUsage, "", "connect", "alice", "safe"), "there is no token")
	contains(t, run(exitUsage, "", "disconnect", "alice", "safe", "--records", "all"), "it is keep or purge")
}
