package storetest

import (
	"fmt"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var applyCases = []testCase{
	{"a new source is due as it says", applyAdds},
	{"what has not changed is not touched", applyUnchanged},
	{"another schedule sets the times", applySchedule},
	{"a schedule that changes during a run outlives it", applyDuringARun},
	{"a source with unfinished business keeps an earlier due time", applyKeepsEarlier},
	{"another schedule of full walks sets only that time", applyFull},
	{"a source that is gone is paused, and resumed when it is back", applyRemoved},
	{"no source twice", applyTwice},
	{"Add adds or changes one source", applyAdd},
	{"times are kept to the microsecond, in UTC", applyTimes},
	{"many sources", applyMany},
}

func applyAdds(e *env) {
	now := e.now()
	spec := store.Spec{
		Key: alice, Connector: "github", Schedule: "@hourly Europe/Berlin", Full: "@weekly",
		NextAt: now.Add(time.Hour), SpreadAt: now.Add(61 * time.Minute), DueAt: now.Add(time.Minute), FullAt: now.Add(48 * time.Hour),
	}
	bare := store.Spec{Key: store.Key{User: "bob", Provider: "github"}, Connector: "github"}
	done, err := e.s.Apply(e.ctx, []store.Spec{bare, spec})
	e.ok(err)
	e.same("applied", done, store.Applied{Added: 2})
	got := e.source(alice)
	if got.CreatedAt.Before(now) {
		e.Errorf("created at %s, before %s", got.CreatedAt, now)
	}
	want := store.Source{
		Key: alice, Connector: "github", Schedule: spec.Schedule, Resume: store.ResumeNew,
		NextAt: spec.NextAt, DueAt: spec.DueAt, FullAt: spec.FullAt, CreatedAt: got.CreatedAt,
	}
	e.same("source", got, want)
	got = e.source(bare.Key)
	e.same("source without a schedule", got, store.Source{Key: bare.Key, Connector: "github", Resume: store.ResumeNew, CreatedAt: got.CreatedAt})
	wake, ok, err := e.s.NextWake(e.ctx)
	e.ok(err)
	if !ok || !wake.Equal(spec.DueAt) {
		e.Errorf("next wake %s, %t, want %s", wake, ok, spec.DueAt)
	}
}

func applyUnchanged(e *env) {
	spec := e.spec(alice)
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	want := e.source(alice)
	spec.NextAt, spec.DueAt, spec.SpreadAt = spec.NextAt.Add(time.Hour), spec.DueAt.Add(time.Hour), spec.SpreadAt.Add(time.Hour)
	spec.FullAt = spec.NextAt
	done, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	e.same("applied", done, store.Applied{})
	e.same("source", e.source(alice), want)
	spec.Connector = "other"
	done, err = e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	e.same("applied with another connector", done, store.Applied{Changed: 1})
	want.Connector = "other"
	e.same("source with another connector", e.source(alice), want)
}

// settled makes alice's source one whose last run ended as outcome says.
func (e *env) settled(spec store.Spec, o store.Outcome) {
	e.Helper()
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	lease := e.acquire(spec.Key)
	run := e.begin(lease)
	e.ok(e.s.Finish(e.ctx, lease, run, o))
}

// A schedule that changes during a run is not forgotten at the run's end.
func applyDuringARun(e *env) {
	spec := e.spec(alice)
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	lease := e.acquire(alice)
	run := e.begin(lease)
	spec.Schedule = "@every 5m"
	spec.NextAt, spec.SpreadAt = e.now().Add(5*time.Minute), e.now().Add(6*time.Minute)
	_, err = e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	want := e.source(alice).DueAt
	e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: store.Done}))
	got := e.source(alice)
	if !got.NextAt.Equal(spec.NextAt) || !got.DueAt.Equal(want) || got.DueAt.After(spec.SpreadAt) || got.DueAt.IsZero() {
		e.Errorf("got next %s, due %s; want %s, %s", got.NextAt, got.DueAt, spec.NextAt, want)
	}
}

func applySchedule(e *env) {
	spec := e.spec(alice)
	e.settled(spec, store.Outcome{State: store.Done, DueAt: e.now().Add(time.Minute)})
	spec.Schedule = "@daily"
	spec.NextAt, spec.SpreadAt = e.now().Add(24*time.Hour), e.now().Add(25*time.Hour)
	done, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	e.same("applied", done, store.Applied{Changed: 1})
	got := e.source(alice)
	if !got.NextAt.Equal(spec.NextAt) || !got.DueAt.Equal(spec.SpreadAt) || got.Schedule != "@daily" {
		e.Errorf("got %+v, want next %s, due %s", got, spec.NextAt, spec.SpreadAt)
	}
	spec.Schedule, spec.NextAt, spec.SpreadAt = "", time.Time{}, time.Time{}
	_, err = e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	if got := e.source(alice); !got.NextAt.IsZero() || !got.DueAt.IsZero() {
		e.Errorf("without a schedule: next %s, due %s, want neither", got.NextAt, got.DueAt)
	}
	if wake, ok, err := e.s.NextWake(e.ctx); ok || err != nil {
		e.Errorf("next wake: got %s, %v, want none", wake, err)
	}
}

func applyKeepsEarlier(e *env) {
	soon, late := e.now().Add(time.Minute), e.now().Add(24*time.Hour)
	for _, resume := range []string{store.ResumePartial, store.ResumeParked, store.ResumeFailed, store.ResumeAbandoned, store.ResumeNew} {
		for _, c := range []struct{ due, spread, want time.Time }{
			{soon, late, soon}, {late, soon, soon}, {soon, time.Time{}, soon},
		} {
			key := store.Key{User: resume, Provider: fmt.Sprint(c.due == soon, c.spread.IsZero())}
			spec := e.spec(key)
			e.settled(spec, store.Outcome{State: store.Partial, Resume: resume, DueAt: c.due})
			spec.Schedule, spec.NextAt, spec.SpreadAt = "@daily", c.spread, c.spread
			_, err := e.s.Apply(e.ctx, []store.Spec{spec})
			e.ok(err)
			if got := e.source(key); !got.DueAt.Equal(c.want) || !got.NextAt.Equal(c.spread) || got.Resume != resume {
				e.Errorf("%s, due %s, schedule's due %s: got due %s, next %s, resume %s", resume, c.due, c.spread, got.DueAt, got.NextAt, got.Resume)
			}
		}
	}
}

func applyFull(e *env) {
	spec := e.spec(alice)
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	want := e.source(alice)
	spec.Full, spec.FullAt = "@weekly", e.now().Add(100*time.Hour)
	spec.NextAt, spec.SpreadAt = spec.NextAt.Add(time.Hour), spec.SpreadAt.Add(time.Hour)
	done, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	e.same("applied", done, store.Applied{Changed: 1})
	want.FullAt = spec.FullAt
	e.same("source", e.source(alice), want)
	spec.Full, spec.FullAt = "", time.Time{}
	_, err = e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	want.FullAt = time.Time{}
	e.same("source without full walks", e.source(alice), want)
}

func applyRemoved(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	was := e.source(alice)
	for range 2 {
		done, err := e.s.Apply(e.ctx, []store.Spec{e.spec(bob)})
		e.ok(err)
		if got := e.source(alice).Paused; len(got) != 1 || got[0] != store.PausedRemoved {
			e.Errorf("paused: got %q", got)
		}
		if done != (store.Applied{Removed: 1}) && done != (store.Applied{}) {
			e.Errorf("applied: got %+v", done)
		}
	}
	if claims, err := e.s.Claim(e.ctx, "daemon", 10, ttl); err != nil || len(claims) != 1 || claims[0].Key != bob {
		e.Errorf("claims: got %+v, %v, want bob's alone", claims, err)
	}
	_, err := e.s.Pause(e.ctx, alice, store.PausedOperator)
	e.ok(err)
	done, err := e.s.Apply(e.ctx, []store.Spec{e.spec(bob), e.spec(alice)})
	e.ok(err)
	e.same("applied", done, store.Applied{Restored: 1})
	was.Paused = []string{store.PausedOperator}
	e.same("source", e.source(alice), was)
	done, err = e.s.Apply(e.ctx, nil)
	e.ok(err)
	e.same("an empty configuration", done, store.Applied{Removed: 2})
}

func applyTwice(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice)
	_, err := e.s.Apply(e.ctx, []store.Spec{e.spec(bob), e.spec(bob)})
	if err == nil {
		e.Error("got no error")
	}
	if got := e.source(alice).Paused; len(got) != 0 {
		e.Errorf("paused for %q by what failed", got)
	}
}

func applyAdd(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(bob)
	was := e.source(bob)
	spec := e.spec(alice)
	e.ok(e.s.Add(e.ctx, spec))
	added := e.source(alice)
	if added.Resume != store.ResumeNew || !added.DueAt.Equal(spec.DueAt) || !added.NextAt.Equal(spec.NextAt) {
		e.Errorf("added: got %+v", added)
	}
	spec.DueAt = spec.DueAt.Add(time.Hour)
	e.ok(e.s.Add(e.ctx, spec))
	e.same("added again", e.source(alice), added)
	_, err := e.s.Pause(e.ctx, alice, store.PausedRemoved)
	e.ok(err)
	spec.Connector = "other"
	e.ok(e.s.Add(e.ctx, spec))
	added.Connector = "other"
	e.same("changed and back", e.source(alice), added)
	e.same("the other source", e.source(bob), was)
	e.refused("no user", e.s.Add(e.ctx, store.Spec{Key: store.Key{Provider: "github"}}))
}

func applyTimes(e *env) {
	zone := time.FixedZone("", 5*3600+1800)
	at := func(s string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, s)
		e.ok(err)
		return t
	}
	for i, in := range []string{
		"1970-01-01T00:00:00.000001Z", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.999999999Z",
		"2038-01-19T03:14:08Z", "2106-02-07T06:28:16.5Z", "2261-12-31T23:59:59.999999Z",
	} {
		key := store.Key{User: fmt.Sprint("user ", i), Provider: "p"}
		spec := store.Spec{Key: key, NextAt: at(in).In(zone), DueAt: at(in).Add(time.Hour).In(zone), FullAt: at(in), Full: "x"}
		_, err := e.s.Apply(e.ctx, []store.Spec{spec})
		e.ok(err)
		got := e.source(key)
		want := at(in).Truncate(time.Microsecond)
		if got.NextAt != want || got.FullAt != want || got.DueAt != want.Add(time.Hour) {
			e.Errorf("%s: got %s, %s, %s", in, got.NextAt, got.FullAt, got.DueAt)
		}
	}
	if now := e.now(); now != now.Truncate(time.Microsecond).UTC() {
		e.Errorf("the database's clock: got %s, want microseconds in UTC", now)
	}
}

func applyMany(e *env) {
	specs := make([]store.Spec, 12_000) // more than fits the parameters of one statement
	spec := e.spec(alice)
	for i := range specs {
		specs[i] = spec
		specs[i].Key = store.Key{User: fmt.Sprintf("user-%d", i), Provider: "p"}
	}
	for _, want := range []store.Applied{{Added: len(specs)}, {}} {
		got, err := e.s.Apply(e.ctx, specs)
		e.ok(err)
		e.same("applied", got, want)
	}
	specs[17].Schedule = "@daily"
	got, err := e.s.Apply(e.ctx, specs[:len(specs)-3])
	e.ok(err)
	e.same("applied", got, store.Applied{Changed: 1, Removed: 3})
}
