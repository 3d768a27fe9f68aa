package cli

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/connectors"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// echo answers with all that it was sent, in the ways in which real servers do:
// in JSON, in a page, in a header, cut, as an OAuth error.
func (d *desk) echo(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what can't be parsed is echoed in part
	said := fmt.Sprintf("%v %v %v", r.URL, r.Header, r.Form)
	d.echoed++
	w.Header().Set("X-Echo", strings.NewReplacer("\n", " ", "\r", " ").Replace(said))
	switch d.echoed % 5 {
	case 0:
		w.WriteHeader(500)
		fmt.Fprintf(w, `{"message":%q}`, said)
	case 1:
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":"invalid_request","error_description":%q}`, said)
	case 2:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html>%s", said)
	case 3:
		w.WriteHeader(403)
		fmt.Fprintf(w, `{"error":%q,"token":%q`, said, said)
	case 4:
		fmt.Fprintf(w, `[{"id":1,"updated_at":%q},{"id":null,"said":%q}]`, said, said)
	}
}

// Canaries in every kind of credential show up nowhere, whatever goes wrong: not
// in what commands and the API say, not in the log, and not in the database
// outside the sealed column.
func TestCanaries(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.dir, "syncd.yaml")
	h.configure(`{ user: erin, provider: desk, credentials: { token: canary-configured } }, { user: frank, provider: safe, credentials: { token: canary-own-key } }`)
	if err := h.fleet.use(h.load()); err != nil {
		t.Fatal(err)
	}
	h.desk.expires = 1
	if got := h.connect(); got != "connected" { // tokens canary-access-1, canary-refresh-1
		t.Fatal(got)
	}
	h.want(h.ask("POST", "/v1/sources", `{"user":"bob","provider":"safe","credentials":{"token":"canary-key"}}`), 201)
	time.Sleep(1100 * time.Millisecond)

	var said strings.Builder
	run := func(args ...string) {
		var out bytes.Buffer
		Run(t.Context(), connectors.All, append(args, "--config", file), Streams{strings.NewReader("canary-typed-key\n"), &out, &out})
		said.Write(out.Bytes())
	}
	h.desk.mu.Lock()
	h.desk.echoes = true
	h.desk.mu.Unlock()
	for range 10 { // each way of echoing, at each place that is asked
		h.sync()
		for _, key := range []store.Key{{User: "alice", Provider: "desk"}, {User: "bob", Provider: "safe"}, {User: "erin", Provider: "desk"}, {User: "frank", Provider: "safe"}} {
			run("sync", key.User, key.Provider)
			run("connectors", "try", key.User, key.Provider)
		}
		run("connect", "bob", "safe")
		r := h.ask("PUT", "/v1/sources/bob/safe/credentials", `{"token":"canary-other-key"}`)
		said.WriteString(r.body)
		id, link := h.begin(`{"user":"carol","provider":"desk"}`)
		b := browser(t)
		_, consent, _ := h.visit(b, "POST", link, "")
		state := consent[strings.Index(consent, "state=")+6:]
		state, _, _ = strings.Cut(state, "&")
		h.visit(b, "GET", h.url+"/connect/callback?code=canary-code&state="+state, "")
		said.WriteString(h.ask("GET", "/v1/connect-sessions/"+id, "").body)
		_, link = h.begin(`{"user":"dave","provider":"safe"}`)
		h.visit(browser(t), "POST", link, "token=canary-page-key")
		run("sync", "alice", "desk", "--record", filepath.Join(h.dir, "recording.json"), "--force")
	}
	h.fleet.keepAlive(t.Context())
	for _, args := range [][]string{
		{"status"}, {"status", "-o", "json"}, {"why", "alice", "desk"}, {"sources", "list", "-o", "json"}, {"runs", "list", "-o", "json"},
		{"rejects", "list", "-o", "json"}, {"keys", "list"}, {"check"}, {"disconnect", "alice", "desk"}, {"sources", "remove", "bob", "safe", "--purge", "--yes"},
	} {
		run(args...)
	}
	said.WriteString(h.ask("GET", "/v1/events", "").body + h.ask("GET", "/v1/sources", "").body)
	search(t, "what commands and the API say", said.String())
	search(t, "the log", h.log.String())
	recorded, err := os.ReadFile(filepath.Join(h.dir, "recording.json"))
	if err == nil {
		search(t, "a recording", string(recorded))
	}
	dump := everythingStored(t, filepath.Join(h.dir, "syncd.db"))
	search(t, "the database", dump)
	if !strings.Contains(dump, "alice") || h.desk.echoed < 50 {
		t.Errorf("%d echoes, and the database holds %d bytes: nothing was tried", h.desk.echoed, len(dump))
	}
	keys, err := os.ReadFile(filepath.Join(h.dir, "syncd.keys"))
	if err != nil {
		t.Fatal(err)
	}
	_, master, _ := strings.Cut(string(keys[bytes.LastIndexByte(bytes.TrimSpace(keys), '\n')+1:]), ":")
	if master = strings.TrimSpace(master); len(master) < 40 || strings.Contains(said.String()+h.log.String()+dump, master) {
		t.Error("the master key shows")
	}
}

// search fails the test if a canary shows.
func search(t *testing.T, where, text string) {
	t.Helper()
	if i := strings.Index(text, "canary"); i >= 0 {
		t.Errorf("%s shows a secret: ...%q", where, text[max(0, i-200):min(len(text), i+60)])
	}
}

// everythingStored returns every value of every table, but for what is sealed
// and the records themselves: what a provider puts there is the user's data.
func everythingStored(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, query := range []string{
		"SELECT user_id, provider, kind, key_id, identity, refused, refresher FROM credentials", "SELECT * FROM sources", "SELECT * FROM cursors", "SELECT * FROM runs",
		"SELECT * FROM events", "SELECT * FROM memos", "SELECT * FROM changes", "SELECT reason, detail, place FROM rejects", "SELECT * FROM schema_migrations",
	} {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				fmt.Fprintf(&out, "%s=%s ", columns[i], *v.(*any))
			}
			out.WriteByte('\n')
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// What holds a secret does not print it, in any way of printing, panics included.
func TestNothingPrintsItself(t *testing.T) {
	secret := vault.NewSecret("canary")
	connection := account.Connection{Token: oauth.Token{Access: secret, Refresh: secret}, Secrets: map[string]vault.Secret{"token": secret}}
	app := oauth.App{ClientSecret: secret}
	f := newHost(t).fleet
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("all", "connection", connection, "app", app, "client", f.authorizer(f.config().Providers["desk"], ""))
	for _, v := range []any{connection, &connection, app, f.config().API, f.config().Providers["desk"].OAuth, f.authorizer(f.config().Providers["desk"], ""), signing{credentials: connection.Secrets, tokens: fixed{secret}}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&log, verb, v)
		}
		func() {
			defer func() { fmt.Fprint(&log, recover()) }()
			panic(fmt.Sprint(v))
		}()
	}
	search(t, "what is printed", log.String())
	if !strings.Contains(log.String(), "[secret]") {
		t.Error("nothing was printed")
	}
}
