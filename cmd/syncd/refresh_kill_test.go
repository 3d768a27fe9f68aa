package main

import (
	"bytes"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/outside"
	"github.com/syncdhq/syncd/internal/store"
)

// How often syncd is killed on each store.
const refreshKills = 25

// Killed at a random moment between the answer of the token endpoint and the
// first use of what it granted, time and again, syncd goes on with the account.
// It says that the account is lost, and why, only where Gitea had rotated the
// token and the answer was not stored.
func TestKilledBetweenRefreshAndUse(t *testing.T) {
	onEachStore(t, func(t *testing.T, dsn string) {
		t.Parallel()
		d := newDesk(t, dsn, outside.GiteaConfig{})
		d.connect(d.gitea.LogIn(), d.gitea.Authorize())
		d.has(d.run(0, "sync", "alice", "desk"), "5 inserted")
		seed := uint64(time.Now().UnixNano())
		dice := rand.New(rand.NewPCG(seed, 0))
		span := d.fromGrantToUse()
		t.Logf("seed %d; undisturbed, the token is used %s after it was granted", seed, span)
		s := open(t, d.dsn)
		counts := map[string]int{}
		for i := range refreshKills {
			before := d.credential(s)
			var moment time.Duration
			switch i % 5 {
			case 0:
				moment = unasked
			case 1: // with the answer
			default:
				moment = time.Duration(dice.Int64N(int64(span)))
			}
			rotated := d.killAfterGrant(moment)
			// PostgreSQL may still commit what a process that is dead has sent.
			d.awaitLease(s)
			after := d.credential(s)
			stored := !bytes.Equal(before.Sealed, after.Sealed)
			if after.Refresher != "" {
				d.endNote()
			}
			asked := d.toll.asked()
			switch {
			case rotated && !stored:
				counts["the answer was lost, and the account with it"]++
				d.has(d.run(1, "sync", "alice", "desk"), "alice desk must be connected again (unauthorized_client; "+
					"the answer to the refresh before was lost, and the provider does not take the old token again)")
				if got := sources(t, s)[0].Paused; !slices.Equal(got, []string{store.PausedAuth}) {
					t.Errorf("paused: got %q, want %s", got, store.PausedAuth)
				}
				d.connect() // Gitea does not ask twice
				asked++
			case rotated:
				counts["the answer was stored, and is used"]++
				d.run(0, "sync", "alice", "desk")
			default:
				counts["Gitea had not been asked, and is asked now"]++
				d.run(0, "sync", "alice", "desk")
				asked++
			}
			if got := d.toll.asked(); got != asked {
				t.Errorf("rotated %t, stored %t: %d refreshes after the kill, want %d", rotated, stored, got, asked)
			}
			if got := sources(t, s)[0].Paused; len(got) > 0 {
				t.Fatalf("rotated %t, stored %t: paused: %s", rotated, stored, got)
			}
		}
		for outcome, n := range counts {
			t.Logf("%d of %d: %s", n, refreshKills, outcome)
		}
		d.run(0, "sync", "alice", "desk")
		d.holds(s)
	})
}

// fromGrantToUse syncs with a token that is refused, and returns how long it
// takes from the answer of Gitea to the use of the new token.
func (d *desk) fromGrantToUse() time.Duration {
	d.t.Helper()
	d.toll.refuseAll()
	granted, used := make(chan time.Time, 1), make(chan time.Time, 1)
	d.toll.set(hooks{
		refresh: func(pass func() answer) answer {
			got := pass()
			granted <- time.Now()
			return got
		},
		use: func(*http.Request) {
			select {
			case used <- time.Now():
			default:
			}
		},
	})
	defer d.toll.set(hooks{})
	d.run(0, "sync", "alice", "desk")
	return (<-used).Sub(<-granted)
}

// unasked is the moment before Gitea is asked.
const unasked = -1

// killAfterGrant starts a sync with a token that is refused and kills it some time
// after Gitea has answered: at the moment 0 before the answer is sent on. What syncd
// asks the API with a new token waits for that. It reports whether Gitea has rotated.
func (d *desk) killAfterGrant(moment time.Duration) (rotated bool) {
	d.t.Helper()
	d.toll.refuseAll()
	started := make(chan *process, 1)
	outcome := make(chan bool, 1)
	d.toll.set(hooks{
		refresh: func(pass func() answer) answer {
			p := <-started
			if moment == unasked {
				p.kill()
				outcome <- false
				return answer{}
			}
			got := pass()
			kill := func() {
				p.kill()
				outcome <- got.status == http.StatusOK
			}
			if moment == 0 {
				kill()
			} else {
				time.AfterFunc(moment, kill)
			}
			return got
		},
		use: func(r *http.Request) { <-r.Context().Done() }, // until it is killed
	})
	defer d.toll.set(hooks{})
	p := start(d.t, "sync", "alice", "desk", "--config", d.config)
	started <- p
	p.ended(time.Minute)
	select {
	case rotated = <-outcome:
	case <-time.After(30 * time.Second):
		d.t.Fatalf("nobody killed it; it said:\n%s", p.output())
	}
	return rotated
}

func (d *desk) credential(s store.Store) store.Credential {
	d.t.Helper()
	c, err := s.Credential(d.t.Context(), deskKey)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// awaitLease waits until the source is no longer the killed process's.
func (d *desk) awaitLease(s store.Store) {
	d.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		claim, err := s.Acquire(d.t.Context(), deskKey, "test", time.Second)
		if err == nil {
			err = s.Release(d.t.Context(), claim.Lease)
		}
		if err == nil {
			return
		}
		if _, busy := errors.AsType[*store.LeasedError](err); !busy {
			d.t.Fatal(err)
		}
		<-tick.C
	}
}

// endNote has the time pass that the killed process's note of a refresh is good for.
func (d *desk) endNote() {
	d.t.Helper()
	if path, ok := strings.CutPrefix(d.dsn, "sqlite:"); ok {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			d.t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(d.t.Context(), "UPDATE credentials SET refresher_until = 0"); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	db, err := pgx.Connect(d.t.Context(), d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close(d.t.Context())
	if _, err := db.Exec(d.t.Context(), "UPDATE credentials SET refresher_until = now()"); err != nil {
		d.t.Fatal(err)
	}
}
