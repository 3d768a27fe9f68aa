package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var claimCases = []testCase{
	{"what is due, the earliest first, up to the limit", claimOrder},
	{"a claim says what its source is about", claimContents},
	{"no source is claimed by two", claimConcurrent},
	{"a run whose lease has run out is abandoned and claimed", claimAbandoned},
	{"a lease that ran out before its run began is claimed", claimUnbegun},
	{"a paused source is never claimed, only released", claimPaused},
	{"NextWake is the earliest time that needs attention", claimNextWake},
}

// due makes the sources of user's the configuration, due these long ago.
func (e *env) due(ago map[string]time.Duration) {
	e.Helper()
	now := e.now()
	var specs []store.Spec
	for user, d := range ago {
		spec := e.spec(store.Key{User: user, Provider: "p"})
		spec.DueAt = now.Add(-d)
		specs = append(specs, spec)
	}
	_, err := e.s.Apply(e.ctx, specs)
	e.ok(err)
}

// claim claims up to n sources.
func (e *env) claim(n int) []store.Claim {
	e.Helper()
	claims, err := e.s.Claim(e.ctx, "daemon", n, ttl)
	e.ok(err)
	return claims
}

// users are the users of claims.
func users(claims []store.Claim) []string {
	var out []string
	for _, c := range claims {
		out = append(out, c.User)
	}
	return out
}

func claimOrder(e *env) {
	e.due(map[string]time.Duration{
		"a": time.Minute, "b": time.Hour, "c": time.Second, "d": -time.Hour, "e": 24 * time.Hour, "f": 2 * time.Minute,
	})
	e.same("none", users(e.claim(0)), []string{})
	e.same("first two", users(e.claim(2)), []string{"e", "b"})
	e.same("the rest", users(e.claim(10)), []string{"f", "a", "c"})
	e.same("nothing is left", users(e.claim(10)), []string{})
}

func claimContents(e *env) {
	now := e.now()
	spec := e.spec(alice)
	spec.Full, spec.FullAt = "@weekly", now.Add(time.Hour)
	_, err := e.s.Apply(e.ctx, []store.Spec{spec})
	e.ok(err)
	claims := e.claim(1)
	if len(claims) != 1 {
		e.Fatalf("got %d claims, want 1", len(claims))
	}
	got := claims[0]
	if got.Now.Before(now) || got.Token <= 0 {
		e.Errorf("got %+v", got)
	}
	e.same("claim", got, store.Claim{
		Lease: store.Lease{Key: alice, Token: got.Token, Owner: "daemon"}, Now: got.Now,
		NextAt: spec.NextAt, DueAt: spec.DueAt, FullAt: spec.FullAt, Resume: store.ResumeNew, WellAt: e.source(alice).CreatedAt,
	})
	src := e.source(alice)
	if src.Owner != "daemon" || !src.LeaseUntil.Equal(got.Now.Add(ttl)) {
		e.Errorf("source: owner %q until %s, want daemon until %s", src.Owner, src.LeaseUntil, got.Now.Add(ttl))
	}
	run := e.begin(got.Lease)
	due := e.now().Add(-time.Second)
	e.ok(e.s.Finish(e.ctx, got.Lease, run, store.Outcome{State: store.Failed, Resume: store.ResumeFailed, Failures: 3, DueAt: due}))
	second := e.claim(1)[0]
	if second.Resume != store.ResumeFailed || second.Failures != 3 || !second.DueAt.Equal(due) || second.Previous != "" || second.Token == got.Token {
		e.Errorf("second claim: got %+v", second)
	}
}

func claimConcurrent(e *env) {
	const sources = 200
	ago := map[string]time.Duration{}
	for i := range sources {
		ago[fmt.Sprint(i)] = time.Duration(i) * time.Second
	}
	e.due(ago)
	var mu sync.Mutex
	claimed := map[store.Key]int{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			// A claim may find nothing while others hold what is left.
			for none := 0; none < 3; {
				claims, err := e.s.Claim(e.ctx, fmt.Sprint("daemon ", w), 1+w, ttl)
				if err != nil {
					e.Error(err)
					return
				}
				if len(claims) == 0 {
					none++
				}
				mu.Lock()
				for _, c := range claims {
					claimed[c.Key]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, c := range e.claim(sources) {
		claimed[c.Key]++
	}
	if len(claimed) != sources {
		e.Errorf("%d sources were claimed, want %d", len(claimed), sources)
	}
	for key, n := range claimed {
		if n != 1 {
			e.Errorf("source %s was claimed %d times", key, n)
		}
	}
}

func claimAbandoned(e *env) {
	e.due(map[string]time.Duration{"a": time.Minute, "b": time.Hour})
	first := e.claim(2)
	a := first[1]
	run := e.begin(a.Lease)
	e.Expire(e.T, a.Key)
	claims := e.claim(10)
	if len(claims) != 1 {
		e.Fatalf("got %+v, want a's alone", claims)
	}
	c := claims[0]
	if c.Key != a.Key || c.Token == a.Token || c.Resume != store.ResumeAbandoned || c.Previous != run {
		e.Errorf("got %+v, want a's, abandoned, after run %s", c, run)
	}
	r := e.run(run)
	if r.State != store.Abandoned || r.EndedAt.IsZero() {
		e.Errorf("run: got %+v, want it abandoned", r)
	}
	if src := e.source(a.Key); src.LastState != store.Abandoned || src.Resume != store.ResumeAbandoned {
		e.Errorf("source: got %+v", src)
	}

	// Who takes over and does not come to begin a run hands on what it found.
	e.Expire(e.T, a.Key)
	again := e.claim(10)
	if len(again) != 1 || again[0].Resume != store.ResumeAbandoned || again[0].Previous != run {
		e.Fatalf("got %+v, want a's once more", again)
	}
	e.ok(e.s.Release(e.ctx, again[0].Lease))
	if src := e.source(a.Key); src.DueAt.After(e.now()) {
		e.Errorf("due %s, want at once", src.DueAt)
	}
	last, err := e.s.Acquire(e.ctx, a.Key, "operator", ttl)
	e.ok(err)
	if last.Resume != store.ResumeAbandoned || last.Previous != run {
		e.Errorf("acquired: got %+v", last)
	}
	if got := e.run(run); got != r {
		e.Errorf("run: got %+v, want %+v", got, r)
	}
}

func claimUnbegun(e *env) {
	e.apply(alice)
	first := e.claim(1)[0]
	e.Expire(e.T, alice)
	second := e.claim(1)
	if len(second) != 1 {
		e.Fatalf("got %d claims, want 1", len(second))
	}
	want := first
	want.Token, want.Now = second[0].Token, second[0].Now
	if first.Token == want.Token {
		e.Error("the same token twice")
	}
	e.same("claim", second[0], want)
}

func claimPaused(e *env) {
	e.due(map[string]time.Duration{"a": time.Hour, "b": time.Minute})
	a := store.Key{User: "a", Provider: "p"}
	_, err := e.s.Pause(e.ctx, a, store.PausedOperator)
	e.ok(err)
	e.same("claims", users(e.claim(10)), []string{"b"})

	// It can be run by hand, and its lease may run out.
	claim, err := e.s.Acquire(e.ctx, a, "operator", ttl)
	e.ok(err)
	e.same("paused", claim.Paused, []string{store.PausedOperator})
	run := e.begin(claim.Lease)
	e.Expire(e.T, a)
	e.same("claims", users(e.claim(10)), []string{})
	if got := e.run(run).State; got != store.Abandoned {
		e.Errorf("run: got %s, want abandoned", got)
	}
	if src := e.source(a); src.Owner != "" || !src.LeaseUntil.IsZero() || src.Resume != store.ResumeAbandoned {
		e.Errorf("source: got %+v, want it released", src)
	}
	if err := e.s.Update(e.ctx, claim.Lease, func(context.Context, store.Tx) error { return nil }); err == nil {
		e.Error("the lease that ran out still writes")
	}
	// Once it is resumed, the abandoned run is gone on with at once.
	_, err = e.s.Resume(e.ctx, a, "")
	e.ok(err)
	claims := e.claim(10)
	if len(claims) != 1 || claims[0].Key != a || claims[0].Resume != store.ResumeAbandoned || claims[0].Previous != run {
		e.Errorf("got %+v, want a's", claims)
	}
}

func claimNextWake(e *env) {
	wake := func(what string, want time.Time) {
		e.Helper()
		got, ok, err := e.s.NextWake(e.ctx)
		e.ok(err)
		if ok != !want.IsZero() || !got.Equal(want) {
			e.Errorf("%s: got %s, %t, want %s", what, got, ok, want)
		}
	}
	wake("no sources", time.Time{})
	e.due(map[string]time.Duration{"a": time.Minute, "b": -30 * time.Minute})
	a, b := store.Key{User: "a", Provider: "p"}, store.Key{User: "b", Provider: "p"}
	wake("a is due", e.source(a).DueAt)
	lease := e.claim(1)[0].Lease
	wake("a is held, b is due in half an hour", e.source(b).DueAt)
	_, err := e.s.Pause(e.ctx, b, "x")
	e.ok(err)
	wake("b is paused: a's lease ends", e.source(a).LeaseUntil)
	_, err = e.s.Pause(e.ctx, a, "x")
	e.ok(err)
	wake("a paused source that is held", e.source(a).LeaseUntil)
	e.ok(e.s.Release(e.ctx, lease))
	wake("both are paused and free", time.Time{})
	_, err = e.s.Resume(e.ctx, b, "x")
	e.ok(err)
	wake("b is resumed", e.source(b).DueAt)
}
