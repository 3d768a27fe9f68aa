package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var accountCases = []testCase{
	{"sources added at run time live beside the configuration's", declaredBeside},
	{"the configuration takes over what was added at run time", declaredTakenOver},
	{"a claim says what its source is and whose account", declaredClaim},
	{"events are told in order, with the credential or not at all", events},
	{"a memo is written by whoever read it last", memoVersions},
	{"of many that would write the first memo, one does", memoRace},
	{"a memo that has expired is as good as gone", memoExpired},
	{"the end of a run gives and takes reasons with it", finishPauses},
	{"a purge leaves the source, and nothing that it read", purged},
	{"what can't be kept of events and memos is refused", accountsRefused},
}

// declared is a source that is added at run time.
func (e *env) declared(key store.Key, text string) store.Spec {
	s := e.spec(key)
	s.Declared = text
	return s
}

// applied is apply, and says what it changed.
func (e *env) applied(keys ...store.Key) store.Applied {
	e.Helper()
	var specs []store.Spec
	for _, key := range keys {
		specs = append(specs, e.spec(key))
	}
	done, err := e.s.Apply(e.ctx, specs)
	e.ok(err)
	return done
}

func declaredBeside(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.ok(e.s.Add(e.ctx, e.declared(bob, `{"options":{"repo":"a/b"}}`)))
	e.apply(alice)
	row := e.source(bob)
	e.same("declared", row.Declared, `{"options":{"repo":"a/b"}}`)
	e.same("paused", len(row.Paused), 0)
	e.same("the configuration's", e.source(alice).Declared, "")

	e.ok(e.s.Add(e.ctx, e.declared(bob, `{}`)))
	e.same("declared anew", e.source(bob).Declared, `{}`)
	e.same("applied", e.applied(), store.Applied{Removed: 1})
	e.same("bob is left alone", len(e.source(bob).Paused), 0)
	e.same("alice is not", e.source(alice).Paused, []string{store.PausedRemoved})
	e.ok(e.s.Add(e.ctx, e.declared(alice, `{}`)))
	e.same("what was removed is added again", []any{e.source(alice).Declared, len(e.source(alice).Paused)}, []any{`{}`, 0})
}

func declaredTakenOver(e *env) {
	e.ok(e.s.Add(e.ctx, e.declared(alice, `{}`)))
	before := e.source(alice)
	e.same("applied", e.applied(alice), store.Applied{Changed: 1})
	after := e.source(alice)
	e.same("declared", after.Declared, "")
	e.same("its times stay", []any{after.NextAt, after.DueAt}, []any{before.NextAt, before.DueAt})
	e.same("applied again", e.applied(alice), store.Applied{})
	e.same("and can be taken out", e.applied(), store.Applied{Removed: 1})
}

func declaredClaim(e *env) {
	e.is("of no source", e.s.SetAccount(e.ctx, alice, "acct_1"), store.ErrNotFound)
	s := e.declared(alice, `{"options":{}}`)
	s.DueAt = e.now().Add(-time.Minute)
	e.ok(e.s.Add(e.ctx, s))
	e.ok(e.s.SetAccount(e.ctx, alice, "acct_1"))
	claims, err := e.s.Claim(e.ctx, "d1", 1, ttl)
	e.ok(err)
	e.same("claims", len(claims), 1)
	e.same("claimed", []string{claims[0].Declared, claims[0].Account}, []string{`{"options":{}}`, "acct_1"})
	e.ok(e.s.SetAccount(e.ctx, alice, "acct_2")) // also while it is being run
	e.ok(e.s.Release(e.ctx, claims[0].Lease))
	claim, err := e.s.Acquire(e.ctx, alice, "d1", ttl)
	e.ok(err)
	e.same("acquired", []string{claim.Declared, claim.Account}, []string{`{"options":{}}`, "acct_2"})
	e.same("listed", e.source(alice).Account, "acct_2")
}

func events(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	refused := store.Event{Key: alice, Kind: store.EventNeedsReauth, Detail: "invalid_grant"}
	c := sealed(alice, "one")
	c.Version = 7
	_, err := e.s.PutCredential(e.ctx, c, refused)
	e.is("a credential that is not written", err, store.ErrConflict)
	c.Version = 0
	_, err = e.s.PutCredential(e.ctx, c, refused)
	e.ok(err)
	e.ok(e.s.Tell(e.ctx, store.Event{Key: bob, Kind: store.EventConnected}, store.Event{Key: alice, Kind: store.EventConnected, Detail: "a\x00b"}))
	list := func(f store.EventFilter) []string {
		found, err := e.s.Events(e.ctx, f)
		e.ok(err)
		out := []string{}
		for _, v := range found {
			if v.At.IsZero() || v.Seq == 0 {
				e.Errorf("event %+v has no time or number", v)
			}
			out = append(out, v.User+" "+v.Kind+" "+v.Detail)
		}
		return out
	}
	all := []string{"alice connected a\uFFFDb", "bob connected ", "alice needs_reauth invalid_grant"}
	e.same("all", list(store.EventFilter{}), all)
	e.same("alice's", list(store.EventFilter{User: "alice", Provider: "github"}), []string{all[0], all[2]})
	e.same("the last", list(store.EventFilter{Limit: 1}), all[:1])
	last, err := e.s.Events(e.ctx, store.EventFilter{Limit: 1})
	e.ok(err)
	e.same("before it", list(store.EventFilter{Before: last[0].Seq}), all[1:])
}

func memoVersions(e *env) {
	_, err := e.s.Memo(e.ctx, "connect", "x")
	e.is("none", err, store.ErrNotFound)
	m := store.Memo{Kind: "connect", ID: "x", User: "alice", Body: `{"a":1}`}
	version, err := e.s.PutMemo(e.ctx, m, ttl)
	e.ok(err)
	e.same("version", version, int64(1))
	_, err = e.s.PutMemo(e.ctx, m, ttl)
	e.is("written twice", err, store.ErrConflict)
	got, err := e.s.Memo(e.ctx, "connect", "x")
	e.ok(err)
	e.same("it lasts", got.ExpiresAt.After(e.now().Add(ttl/2)), true)
	got.ExpiresAt = time.Time{}
	m.Version = 1
	e.same("memo", got, m)
	got.Body = `{"a":2}`
	version, err = e.s.PutMemo(e.ctx, got, ttl)
	e.ok(err)
	e.same("version", version, int64(2))
	_, err = e.s.PutMemo(e.ctx, got, ttl)
	e.is("by who has read the one before", err, store.ErrConflict)
	_, err = e.s.Memo(e.ctx, "answer", "x")
	e.is("of another kind", err, store.ErrNotFound)
}

func memoRace(e *env) {
	const n = 8
	results := make(chan error, n)
	for range n {
		go func() {
			_, err := e.s.PutMemo(e.ctx, store.Memo{Kind: "answer", ID: "k", Body: "{}"}, ttl)
			results <- err
		}()
	}
	won := 0
	for range n {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, store.ErrConflict):
			e.ok(err)
		}
	}
	e.same("winners", won, 1)
}

func memoExpired(e *env) {
	m := store.Memo{Kind: "answer", ID: "k", Body: `"first"`}
	_, err := e.s.PutMemo(e.ctx, m, time.Microsecond)
	e.ok(err)
	kept := store.Memo{Kind: "answer", ID: "kept", Body: "{}"}
	_, err = e.s.PutMemo(e.ctx, kept, ttl)
	e.ok(err)
	e.tick()
	_, err = e.s.Memo(e.ctx, "answer", "k")
	e.is("expired", err, store.ErrNotFound)
	m.Version = 1
	_, err = e.s.PutMemo(e.ctx, m, ttl)
	e.is("over one that has expired", err, store.ErrConflict)
	m.Version, m.Body = 0, `"second"`
	version, err := e.s.PutMemo(e.ctx, m, time.Microsecond)
	e.ok(err)
	e.same("version", version, int64(1))
	e.tick()
	n, err := e.s.SweepMemos(e.ctx, 10)
	e.ok(err)
	e.same("swept", n, int64(1))
	_, err = e.s.Memo(e.ctx, "answer", "kept")
	e.ok(err)
}

func finishPauses(e *env) {
	e.apply(alice)
	_, err := e.s.Pause(e.ctx, alice, store.PausedOperator)
	e.ok(err)
	end := func(o store.Outcome) ([]string, time.Time) {
		claim, err := e.s.Acquire(e.ctx, alice, "daemon", ttl)
		e.ok(err)
		e.ok(e.s.Finish(e.ctx, claim.Lease, e.begin(claim.Lease), o))
		return e.source(alice).Paused, claim.WellAt
	}
	created := e.source(alice).CreatedAt
	paused, well := end(store.Outcome{State: store.Failed, Failures: 1, Pause: store.PausedFailing})
	e.same("given", paused, []string{store.PausedFailing, store.PausedOperator})
	e.same("never well", well, created)
	paused, _ = end(store.Outcome{State: store.Failed, Failures: 2, Pause: store.PausedFailing})
	e.same("given twice", paused, []string{store.PausedFailing, store.PausedOperator})
	paused, _ = end(store.Outcome{State: store.Parked})
	e.same("neither", paused, []string{store.PausedFailing, store.PausedOperator})
	paused, _ = end(store.Outcome{State: store.Done, Lift: store.PausedFailing})
	e.same("taken", paused, []string{store.PausedOperator})
	paused, well = end(store.Outcome{State: store.Done, Lift: store.PausedFailing})
	e.same("taken twice", paused, []string{store.PausedOperator})
	e.same("well since", well.After(created), true)
	_, err = e.s.Resume(e.ctx, alice, "")
	e.ok(err)
	paused, _ = end(store.Outcome{State: store.Done, Lift: store.PausedFailing})
	e.same("of none", len(paused), 0)
}

func purged(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	e.fill(alice, 7)
	e.fill(bob, 3)
	e.keep(sealed(alice, "kept"))
	lease := e.acquire(alice)
	err := e.s.Purge(e.ctx, alice)
	if _, ok := errors.AsType[*store.LeasedError](err); !ok {
		e.Errorf("while it is run: %v", err)
	}
	e.ok(e.s.Release(e.ctx, lease))
	e.is("no source", e.s.Purge(e.ctx, store.Key{User: "carol", Provider: "github"}), store.ErrNotFound)
	for range 2 {
		e.ok(e.s.Purge(e.ctx, alice))
		e.same("records", len(e.Records(e.T, alice)), 0)
		e.same("changes", len(e.Changes(e.T, alice)), 0)
		cursors, err := e.s.Cursors(e.ctx, alice)
		e.ok(err)
		e.same("cursors", len(cursors), 0)
		rejects, err := e.s.Rejects(e.ctx, store.RejectFilter{User: "alice", Resolved: true})
		e.ok(err)
		e.same("rejects", len(rejects), 0)
	}
	e.same("it is free", e.source(alice).Owner, "")
	_, err = e.s.Credential(e.ctx, alice)
	e.ok(err)
	e.same("bob's records", len(e.Records(e.T, bob)), 3)
}

func accountsRefused(e *env) {
	for name, err := range map[string]error{
		"an event of nobody":   e.s.Tell(e.ctx, store.Event{Kind: "connected"}),
		"an event of no kind":  e.s.Tell(e.ctx, store.Event{Key: alice}),
		"an account with NUL":  e.s.SetAccount(e.ctx, alice, "a\x00"),
		"a declaration of NUL": e.s.Add(e.ctx, e.declared(alice, "\x00")),
	} {
		if _, ok := errors.AsType[*store.DataError](err); !ok {
			e.Errorf("%s: got %v, want a DataError", name, err)
		}
	}
	for name, m := range map[string]store.Memo{
		"no kind":   {ID: "x", Body: "{}"},
		"no id":     {Kind: "answer", Body: "{}"},
		"a long id": {Kind: "answer", ID: strings.Repeat("x", 300), Body: "{}"},
		"NUL":       {Kind: "answer", ID: "x", Body: "\x00"},
	} {
		_, err := e.s.PutMemo(e.ctx, m, ttl)
		if _, ok := errors.AsType[*store.DataError](err); !ok {
			e.Errorf("%s: got %v, want a DataError", name, err)
		}
	}
}
