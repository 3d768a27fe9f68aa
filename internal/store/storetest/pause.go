package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var pauseCases = []testCase{
	{"reasons are a set", pauseSet},
	{"a source that is paused while it runs goes on", pauseWhileRun},
}

var removeCases = []testCase{
	{"Remove leaves the records, purge does not", removePurge},
	{"a source that is being run stays", removeLeased},
}

func pauseSet(e *env) {
	e.apply(alice)
	was := e.source(alice)
	check := func(what string, got []string, err error, want ...string) {
		e.Helper()
		e.ok(err)
		e.same(what, got, want)
		e.same(what+": source", e.source(alice).Paused, want)
	}
	left, err := e.s.Pause(e.ctx, alice, store.PausedRemoved)
	check("pause", left, err, "removed")
	left, err = e.s.Pause(e.ctx, alice, store.PausedOperator)
	check("pause for another reason", left, err, "operator", "removed")
	left, err = e.s.Pause(e.ctx, alice, store.PausedOperator)
	check("pause again", left, err, "operator", "removed")
	odd := `a,b "c" [d] {e} ` + "é\n\\"
	left, err = e.s.Pause(e.ctx, alice, odd)
	check("pause for an odd reason", left, err, odd, "operator", "removed")
	left, err = e.s.Resume(e.ctx, alice, "a")
	check("resume what is not there", left, err, odd, "operator", "removed")
	left, err = e.s.Resume(e.ctx, alice, odd)
	check("resume", left, err, "operator", "removed")
	left, err = e.s.Resume(e.ctx, alice, store.PausedRemoved)
	check("resume", left, err, "operator")
	_, err = e.s.Pause(e.ctx, alice, "x")
	e.ok(err)
	left, err = e.s.Resume(e.ctx, alice, "")
	check("resume all", left, err)
	e.same("source", e.source(alice), was)
	_, err = e.s.Pause(e.ctx, alice, "")
	e.refused("no reason", err)
	for _, f := range []func(context.Context, store.Key, string) ([]string, error){e.s.Pause, e.s.Resume} {
		_, err = f(e.ctx, store.Key{User: "no", Provider: "no"}, "x")
		e.is("no such source", err, store.ErrNotFound)
	}
}

func pauseWhileRun(e *env) {
	lease, run := e.open()
	_, err := e.s.Pause(e.ctx, alice, store.PausedOperator)
	e.ok(err)
	e.insert(lease, row("issues/1", `{}`, 1))
	lost, err := e.s.Renew(e.ctx, []store.Lease{lease}, ttl)
	e.ok(err)
	e.same("lost", lost, []store.Lease{})
	due := e.now().Add(-time.Minute)
	e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done, DueAt: due}))
	e.same("claims", e.claim(1), []store.Claim{})
	_, err = e.s.Resume(e.ctx, alice, store.PausedOperator)
	e.ok(err)
	e.same("claims", users(e.claim(1)), []string{"alice"})
}

// fill gives a source a row in every table, and gives its lease back.
func (e *env) fill(key store.Key, n int) {
	e.Helper()
	lease := e.acquire(key)
	run := e.begin(lease)
	stored := rows("issues", n)
	var changes []store.Change
	for _, r := range stored {
		changes = append(changes, store.Change{ID: r.ID, Stream: r.Stream, Kind: "inserted", Version: 1, RunID: run})
	}
	e.update(lease, func(tx store.Tx) error {
		e.ok(tx.Insert(e.ctx, stored))
		e.ok(tx.Change(e.ctx, changes))
		e.ok(tx.SaveCursor(e.ctx, store.Cursor{Stream: "issues", State: "{}"}))
		return tx.Reject(e.ctx, []store.Reject{reject("bad", strings.Repeat("x", n))})
	})
	e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done}))
}

func removePurge(e *env) {
	const n = 2500 // more than a step
	bob, carol := store.Key{User: "bob", Provider: "github"}, store.Key{User: "carol", Provider: "github"}
	e.apply(alice, bob, carol)
	for _, key := range []store.Key{alice, bob, carol} {
		e.fill(key, n)
	}
	left := func(key store.Key, records, changes, cursors, rejects, runs int) {
		e.Helper()
		st := e.state(key)
		got := []int{len(st.Records), len(st.Changes), len(st.Cursors), len(st.Rejects), len(st.Runs)}
		e.same("left of "+key.String(), got, []int{records, changes, cursors, rejects, runs})
	}
	left(alice, n, n, 1, 1, 1)
	e.ok(e.s.Remove(e.ctx, alice, false))
	left(alice, n, n, 0, 0, 1)
	e.is("removed twice", e.s.Remove(e.ctx, alice, false), store.ErrNotFound)
	e.ok(e.s.Remove(e.ctx, bob, true))
	left(bob, 0, 0, 0, 0, 0)
	left(carol, n, n, 1, 1, 1)
	sources, err := e.s.Sources(e.ctx, store.SourceFilter{})
	e.ok(err)
	if len(sources) != 1 || sources[0].Key != carol {
		e.Errorf("got sources %+v, want carol's alone", sources)
	}
	// What an earlier Remove left, or one that was cut, can still be purged.
	e.ok(e.s.Remove(e.ctx, alice, true))
	left(alice, 0, 0, 0, 0, 0)
	e.is("purged twice", e.s.Remove(e.ctx, alice, true), store.ErrNotFound)
	e.apply(alice)
	e.fill(alice, 1)
	left(alice, 1, 1, 1, 1, 1)
}

func removeLeased(e *env) {
	lease, _ := e.open()
	e.insert(lease, row("issues/1", `{}`, 1))
	was, until := e.state(alice), e.source(alice).LeaseUntil
	for _, purge := range []bool{false, true} {
		e.leased("remove", e.s.Remove(e.ctx, alice, purge), alice, lease.Owner, until)
	}
	e.same("state", e.state(alice), was)
	e.Expire(e.T, alice)
	e.ok(e.s.Remove(e.ctx, alice, false))
	err := e.s.Update(e.ctx, lease, func(context.Context, store.Tx) error { return nil })
	e.is("update after the removal", err, store.ErrLeaseLost)
}
