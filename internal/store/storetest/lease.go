package storetest

import (
	"errors"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var leaseCases = []testCase{
	{"Acquire takes any source that nobody runs", leaseAcquire},
	{"a token is given once", leaseTokens},
	{"Renew extends what is held and names what is lost", leaseRenew},
	{"Release gives back only what is held", leaseRelease},
	{"Reschedule moves a source that nobody runs", leaseReschedule},
}

// leased fails the test unless err says that owner runs the source.
func (e *env) leased(what string, err error, key store.Key, owner string, until time.Time) {
	e.Helper()
	got, ok := errors.AsType[*store.LeasedError](err)
	if !ok || got.Key != key || got.Owner != owner || !got.Until.Equal(until) {
		e.Errorf("%s: got error %v, want that %s runs %s until %s", what, err, owner, key, until)
	}
}

func leaseAcquire(e *env) {
	e.due(map[string]time.Duration{"a": -time.Hour})
	a := store.Key{User: "a", Provider: "p"}
	first, err := e.s.Acquire(e.ctx, a, "first", ttl)
	e.ok(err)
	if first.Key != a || first.Owner != "first" || first.Resume != store.ResumeNew {
		e.Errorf("got %+v", first)
	}
	_, err = e.s.Acquire(e.ctx, a, "second", ttl)
	e.leased("acquire", err, a, "first", first.Now.Add(ttl))
	_, err = e.s.Acquire(e.ctx, alice, "second", ttl)
	e.is("no such source", err, store.ErrNotFound)
	run := e.begin(first.Lease)
	e.Expire(e.T, a)
	second, err := e.s.Acquire(e.ctx, a, "second", ttl)
	e.ok(err)
	if second.Resume != store.ResumeAbandoned || second.Previous != run || e.run(run).State != store.Abandoned {
		e.Errorf("got %+v, want run %s abandoned", second, run)
	}
}

func leaseTokens(e *env) {
	e.apply(alice)
	seen := map[int64]bool{}
	once := func(token int64) {
		e.Helper()
		if seen[token] {
			e.Errorf("token %d was given twice", token)
		}
		seen[token] = true
	}
	for range 3 {
		lease := e.acquire(alice)
		once(lease.Token)
		e.ok(e.s.Release(e.ctx, lease))
	}
	// Nor by a source that is removed and added again.
	e.ok(e.s.Remove(e.ctx, alice, true))
	e.apply(alice)
	once(e.acquire(alice).Token)
}

func leaseRenew(e *env) {
	e.due(map[string]time.Duration{"a": 5, "b": 4, "c": 3, "d": 2, "e": 1})
	claims := e.claim(5)
	var leases []store.Lease
	for _, c := range claims {
		leases = append(leases, c.Lease)
	}
	a, b, c, d := leases[0], leases[1], leases[2], leases[3]
	e.Expire(e.T, b.Key) // nobody took it yet
	e.Expire(e.T, c.Key) // another took it
	third := e.acquire(c.Key)
	e.ok(e.s.Release(e.ctx, d))
	leases[4].User = "nobody"
	lost, err := e.s.Renew(e.ctx, leases, 2*ttl)
	e.ok(err)
	e.same("lost", lost, leases[1:])
	if got := e.source(a.Key).LeaseUntil; !got.After(claims[0].Now.Add(ttl)) {
		e.Errorf("renewed until %s", got)
	}
	if got := e.source(c.Key); got.LeaseUntil.After(e.now().Add(ttl)) || got.Owner != third.Owner {
		e.Errorf("the old token renewed the new lease: %+v", got)
	}
	if got := e.source(d.Key); !got.LeaseUntil.IsZero() {
		e.Errorf("a lease that was given back was renewed: %+v", got)
	}
	lost, err = e.s.Renew(e.ctx, nil, ttl)
	e.ok(err)
	e.same("lost of none", lost, []store.Lease{})
}

func leaseRelease(e *env) {
	e.apply(alice)
	first := e.claim(1)[0]
	e.ok(e.s.Release(e.ctx, first.Lease))
	if src := e.source(alice); src.Owner != "" || !src.LeaseUntil.IsZero() || !src.DueAt.Equal(first.DueAt) || src.Resume != store.ResumeNew {
		e.Errorf("got %+v, want it free and due as before", src)
	}
	second := e.claim(1)
	if len(second) != 1 {
		e.Fatal("what was given back is not claimed")
	}
	e.ok(e.s.Release(e.ctx, first.Lease))
	if src := e.source(alice); src.Owner != "daemon" || src.LeaseUntil.IsZero() {
		e.Errorf("the old token gave the new lease back: %+v", src)
	}
	e.ok(e.s.Release(e.ctx, store.Lease{Key: store.Key{User: "no", Provider: "no"}, Token: 1}))
}

func leaseReschedule(e *env) {
	e.apply(alice)
	nextAt, dueAt := e.now().Add(time.Hour), e.now().Add(2*time.Hour)
	e.ok(e.s.Reschedule(e.ctx, alice, nextAt, dueAt))
	if got := e.source(alice); !got.NextAt.Equal(nextAt) || !got.DueAt.Equal(dueAt) {
		e.Errorf("got next %s, due %s, want %s, %s", got.NextAt, got.DueAt, nextAt, dueAt)
	}
	e.same("claims", users(e.claim(1)), []string{})
	lease := e.acquire(alice)
	err := e.s.Reschedule(e.ctx, alice, nextAt, e.now())
	e.leased("reschedule", err, alice, lease.Owner, e.source(alice).LeaseUntil)
	if got := e.source(alice); !got.DueAt.Equal(dueAt) {
		e.Errorf("got due %s, want %s", got.DueAt, dueAt)
	}
	e.is("no such source", e.s.Reschedule(e.ctx, store.Key{User: "no", Provider: "no"}, nextAt, dueAt), store.ErrNotFound)
}
