package storetest

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/syncdhq/syncd/internal/store"
)

var runCases = []testCase{
	{"Begin opens the run and moves the source on", runBegin},
	{"a tick is run once", runTick},
	{"Begin needs the lease", runBeginLost},
	{"Finish closes the run and the lease", runFinish},
	{"Finish after the lease was lost", runFinishLost},
	{"Finish of a run that was abandoned leaves it so", runFinishAbandoned},
	{"texts from outside do not keep a run open", runTexts},
}

func runBegin(e *env) {
	e.apply(alice)
	lease := e.acquire(alice)
	now := e.now()
	run := store.Run{
		ID: newID(e), Trigger: store.TriggerCatchUp, Tick: now.Add(-time.Hour).Truncate(time.Second), Folded: 4, Full: true,
		Input: "in", Notes: "note", Resumes: "an older run",
		State: store.Done, Token: 7, Owner: "not me", Key: store.Key{User: "not", Provider: "mine"}, // the lease says
	}
	nextAt, dueAt := now.Add(time.Hour), now.Add(2*time.Hour)
	e.ok(e.s.Begin(e.ctx, lease, run, nextAt, dueAt))
	got := e.run(run.ID)
	if got.StartedAt.Before(now) {
		e.Errorf("started %s, before %s", got.StartedAt, now)
	}
	want := run
	want.Key, want.Token, want.Owner, want.State, want.StartedAt = alice, lease.Token, lease.Owner, store.Running, got.StartedAt
	e.same("run", got, want)
	src := e.source(alice)
	if !src.NextAt.Equal(nextAt) || !src.DueAt.Equal(dueAt) || src.LastRunID != run.ID || src.LastState != store.Running || src.Owner == "" {
		e.Errorf("source: got %+v", src)
	}
	if err := e.s.Begin(e.ctx, lease, store.Run{ID: run.ID}, nextAt, dueAt); err == nil {
		e.Error("the same id twice: no error")
	}
}

func runTick(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	tick := e.now().Add(-time.Hour).Truncate(time.Second)
	lease, other := e.acquire(alice), e.acquire(bob)
	nextAt, dueAt := e.now().Add(time.Hour), e.now().Add(2*time.Hour)
	begin := func(l store.Lease, at time.Time) error {
		return e.s.Begin(e.ctx, l, store.Run{ID: newID(e), Tick: at}, nextAt, dueAt)
	}
	e.ok(begin(lease, tick))
	first := e.source(alice).LastRunID
	e.ok(e.s.Finish(e.ctx, lease, first, store.Outcome{State: store.Done, DueAt: dueAt}))
	e.ok(begin(other, tick)) // of another source

	lease = e.acquire(alice)
	nextAt, dueAt = nextAt.Add(time.Hour), dueAt.Add(time.Hour)
	zone := time.FixedZone("", 3600)
	e.is("the same tick", begin(lease, tick.Add(999*time.Nanosecond).In(zone)), store.ErrTickTaken)
	src := e.source(alice)
	if !src.NextAt.Equal(nextAt) || !src.DueAt.Equal(dueAt) || src.Owner != "" || !src.LeaseUntil.IsZero() || src.LastRunID != first {
		e.Errorf("source: got %+v, want it moved on and free", src)
	}
	runs, err := e.s.Runs(e.ctx, store.RunFilter{User: "alice"})
	e.ok(err)
	if len(runs) != 1 {
		e.Errorf("got %d runs, want 1", len(runs))
	}
	e.is("under the lease that was given back", begin(lease, tick.Add(time.Hour)), store.ErrLeaseLost)
	lease = e.acquire(alice)
	e.ok(begin(lease, tick.Add(time.Second)))
	e.ok(e.s.Finish(e.ctx, lease, e.source(alice).LastRunID, store.Outcome{State: store.Done}))
	for range 2 { // no tick is no tick that could be taken
		lease = e.acquire(alice)
		e.ok(begin(lease, time.Time{}))
		e.ok(e.s.Finish(e.ctx, lease, e.source(alice).LastRunID, store.Outcome{State: store.Done}))
	}
}

func runBeginLost(e *env) {
	e.apply(alice)
	lease := e.acquire(alice)
	was := e.source(alice)
	wrong := lease
	wrong.Token++
	none := lease
	none.User = "nobody"
	at := e.now().Add(time.Hour)
	for _, l := range []store.Lease{wrong, none} {
		e.is("begin", e.s.Begin(e.ctx, l, store.Run{ID: newID(e)}, at, at), store.ErrLeaseLost)
	}
	e.same("source", e.source(alice), was)
	e.Expire(e.T, alice)
	e.is("after its end", e.s.Begin(e.ctx, lease, store.Run{ID: newID(e)}, at, at), store.ErrLeaseLost)
	runs, err := e.s.Runs(e.ctx, store.RunFilter{})
	e.ok(err)
	e.same("runs", runs, []store.Run{})
}

func runFinish(e *env) {
	spec := e.spec(alice)
	spec.Full, spec.FullAt = "@weekly", e.now().Add(time.Hour)
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	for i, state := range []string{store.Done, store.Partial, store.Parked, store.Failed} {
		lease := e.acquire(alice)
		run := e.begin(lease)
		before, started := e.source(alice), e.run(run)
		dueAt := e.now().Add(time.Duration(i+1) * time.Hour)
		o := store.Outcome{State: state, Error: "error " + state, Notes: "notes", Input: "input", Requests: 7, DueAt: dueAt, Resume: state, Failures: i}
		e.ok(e.s.Finish(e.ctx, lease, run, o))
		got := e.run(run)
		if got.EndedAt.Before(started.StartedAt) {
			e.Errorf("ended %s, started %s", got.EndedAt, started.StartedAt)
		}
		want := started
		want.State, want.Error, want.Notes, want.Input, want.Requests, want.EndedAt = state, o.Error, "notes", "input", 7, got.EndedAt
		e.same("run", got, want)
		src := before
		src.Owner, src.LeaseUntil, src.LastState, src.LastError, src.LastEndedAt = "", time.Time{}, state, o.Error, got.EndedAt
		src.DueAt, src.Resume, src.Failures = dueAt, state, i
		if state == store.Done {
			src.LastDoneAt = got.EndedAt
		}
		e.same("source", e.source(alice), src)
	}
	lease := e.acquire(alice)
	run := e.begin(lease)
	e.update(lease, func(tx store.Tx) error {
		return tx.Progress(e.ctx, store.Progress{RunID: run, Input: "of a page", Notes: "of a page"})
	})
	fullAt, dueAt := e.now().Add(99*time.Hour), e.source(alice).DueAt
	e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done, FullAt: fullAt}))
	if got := e.run(run); got.Input != "of a page" || got.Notes != "of a page" {
		e.Errorf("got %+v, want what the page said", got)
	}
	if src := e.source(alice); !src.FullAt.Equal(fullAt) || !src.DueAt.Equal(dueAt) || src.Resume != "" {
		e.Errorf("got %+v", src)
	}
	e.is("finished twice", e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Failed}), store.ErrLeaseLost)
	if got := e.run(run).State; got != store.Done {
		e.Errorf("got %s, want done", got)
	}
	lease = e.acquire(alice)
	e.is("no such run", e.s.Finish(e.ctx, lease, "no such run", store.Outcome{State: store.Done}), store.ErrNotFound)
}

func runFinishLost(e *env) {
	lease, run := e.open()
	e.Expire(e.T, alice) // nobody took it yet
	was := e.source(alice)
	e.is("finish", e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done, DueAt: e.now().Add(9 * time.Hour)}), store.ErrLeaseLost)
	got := e.run(run)
	if got.State != store.Lost || got.EndedAt.IsZero() {
		e.Errorf("run: got %+v, want it lost", got)
	}
	src := e.source(alice)
	was.LastState, was.LastError, was.LastEndedAt = src.LastState, src.LastError, src.LastEndedAt
	e.same("source", src, was)
	// The run was not finished: whoever takes over is told so.
	c, err := e.s.Acquire(e.ctx, alice, "second", ttl)
	e.ok(err)
	if c.Resume != store.ResumeAbandoned || c.Previous != run || e.run(run) != got {
		e.Errorf("claim: got %+v, run %+v", c, e.run(run))
	}
}

func runFinishAbandoned(e *env) {
	lease, run := e.open()
	e.Expire(e.T, alice)
	second := e.acquire(alice)
	want := e.run(run)
	if want.State != store.Abandoned {
		e.Fatalf("run: got %+v, want it abandoned", want)
	}
	was := e.source(alice)
	e.is("finish", e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done, Error: "late"}), store.ErrLeaseLost)
	e.same("run", e.run(run), want)
	e.same("source", e.source(alice), was)
	e.is("with the new lease's token", e.s.Finish(e.ctx, second, run, store.Outcome{State: store.Done}), store.ErrNotFound)
	e.same("run", e.run(run), want)
	third := e.begin(second)
	e.ok(e.s.Finish(e.ctx, second, third, store.Outcome{State: store.Done}))
}

func runTexts(e *env) {
	lease, run := e.open()
	const text = "before \x00 between \xff\xfe after \xe2\x82 é"
	err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
		return tx.Progress(ctx, store.Progress{RunID: run, Pages: 1, Input: text, Notes: text})
	})
	e.ok(err)
	e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Failed, Error: text + strings.Repeat("x", 100_000)}))
	got := e.run(run)
	for _, s := range []string{got.Input, got.Notes, got.Error} {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") || !strings.HasPrefix(s, "before \ufffd between \ufffd") || !strings.Contains(s, " é") {
			e.Errorf("got %.80q", s)
		}
	}
	if got.State != store.Failed {
		e.Errorf("got state %s", got.State)
	}
}
