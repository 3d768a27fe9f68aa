package storetest

import (
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var catalogCases = []testCase{
	{"Sources filters and pages", catalogSources},
	{"Runs filters and pages, newest first", catalogRuns},
	{"Rejects filters and pages, newest first", catalogRejects},
	{"Count by stream", catalogCount},
	{"Overview", catalogOverview},
}

func catalogSources(e *env) {
	keys := []store.Key{{User: "B", Provider: "x"}, {User: "a", Provider: "x"}, {User: "a", Provider: "y"}, {User: "b", Provider: "x"}, {User: "é", Provider: "x"}}
	e.apply(keys[3], keys[1], keys[4], keys[0], keys[2])
	for _, c := range []struct {
		filter store.SourceFilter
		want   []store.Key
	}{
		{store.SourceFilter{}, keys},
		{store.SourceFilter{User: "a"}, keys[1:3]},
		{store.SourceFilter{Provider: "y"}, keys[2:3]},
		{store.SourceFilter{User: "b", Provider: "y"}, nil},
		{store.SourceFilter{Limit: 2}, keys[:2]},
		{store.SourceFilter{After: keys[1], Limit: 2}, keys[2:4]},
		{store.SourceFilter{After: keys[1], Provider: "x"}, keys[3:]},
		{store.SourceFilter{After: store.Key{User: "a", Provider: "xx"}, Limit: 1}, keys[2:3]},
		{store.SourceFilter{After: keys[4]}, nil},
	} {
		rows, err := e.s.Sources(e.ctx, c.filter)
		e.ok(err)
		var got []store.Key
		for _, r := range rows {
			got = append(got, r.Key)
		}
		e.same("sources", got, c.want)
	}
}

func catalogRuns(e *env) {
	bob := store.Key{User: "bob", Provider: "gitlab"}
	e.apply(alice, bob)
	var ids []string // newest first
	for i := range 6 {
		key, state := alice, store.Done
		if i%3 == 2 {
			key, state = bob, store.Failed
		}
		lease := e.acquire(key)
		run := e.begin(lease)
		ids = append([]string{run}, ids...)
		e.ok(e.s.Finish(e.ctx, lease, run, store.Outcome{State: state}))
	}
	for _, c := range []struct {
		filter store.RunFilter
		want   []string
	}{
		{store.RunFilter{}, ids},
		{store.RunFilter{Limit: 2}, ids[:2]},
		{store.RunFilter{Before: ids[1], Limit: 2}, ids[2:4]},
		{store.RunFilter{Before: ids[5]}, nil},
		{store.RunFilter{User: "bob"}, []string{ids[0], ids[3]}},
		{store.RunFilter{Provider: "github"}, []string{ids[1], ids[2], ids[4], ids[5]}},
		{store.RunFilter{State: store.Failed, Before: ids[0]}, []string{ids[3]}},
		{store.RunFilter{User: "alice", Provider: "github", State: store.Done, Before: ids[2], Limit: 1}, []string{ids[4]}},
		{store.RunFilter{State: store.Running}, nil},
	} {
		rows, err := e.s.Runs(e.ctx, c.filter)
		e.ok(err)
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		e.same("runs", got, c.want)
	}
	_, err := e.s.Run(e.ctx, "no such run")
	e.is("run", err, store.ErrNotFound)
}

func catalogRejects(e *env) {
	bob := store.Key{User: "bob", Provider: "gitlab"}
	e.apply(alice, bob)
	lease, other := e.acquire(alice), e.acquire(bob)
	a, b, c, d := reject("bad", "a"), reject("worse", "b"), reject("bad", "c"), reject("bad", "d")
	b.RunID, c.Stream = "run-2", "pulls"
	for _, r := range []store.Reject{a, b, c} {
		e.aside(lease, r)
	}
	e.aside(other, d)
	var all []int64 // newest first: d c b a
	for _, r := range e.rejects() {
		all = append([]int64{r.ID}, all...)
	}
	e.update(lease, func(tx store.Tx) error { return tx.Resolve(e.ctx, all[2], store.Discarded, "") })
	for _, c := range []struct {
		filter store.RejectFilter
		want   []int64
	}{
		{store.RejectFilter{Resolved: true}, all},
		{store.RejectFilter{}, []int64{all[0], all[1], all[3]}},
		{store.RejectFilter{Limit: 1}, all[:1]},
		{store.RejectFilter{BeforeID: all[1], Resolved: true, Limit: 1}, all[2:3]},
		{store.RejectFilter{User: "alice"}, []int64{all[1], all[3]}},
		{store.RejectFilter{Provider: "gitlab"}, all[:1]},
		{store.RejectFilter{Stream: "pulls"}, all[1:2]},
		{store.RejectFilter{Reason: "worse", Resolved: true}, all[2:3]},
		{store.RejectFilter{RunID: "run-2"}, nil},
		{store.RejectFilter{RunID: "run-1"}, []int64{all[0], all[1], all[3]}},
	} {
		rows, err := e.s.Rejects(e.ctx, c.filter)
		e.ok(err)
		var got []int64
		for _, r := range rows {
			got = append(got, r.ID)
			if r.Raw != nil {
				e.Error("the list has the bytes")
			}
		}
		e.same("rejects", got, c.want)
	}
}

func catalogCount(e *env) {
	lease, _ := e.open()
	stored := rows("issues", 5)
	stored[1].Deleted, stored[2].Deleted = true, true
	e.insert(lease, append(stored, rows("Pulls", 2)...)...)
	got, err := e.s.Count(e.ctx, alice)
	e.ok(err)
	e.same("count", got, []store.StreamCount{{Stream: "Pulls", Live: 2}, {Stream: "issues", Live: 3, Deleted: 2}})
	got, err = e.s.Count(e.ctx, store.Key{User: "no", Provider: "no"})
	e.ok(err)
	e.same("count of nothing", got, []store.StreamCount{})
}

func catalogOverview(e *env) {
	overview := func() store.Overview {
		e.Helper()
		o, err := e.s.Overview(e.ctx)
		e.ok(err)
		if o.Now.IsZero() {
			e.Error("no time")
		}
		o.Now = time.Time{}
		return o
	}
	e.same("nothing", overview(), store.Overview{})
	e.due(map[string]time.Duration{"running": 5 * time.Hour, "paused": 4 * time.Hour, "due": 3 * time.Hour, "expired": 2 * time.Hour, "later": -time.Hour, "failing": -time.Hour})
	key := func(user string) store.Key { return store.Key{User: user, Provider: "p"} }
	_, err := e.s.Pause(e.ctx, key("paused"), "x")
	e.ok(err)
	_, err = e.s.Pause(e.ctx, key("paused"), "y")
	e.ok(err)
	lease := e.acquire(key("running"))
	e.begin(lease)
	e.aside(lease, reject("bad", "x"), reject("bad", "y"))
	failing := e.acquire(key("failing"))
	e.ok(e.s.Finish(e.ctx, failing, e.begin(failing), store.Outcome{State: store.Failed, Failures: 2, DueAt: e.now().Add(time.Hour)}))
	e.acquire(key("expired"))
	e.Expire(e.T, key("expired"))
	e.same("overview", overview(), store.Overview{
		Sources: 6, Paused: 1, Running: 1, Failing: 1, Due: 2, Never: 4, OpenRejects: 2, Oldest: e.source(key("due")).DueAt,
	})
}
