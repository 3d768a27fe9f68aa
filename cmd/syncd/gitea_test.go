package main

import (
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/outside"
	"github.com/syncdhq/syncd/internal/store"
)

// A user consents in a browser at a server that others wrote, and the daemon
// reads it for as long as it likes, though no token lasts and each refresh
// token is good once.
func TestGiteaIsConnectedAndSynced(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", outside.GiteaConfig{Lifetime: 5 * time.Second})
	said, shown, code := d.consent(d.gitea.LogIn(), d.gitea.Refuse())
	if code != 1 {
		t.Errorf("syncd connect, where the user says no: exit %d", code)
	}
	d.has(said, "the provider desk says access_denied")
	d.has(shown, "The account is not connected", "the provider desk says access_denied")
	d.connect(d.gitea.Authorize())
	said += d.run(0, "sync", "alice", "desk")
	d.has(said, "5 inserted")
	s := open(t, d.dsn)
	d.holds(s)

	p := start(t, "run", "--config", d.config)
	p.until(time.Minute, "two tokens more", func() bool { return len(d.toll.all()) >= 3 })
	d.gitea.CreateIssue(t, "two", "late")
	p.until(time.Minute, "what is new is there", func() bool { return total(runs(t, s)).Inserted == 6 })
	p.signal(os.Interrupt)
	p.ended(30 * time.Second)
	d.run(0, "sync", "alice", "desk") // the signal may have cut a run short
	d.holds(s)
	seen := map[string]bool{}
	for _, granted := range d.toll.all() {
		if seen[granted.Refresh] {
			t.Error("a refresh token was granted twice: Gitea does not rotate them")
		}
		seen[granted.Refresh] = true
	}
	if asked, got := d.toll.asked(), len(seen)-1; asked != got {
		t.Errorf("%d refreshes were asked for and %d granted", asked, got)
	}
	for _, r := range runs(t, s) {
		if r.State != store.Done && r.State != store.Partial {
			t.Errorf("run %s is %s: %s", r.ID, r.State, r.Error)
		}
	}
	d.sealed(said + p.output() + d.run(0, "runs", "list", "-o", "json"))
}

// Where the user withdraws the grant at the server, the source is paused and
// says so, and nobody asks the server any more, until the user connects again.
func TestGiteaGrantIsWithdrawn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", outside.GiteaConfig{})
	d.connect(d.gitea.LogIn(), d.gitea.Authorize())
	d.has(d.run(0, "sync", "alice", "desk"), "5 inserted")
	d.gitea.Withdraw(t)
	d.has(d.run(1, "sync", "alice", "desk"), "alice desk must be connected again (invalid_grant): syncd connect alice desk")
	if got, want := d.paused(), "auth"; got != want {
		t.Errorf("paused: got %q, want %q", got, want)
	}
	asked := d.toll.asked()
	if asked != 1 {
		t.Errorf("%d refreshes were asked for, want 1", asked)
	}
	for range 3 {
		d.has(d.run(1, "sync", "alice", "desk"), "must be connected again (invalid_grant)")
	}
	p := start(t, "run", "--config", d.config)
	p.says("there is no source that is not paused", time.Minute)
	select {
	case <-time.After(3 * time.Second): // three times its schedule
	case <-p.done:
		t.Fatalf("the daemon ended:\n%s", p.output())
	}
	if got := d.toll.asked(); got != asked {
		t.Errorf("a grant that is no more was asked for %d times more", got-asked)
	}
	// While the daemon runs, which goes on with it.
	d.gitea.CreateIssue(t, "one", "after")
	d.connect(d.gitea.Authorize())
	s := open(t, d.dsn)
	p.until(time.Minute, "what is new is there", func() bool { return total(runs(t, s)).Inserted == 6 })
	p.signal(os.Interrupt)
	p.ended(30 * time.Second)
	d.run(0, "sync", "alice", "desk") // the signal may have cut a run short
	d.holds(s)
	if got := d.paused(); strings.Contains(got, "auth") {
		t.Errorf("paused: got %q, want nothing", got)
	}
	d.sealed(p.output())
}

// Where Gitea cannot write to its database it answers invalid_grant, though the
// grant is as good as before. That costs a run, not the account.
func TestGiteaThatCannotWrite(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", outside.GiteaConfig{})
	d.connect(d.gitea.LogIn(), d.gitea.Authorize())
	d.has(d.run(0, "sync", "alice", "desk"), "5 inserted")
	d.toll.refuseAll()
	db, err := sql.Open("sqlite", d.gitea.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	// Another writer, which takes its time.
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	said := d.run(1, "sync", "alice", "desk", "--stream", "repositories")
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	d.has(said, "refresh the token of alice desk: the token endpoint is not available (400 invalid_grant): cannot increase the grant counter")
	if got := d.paused(); got != "" {
		t.Errorf("paused: %s", got)
	}
	d.run(0, "sync", "alice", "desk")
	if got, want := d.toll.asked(), 2; got != want {
		t.Errorf("%d refreshes were asked for, want %d", got, want)
	}
	d.holds(open(t, d.dsn))
}

// Where the connection breaks after Gitea has rotated the token, the account is
// lost, as nobody has the new one. The reason says so.
func TestGiteaAnswerThatDidNotArrive(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", outside.GiteaConfig{})
	d.connect(d.gitea.LogIn(), d.gitea.Authorize())
	d.has(d.run(0, "sync", "alice", "desk"), "5 inserted")
	d.toll.refuseAll()
	d.toll.set(hooks{refresh: func(pass func() answer) answer {
		pass()
		return answer{}
	}})
	d.has(d.run(1, "sync", "alice", "desk", "--stream", "repositories"), "refresh the token of alice desk: the token endpoint is not available: no answer")
	if got := d.paused(); got != "" {
		t.Errorf("paused: %s", got)
	}
	d.toll.set(hooks{})
	d.has(d.run(1, "sync", "alice", "desk"), "alice desk must be connected again (unauthorized_client; "+
		"the answer to the refresh before was lost, and the provider does not take the old token again)")
	d.connect()
	d.run(0, "sync", "alice", "desk")
	d.holds(open(t, d.dsn))
}
