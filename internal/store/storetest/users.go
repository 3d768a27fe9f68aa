package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var userCases = []testCase{
	{"Erase leaves nothing of a user, and all of others", erase},
	{"what sources left that were removed is erased too", eraseLeft},
	{"a source that is being run is not erased", eraseLeased},
	{"Users lists everybody of whom there is a row", usersListed},
	{"all of a user can be read in pages", usersRead},
	{"nobody has no rows", usersNobody},
}

// live gives a source a row in every table.
func (e *env) live(key store.Key, records int) {
	e.Helper()
	e.ok(e.s.Add(e.ctx, e.declared(key, "{}")))
	e.fill(key, records)
	_, err := e.s.PutCredential(e.ctx, sealed(key, "one"), store.Event{Key: key, Kind: store.EventConnected})
	e.ok(err)
	id := key.User + " " + key.Provider
	_, err = e.s.PutMemo(e.ctx, store.Memo{Kind: store.MemoConnect, ID: id, User: key.User, Body: "{}"}, ttl)
	e.ok(err)
}

func (e *env) traces(user string) []store.Trace {
	e.Helper()
	found, err := e.s.Traces(e.ctx, user)
	e.ok(err)
	return found
}

// whole are the traces of a source that is live and of n memos.
func whole(provider string, records int64) []store.Trace {
	return []store.Trace{
		{Provider: provider, Table: "changes", Rows: records}, {Provider: provider, Table: "credentials", Rows: 1},
		{Provider: provider, Table: "cursors", Rows: 1}, {Provider: provider, Table: "events", Rows: 1},
		{Provider: provider, Table: "records", Rows: records}, {Provider: provider, Table: "rejects", Rows: 1},
		{Provider: provider, Table: "runs", Rows: 1}, {Provider: provider, Table: "sources", Rows: 1},
	}
}

// nothing are the traces of nobody.
var nothing []store.Trace

func memosOf(n int64) []store.Trace { return []store.Trace{{Table: "memos", Rows: n}} }

func erase(e *env) {
	const n = 5100 // more than a step
	others := []store.Key{{User: "alic", Provider: "github"}, {User: "alice ", Provider: "github"}, {User: "Alice", Provider: "github"}, {User: "alice2", Provider: "gitlab"}, {User: "github", Provider: "alice"}}
	e.live(alice, n)
	e.live(store.Key{User: "alice", Provider: "gitlab"}, 3)
	_, err := e.s.PutMemo(e.ctx, store.Memo{Kind: store.MemoAnswer, ID: "of nobody", Body: "{}"}, ttl)
	e.ok(err)
	var before []state
	for _, key := range others {
		e.live(key, 2)
		before = append(before, e.state(key))
	}
	want := append(append(memosOf(2), whole("github", n)...), whole("gitlab", 3)...)
	e.same("traces", e.traces("alice"), want)
	removed, err := e.s.Erase(e.ctx, "alice")
	e.ok(err)
	e.same("removed", removed, want)
	e.same("left", e.traces("alice"), nothing)
	for i, key := range others {
		e.same("of "+key.String(), e.state(key), before[i])
		e.same("of "+key.String(), e.traces(key.User), append(memosOf(1), whole(key.Provider, 2)...))
	}
	_, err = e.s.Memo(e.ctx, store.MemoAnswer, "of nobody")
	e.ok(err)
	removed, err = e.s.Erase(e.ctx, "alice")
	e.ok(err)
	e.same("removed again", removed, nothing)
	e.live(alice, 1) // a new life begins with nothing
	e.same("traces", e.traces("alice"), append(memosOf(1), whole("github", 1)...))
	_, err = e.s.Scrub(e.ctx, true)
	e.ok(err)
	_, err = e.s.Scrub(e.ctx, false)
	e.ok(err)
	e.same("after scrubbing", e.state(others[0]), before[0])
}

func eraseLeft(e *env) {
	e.live(alice, 3)
	gitlab := store.Key{User: "alice", Provider: "gitlab"}
	e.live(gitlab, 4)
	e.ok(e.s.Remove(e.ctx, gitlab, false))
	e.ok(e.s.Remove(e.ctx, alice, false))
	_, err := e.s.PutCredential(e.ctx, sealed(gitlab, "of no source"))
	e.ok(err)
	only := store.Key{User: "alice", Provider: "told"}
	e.ok(e.s.Tell(e.ctx, store.Event{Key: only, Kind: store.EventDisconnected}))
	want := append(memosOf(2),
		store.Trace{Provider: "github", Table: "changes", Rows: 3}, store.Trace{Provider: "github", Table: "events", Rows: 1},
		store.Trace{Provider: "github", Table: "records", Rows: 3}, store.Trace{Provider: "github", Table: "runs", Rows: 1},
		store.Trace{Provider: "gitlab", Table: "changes", Rows: 4}, store.Trace{Provider: "gitlab", Table: "credentials", Rows: 1},
		store.Trace{Provider: "gitlab", Table: "events", Rows: 1}, store.Trace{Provider: "gitlab", Table: "records", Rows: 4},
		store.Trace{Provider: "gitlab", Table: "runs", Rows: 1}, store.Trace{Provider: "told", Table: "events", Rows: 1})
	e.same("traces", e.traces("alice"), want)
	removed, err := e.s.Erase(e.ctx, "alice")
	e.ok(err)
	e.same("removed", removed, want)
	e.same("left", e.traces("alice"), nothing)
}

func eraseLeased(e *env) {
	first, last := store.Key{User: "alice", Provider: "a"}, store.Key{User: "alice", Provider: "z"}
	e.live(first, 1)
	e.live(last, 1)
	lease, _ := e.open()
	e.insert(lease, row("issues/1", `{}`, 1))
	was, until := e.state(alice), e.source(alice).LeaseUntil
	removed, err := e.s.Erase(e.ctx, "alice")
	e.leased("erase", err, alice, lease.Owner, until)
	e.same("what came before it", removed, append(memosOf(2), func() (out []store.Trace) {
		for _, t := range whole("a", 1) {
			if t.Table != "changes" { // which are walked over once, at the end
				out = append(out, t)
			}
		}
		return out
	}()...))
	e.same("what is run", e.state(alice), was)
	e.insert(lease, row("issues/2", `{}`, 1))
	e.Expire(e.T, alice)
	_, err = e.s.Erase(e.ctx, "alice")
	e.ok(err)
	e.same("left", e.traces("alice"), nothing)
	err = e.s.Update(e.ctx, lease, func(context.Context, store.Tx) error { return nil })
	e.is("whoever ran it", err, store.ErrLeaseLost)
}

func usersListed(e *env) {
	for _, key := range []store.Key{{User: "B", Provider: "x"}, {User: "a", Provider: "x"}, {User: "a", Provider: "y"}, {User: "é", Provider: "x"}} {
		e.ok(e.s.Add(e.ctx, e.declared(key, "{}")))
	}
	_, err := e.s.Pause(e.ctx, store.Key{User: "a", Provider: "y"}, "x")
	e.ok(err)
	e.live(store.Key{User: "left", Provider: "x"}, 2)
	e.ok(e.s.Remove(e.ctx, store.Key{User: "left", Provider: "x"}, false))
	_, err = e.s.PutMemo(e.ctx, store.Memo{Kind: store.MemoConnect, ID: "1", User: "new", Body: "{}"}, ttl)
	e.ok(err)
	_, err = e.s.PutMemo(e.ctx, store.Memo{Kind: store.MemoAnswer, ID: "1", Body: "{}"}, ttl)
	e.ok(err)
	all := []store.User{{ID: "B", Sources: 1}, {ID: "a", Sources: 2, Paused: 1}, {ID: "left"}, {ID: "new"}, {ID: "é", Sources: 1}}
	for _, c := range []struct {
		after string
		limit int
		want  []store.User
	}{{"", 10, all}, {"", 5, all}, {"", 2, all[:2]}, {"a", 2, all[2:4]}, {"aa", 1, all[2:3]}, {"é", 10, nil}} {
		got, err := e.s.Users(e.ctx, c.after, c.limit)
		e.ok(err)
		e.same(fmt.Sprintf("%d users after %q", c.limit, c.after), got, c.want)
	}
}

func usersRead(e *env) {
	gitlab := store.Key{User: "alice", Provider: "gitlab"}
	e.live(alice, 4)
	e.live(store.Key{User: "alice2", Provider: "github"}, 2)
	e.live(gitlab, 3)
	lease := e.acquire(gitlab)
	gone := row("issues/never-seen", "", 7)
	gone.Data, gone.Deleted = nil, true
	odd := row("issues/odd", "{\"a\" :\t1.10}", 8)
	e.insert(lease, gone, odd)
	e.update(lease, func(tx store.Tx) error {
		return tx.SaveCursor(e.ctx, store.Cursor{Stream: "issues", Part: "b", State: `{"x":1}`})
	})
	var got []store.UserRecord
	for last := (store.RecordKey{}); ; {
		page, err := e.s.RecordsOf(e.ctx, "alice", last, 2)
		e.ok(err)
		got = append(got, page...)
		if len(page) < 2 {
			break
		}
		last = store.RecordKey{Provider: page[1].Provider, ID: page[1].ID}
	}
	var want []store.UserRecord
	for _, key := range []store.Key{alice, gitlab} {
		for _, r := range e.Records(e.T, key) {
			want = append(want, store.UserRecord{Key: key, Row: r.Row, DeletedAt: r.DeletedAt, FirstSeenAt: r.FirstSeenAt, UpdatedAt: r.UpdatedAt})
		}
	}
	e.same("records", got, want)
	e.same("number of records", len(got), 9)

	var cursors []string
	for last := (store.UserCursor{}); ; {
		page, err := e.s.CursorsOf(e.ctx, "alice", last, 1)
		e.ok(err)
		if len(page) == 0 {
			break
		}
		last = page[0]
		if last.UpdatedAt.IsZero() {
			e.Errorf("cursor %+v has no time", last)
		}
		cursors = append(cursors, strings.Join([]string{last.Provider, last.Stream, last.Part, last.State}, "|"))
	}
	e.same("cursors", cursors, []string{"github|issues||{}", "gitlab|issues||{}", `gitlab|issues|b|{"x":1}`})

	var changes []store.UserChange
	for next := int64(0); ; {
		page, to, err := e.s.ChangesOf(e.ctx, "alice", next)
		e.ok(err)
		changes = append(changes, page...)
		if next = to; next == 0 {
			break
		}
	}
	e.same("number of changes", len(changes), 7)
	for i, c := range changes {
		provider := "github"
		if i >= 4 {
			provider = "gitlab"
		}
		if c.Provider != provider || c.Kind != "inserted" || c.Seq == 0 || i > 0 && c.Seq <= changes[i-1].Seq || c.At.Before(e.now().Add(-time.Hour)) {
			e.Errorf("change %d: %+v", i, c)
		}
	}
}

func usersNobody(e *env) {
	e.live(alice, 1)
	e.same("traces", e.traces("bob"), nothing)
	removed, err := e.s.Erase(e.ctx, "bob")
	e.ok(err)
	e.same("removed", removed, nothing)
	for _, user := range []string{"", "a\x00", "\xff", strings.Repeat("x", 256)} {
		_, err := e.s.Traces(e.ctx, user)
		e.refused("traces", err)
		_, err = e.s.Erase(e.ctx, user)
		e.refused("erase", err)
	}
	e.same("alice's", len(e.traces("alice")), 9)
}
