package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

// connect connects alice's account at the desk as a browser does.
func (h *host) connect() (status string) {
	h.Helper()
	id, link := h.begin(`{"user":"alice","provider":"desk"}`)
	b := browser(h.T)
	_, consent, _ := h.visit(b, "POST", link, "")
	_, back, _ := h.visit(b, "GET", consent, "")
	h.visit(b, "GET", back, "")
	return h.want(h.ask("GET", "/v1/connect-sessions/"+id, ""), 200).field["status"].(string)
}

// sync claims what is due and runs it, as a daemon's scheduler would once.
func (h *host) sync() map[store.Key]scheduler.Result {
	h.Helper()
	claims, err := h.store.Claim(h.Context(), "test", 10, time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	out := map[store.Key]scheduler.Result{}
	for _, c := range claims {
		entry, ok := h.fleet.Entry(c.Key, c.Declared)
		if !ok {
			h.Fatalf("no entry for %s", c.Key)
		}
		s := &scheduler.Scheduler{Store: h.store, Table: h.fleet, Keeper: scheduler.NewKeeper(h.store, time.Minute), Owner: "test", Workers: 1, TTL: time.Minute, Log: h.fleet.log}
		ctx, cancel := context.WithCancel(h.Context())
		go s.Keeper.Run(ctx)
		task := scheduler.Task{Claim: c, Plan: entry.Plan(c, time.Time{}), Run: scheduler.NewRun(c, entry.Plan(c, time.Time{}), "test")}
		out[c.Key] = s.Do(ctx, nil, entry, task, time.Now())
		cancel()
	}
	return out
}

func (h *host) events(user string) string {
	h.Helper()
	rows, err := h.store.Events(h.Context(), store.EventFilter{User: user})
	if err != nil {
		h.Fatal(err)
	}
	var kinds []string
	for _, e := range slices.Backward(rows) {
		kinds = append(kinds, e.Kind)
	}
	return strings.Join(kinds, " ")
}

// A user who connects another account stops the source until somebody says what
// is to become of the records; the former account lifts that, too.
func TestAnotherAccountIsConnected(t *testing.T) {
	for _, end := range []string{"keep", "purge", "the former account"} {
		t.Run(end, func(t *testing.T) {
			h := newHost(t)
			key := store.Key{User: "alice", Provider: "desk"}
			h.desk.who = 1
			if got := h.connect(); got != "connected" {
				t.Fatalf("first: %s", got)
			}
			if r := h.sync()[key]; r.State != store.Done {
				t.Fatalf("first run: %+v", r)
			}
			if got := h.source("alice", "desk").Account; got != "1" {
				t.Fatalf("account %q", got)
			}
			h.desk.who = 2
			if got := h.connect(); got != "account_changed" {
				t.Fatalf("another account: %s", got)
			}
			src := h.source("alice", "desk")
			if !slices.Equal(src.Paused, []string{store.PausedAccount}) || src.Account != "1" {
				t.Fatalf("paused %v, account %s", src.Paused, src.Account)
			}
			if len(h.sync()) != 0 {
				t.Error("it is run")
			}
			// By hand neither: the token of the other account is not used.
			session := h.fleet.book.Session(key, h.fleet.authorizer(h.fleet.config().Providers["desk"], ""), h.fleet.terms(h.fleet.config().Providers["desk"], src.Account))
			if _, err := session.Token(t.Context()); err == nil {
				t.Error("the other account's token is given out")
			} else if _, other := errors.AsType[*account.AccountError](err); !other {
				t.Error(err)
			}
			h.want(h.ask("POST", "/v1/sources/alice/desk/resume", `{"reason":"auth"}`), 200, "account_changed") // the others stay
			want, events := "2", "connected account_changed account_confirmed"
			switch end {
			case "the former account":
				h.desk.who = 1
				if got := h.connect(); got != "connected" {
					t.Fatalf("the former account: %s", got)
				}
				want, events = "1", "connected account_changed connected"
			default:
				h.want(h.ask("POST", "/v1/sources/alice/desk/confirm", `{"records":"`+end+`"}`), 200, `"paused":[]`, `"account":"2"`)
				h.want(h.ask("POST", "/v1/sources/alice/desk/confirm", `{"records":"`+end+`"}`), 422, "nothing to confirm")
			}
			counts, err := h.store.Count(t.Context(), key)
			if err != nil || (end == "purge") != (len(counts) == 0) {
				t.Errorf("records %v, %v", counts, err)
			}
			if got := h.source("alice", "desk").Account; got != want {
				t.Errorf("account %s, want %s", got, want)
			}
			if got := h.events("alice"); got != events {
				t.Errorf("events %s, want %s", got, events)
			}
			if r := h.sync()[key]; r.State != store.Done {
				t.Errorf("the next run: %+v", r)
			}
		})
	}
}

// What needs the user is one event, one line in why, and no more requests.
func TestTheUserIsNeeded(t *testing.T) {
	h := newHost(t)
	key := store.Key{User: "alice", Provider: "desk"}
	h.desk.expires = 1
	if got := h.connect(); got != "connected" {
		t.Fatal(got)
	}
	h.desk.mu.Lock()
	h.desk.denies = true
	h.desk.mu.Unlock()
	time.Sleep(1100 * time.Millisecond) // the desk's clock is real
	if r := h.sync()[key]; r.State != store.Failed || !strings.Contains(r.Error, "must be connected again (invalid_grant)") {
		t.Errorf("run %+v", r)
	}
	if src := h.source("alice", "desk"); !slices.Equal(src.Paused, []string{store.PausedAuth}) {
		t.Errorf("paused %v", src.Paused)
	}
	if len(h.sync()) != 0 {
		t.Error("it is run again")
	}
	if got := h.events("alice"); got != "connected needs_reauth" {
		t.Errorf("events %s", got)
	}
	h.desk.mu.Lock()
	h.desk.denies = false
	h.desk.mu.Unlock()
	if _, err := h.store.Pause(t.Context(), key, store.PausedOperator); err != nil {
		t.Fatal(err)
	}
	if got := h.connect(); got != "connected" {
		t.Fatal(got)
	}
	if src := h.source("alice", "desk"); !slices.Equal(src.Paused, []string{store.PausedOperator}) {
		t.Errorf("connecting again clears more than auth: %v", src.Paused)
	}
}

// A wrong client secret is one alarm, of the provider, and costs nobody's account.
func TestOneAlarmForTheProvider(t *testing.T) {
	h := newHost(t)
	key := store.Key{User: "alice", Provider: "desk"}
	h.desk.expires = 1
	h.connect()
	time.Sleep(1100 * time.Millisecond)
	h.fleet.config().Providers["desk"].OAuth.ClientSecret = secretOf("canary-wrong")
	for range 3 {
		if r := h.sync()[key]; r.State != store.Failed || !strings.Contains(r.Error, "registration is refused") {
			t.Errorf("run %+v", r)
		}
		now, err := h.store.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store.Reschedule(t.Context(), key, now, now); err != nil {
			t.Fatal(err)
		}
	}
	if src := h.source("alice", "desk"); len(src.Paused) > 0 || h.events("alice") != "connected" {
		t.Errorf("paused %v, events %s", src.Paused, h.events("alice"))
	}
	log := h.log.String()
	if n := strings.Count(log, "the provider refuses the application"); n != 1 || strings.Contains(log, "canary") {
		t.Errorf("%d alarms in %s", n, log)
	}
	h.fleet.config().Providers["desk"].OAuth.ClientSecret = secretOf("canary-client")
	if r := h.sync()[key]; r.State != store.Done || !strings.Contains(h.log.String(), "takes the application again") {
		t.Errorf("mended: %+v, %s", r, h.log.String())
	}
}

// An account that nobody syncs is kept alive by the daemon, also while its source
// is paused.
func TestUpkeep(t *testing.T) {
	h := newHost(t)
	key := store.Key{User: "alice", Provider: "desk"}
	h.fleet.config().Providers["desk"].OAuth.KeepAlive = time.Millisecond
	h.connect()
	if _, err := h.store.Pause(t.Context(), key, store.PausedOperator); err != nil {
		t.Fatal(err)
	}
	before := h.desk.n
	time.Sleep(5 * time.Millisecond)
	h.fleet.keepAlive(t.Context())
	if h.desk.n != before+1 {
		t.Errorf("%d tokens, want %d", h.desk.n, before+1)
	}
	h.desk.denies = true
	time.Sleep(5 * time.Millisecond)
	h.fleet.keepAlive(t.Context())
	h.fleet.keepAlive(t.Context())
	if src := h.source("alice", "desk"); !slices.Equal(src.Paused, []string{store.PausedAuth, store.PausedOperator}) || h.events("alice") != "connected needs_reauth" {
		t.Errorf("paused %v, events %s", src.Paused, h.events("alice"))
	}
}

// With the application's own credentials no user consents: sources are run as
// they are, in the configuration and added at run time.
func TestTheApplicationItself(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.dir, "syncd.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "client_secret: canary-client }", "client_secret: canary-client, grant: client_credentials, client_auth: body }", 1)
	changed = strings.Replace(changed, "sources: []", "sources: [{ user: bob, provider: desk }]", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.fleet.use(h.load()); err != nil {
		t.Fatal(err)
	}
	h.want(h.ask("POST", "/v1/sources", `{"user":"alice","provider":"desk"}`), 201, `"paused":[]`)
	h.want(h.ask("POST", "/v1/connect-sessions", `{"user":"alice","provider":"desk"}`), 409, "nothing_to_connect")
	key := store.Key{User: "alice", Provider: "desk"}
	h.desk.expires = 1
	for range 2 {
		if r := h.sync()[key]; r.State != store.Done {
			t.Fatalf("run %+v", r)
		}
		time.Sleep(1100 * time.Millisecond)
		now, err := h.store.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store.Reschedule(t.Context(), key, now, now); err != nil {
			t.Fatal(err)
		}
	}
	if h.desk.n != 2 {
		t.Errorf("%d tokens, want 2", h.desk.n)
	}
	contains(t, syncdIn(t, exitDone, "sync", "bob", "desk", "--config", file), "1 inserted")
	contains(t, syncdIn(t, exitDone, "connect", "bob", "desk", "--config", file), "connected bob desk")
}
