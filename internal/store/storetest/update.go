package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var updateCases = []testCase{
	{"all that f writes is there when it returns nil", updateCommits},
	{"an error in f undoes all", updateError},
	{"a panic in f undoes all and goes on", updatePanic},
	{"an error that f keeps to itself undoes all", updateSwallowed},
	{"a context that ends in f undoes all", updateCanceled},
	{"only the holder of the lease writes", updateLease},
	{"a lease that runs out in f is lost", updateExpires},
	{"what f has written it can read", updateReadsOwn},
	{"Try undoes what fails in it and no more", updateTry},
	{"a transaction that is over does nothing", updateOver},
	{"readers and writers at once lose no update", updateConcurrent},
	{"sources that look alike are kept apart", updateIsolated},
}

// everything writes with each method of Tx over what prepare left.
func everything(ctx context.Context, tx store.Tx, runID string, rejectID int64) error {
	old := row("issues/1", `{"v":1}`, 10)
	touched := row("issues/2", `{"v":1}`, 10)
	touched.Mark = 99
	return errors.Join(
		tx.Insert(ctx, []store.Row{row("issues/3", `{"v":3}`, 10)}),
		tx.Put(ctx, []store.Row{next(old, `{"v":2}`, 11)}),
		tx.Touch(ctx, []store.Row{touched}),
		tx.Reject(ctx, []store.Reject{{Stream: "issues", Reason: "bad", Raw: []byte("y"), Digest: hashOf([]byte("y"))}}),
		tx.Resolve(ctx, rejectID, store.Replayed, runID),
		tx.Change(ctx, []store.Change{{ID: "issues/1", Stream: "issues", Kind: "updated", Mark: 11, Version: 2, RunID: runID}}),
		tx.DropCursors(ctx, "pulls"),
		tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: `{"watermark":11}`, Watermark: 11, RunID: runID}),
		tx.Progress(ctx, store.Progress{RunID: runID, Counters: store.Counters{Inserted: 1, Updated: 1, Rejected: 1}, Pages: 1, Input: "in", Notes: "note"}),
	)
}

// prepare stores what everything needs, and returns the id of a reject.
func (e *env) prepare(lease store.Lease, runID string) (rejectID int64) {
	e.Helper()
	e.insert(lease, row("issues/1", `{"v":1}`, 10), row("issues/2", `{"v":1}`, 10))
	e.update(lease, func(tx store.Tx) error {
		return errors.Join(
			tx.Reject(e.ctx, []store.Reject{{Stream: "issues", Reason: "bad", Raw: []byte("x"), Digest: hashOf([]byte("x"))}}),
			tx.SaveCursor(e.ctx, store.Cursor{Stream: "pulls", State: `{}`, RunID: runID}))
	})
	rejects, err := e.s.Rejects(e.ctx, store.RejectFilter{})
	e.ok(err)
	if len(rejects) != 1 {
		e.Fatalf("got %d rejects, want 1", len(rejects))
	}
	return rejects[0].ID
}

// A state is all that a test can see of a source.
type state struct {
	Records []Record
	Changes []store.Change
	Cursors []store.Cursor
	Rejects []store.Reject
	Runs    []store.Run
}

func (e *env) state(key store.Key) state {
	e.Helper()
	var st state
	var err error
	st.Records, st.Changes = e.Records(e.T, key), e.Changes(e.T, key)
	st.Cursors, err = e.s.Cursors(e.ctx, key)
	e.ok(err)
	st.Rejects, err = e.s.Rejects(e.ctx, store.RejectFilter{User: key.User, Provider: key.Provider, Resolved: true})
	e.ok(err)
	st.Runs, err = e.s.Runs(e.ctx, store.RunFilter{User: key.User, Provider: key.Provider})
	e.ok(err)
	return st
}

func updateCommits(e *env) {
	lease, runID := e.open()
	rejectID := e.prepare(lease, runID)
	e.update(lease, func(tx store.Tx) error { return everything(e.ctx, tx, runID, rejectID) })

	touched := row("issues/2", `{"v":1}`, 10)
	touched.Mark = 99
	e.holds(alice, next(row("issues/1", `{"v":1}`, 10), `{"v":2}`, 11), touched, row("issues/3", `{"v":3}`, 10))
	got := e.state(alice)
	e.same("changes", got.Changes, []store.Change{{ID: "issues/1", Stream: "issues", Kind: "updated", Mark: 11, Version: 2, RunID: runID}})
	if len(got.Cursors) != 1 || got.Cursors[0].Stream != "issues" || got.Cursors[0].State != `{"watermark":11}` {
		e.Errorf("cursors: got %+v", got.Cursors)
	}
	if len(got.Rejects) != 2 || got.Rejects[0].Resolution != "" || got.Rejects[1].Resolution != store.Replayed {
		e.Errorf("rejects: got %+v, want a new one and a replayed one", got.Rejects)
	}
	run := got.Runs[0]
	e.same("counters", run.Counters, store.Counters{Inserted: 1, Updated: 1, Rejected: 1})
	if run.Pages != 1 || run.Input != "in" || run.Notes != "note" {
		e.Errorf("run: got %+v", run)
	}
}

// undone runs f with everything written, and fails unless nothing of it stays.
func (e *env) undone(f func(lease store.Lease, runID string, rejectID int64)) {
	e.Helper()
	lease, runID := e.open()
	rejectID := e.prepare(lease, runID)
	before := e.state(alice)
	f(lease, runID, rejectID)
	e.same("state after the failure", e.state(alice), before)
	// The store works as before.
	e.insert(lease, row("issues/9", `{}`, 1))
}

func updateError(e *env) {
	e.undone(func(lease store.Lease, runID string, rejectID int64) {
		boom := errors.New("boom")
		err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
			e.ok(everything(ctx, tx, runID, rejectID))
			return boom
		})
		e.is("update", err, boom)
	})
}

func updatePanic(e *env) {
	e.undone(func(lease store.Lease, runID string, rejectID int64) {
		defer func() {
			if got := recover(); got != "boom" {
				e.Errorf("recovered %v, want boom", got)
			}
		}()
		err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
			e.ok(everything(ctx, tx, runID, rejectID))
			panic("boom")
		})
		e.Errorf("update returned %v, want a panic", err)
	})
}

func updateSwallowed(e *env) {
	old := row("issues/1", `{"v":1}`, 10)
	e.undone(func(lease store.Lease, runID string, rejectID int64) {
		for name, fail := range map[string]func(ctx context.Context, tx store.Tx) error{
			"insert of a row that is there":  func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, []store.Row{old}) },
			"put of a version that is there": func(ctx context.Context, tx store.Tx) error { return tx.Put(ctx, []store.Row{old}) },
			"data that is refused": func(ctx context.Context, tx store.Tx) error {
				return tx.Insert(ctx, []store.Row{row("issues/8", `{`, 1)})
			},
		} {
			err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
				e.ok(everything(ctx, tx, runID, rejectID))
				if fail(ctx, tx) == nil {
					e.Errorf("%s: no error", name)
				}
				return nil
			})
			if err == nil {
				e.Errorf("%s: the transaction was committed", name)
			}
		}
	})
}

func updateCanceled(e *env) {
	e.undone(func(lease store.Lease, runID string, rejectID int64) {
		ctx, cancel := context.WithCancel(e.ctx)
		err := e.s.Update(ctx, lease, func(ctx context.Context, tx store.Tx) error {
			e.ok(everything(ctx, tx, runID, rejectID))
			cancel()
			return nil
		})
		e.is("update", err, context.Canceled)
		err = e.s.Update(ctx, lease, func(context.Context, store.Tx) error { return nil })
		e.is("update under an ended context", err, context.Canceled)
	})
}

func updateLease(e *env) {
	lease, runID := e.open()
	rejectID := e.prepare(lease, runID)
	before := e.state(alice)
	try := func(what string, l store.Lease) {
		e.Helper()
		err := e.s.Update(e.ctx, l, func(ctx context.Context, tx store.Tx) error {
			return everything(ctx, tx, runID, rejectID)
		})
		e.is(what, err, store.ErrLeaseLost)
		e.same("state after "+what, e.state(alice).Records, before.Records)
	}
	wrong := lease
	wrong.Token++
	try("a token that was never given", wrong)
	wrong = lease
	wrong.User = "bob"
	try("a source that is not there", wrong)

	e.Expire(e.T, alice)
	try("a lease that has run out", lease)
	second := e.acquire(alice)
	if second.Token == lease.Token {
		e.Errorf("the same token %d twice", lease.Token)
	}
	try("a lease that another took", lease)
	e.update(second, func(tx store.Tx) error { return tx.Insert(e.ctx, nil) })
	e.ok(e.s.Release(e.ctx, second))
	try("a lease that was given back", second)
}

func updateExpires(e *env) {
	e.apply(alice)
	c, err := e.s.Acquire(e.ctx, alice, "daemon", 300*time.Millisecond)
	e.ok(err)
	err = e.s.Update(e.ctx, c.Lease, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Insert(ctx, []store.Row{row("issues/1", `{}`, 1)}); err != nil {
			return err
		}
		// Longer than the lease, by the database's clock.
		for until := c.Now.Add(350 * time.Millisecond); e.now().Before(until); {
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	})
	e.is("update", err, store.ErrLeaseLost)
	e.holds(alice)
}

func updateReadsOwn(e *env) {
	lease, _ := e.open()
	first := row("issues/1", `{"v":1}`, 1)
	second := next(first, `{"v":2}`, 2)
	e.update(lease, func(tx store.Tx) error {
		e.ok(tx.Insert(e.ctx, []store.Row{first}))
		e.ok(tx.Put(e.ctx, []store.Row{second}))
		heads, err := tx.Heads(e.ctx, []string{first.ID})
		e.ok(err)
		e.same("heads", heads, []store.Head{headOf(second)})
		data, err := tx.Data(e.ctx, []string{first.ID})
		e.ok(err)
		e.same("data", data, [][]byte{second.Data})
		return nil
	})
}

func updateTry(e *env) {
	lease, _ := e.open()
	a, b, c := row("issues/a", `{}`, 1), row("issues/b", `{}`, 1), row("issues/c", `{}`, 1)
	boom := errors.New("boom")
	e.update(lease, func(tx store.Tx) error {
		insert := func(rows ...store.Row) func() error {
			return func() error { return tx.Insert(e.ctx, rows) }
		}
		e.ok(tx.Try(e.ctx, insert(a)))
		e.is("conflict in Try", tx.Try(e.ctx, insert(a)), store.ErrConflict)
		e.refused("bad data in Try", tx.Try(e.ctx, insert(b, row("issues/bad", `{"a":`, 1))))
		e.is("error in Try", tx.Try(e.ctx, func() error {
			e.ok(insert(b)())
			return boom
		}), boom)
		if err := tx.Try(e.ctx, func() error {
			e.ok(insert(b)())
			_ = insert(a)() // kept to itself
			return nil
		}); err == nil {
			e.Error("an error kept inside Try: no error")
		}
		// Inside one another: what failed inside is undone, the rest stays.
		return tx.Try(e.ctx, func() error {
			e.ok(insert(c)())
			e.is("inner", tx.Try(e.ctx, insert(b, c)), store.ErrConflict)
			return nil
		})
	})
	e.holds(alice, a, c)
}

func updateOver(e *env) {
	lease, _ := e.open()
	var kept store.Tx
	e.update(lease, func(tx store.Tx) error {
		kept = tx
		return nil
	})
	if err := kept.Insert(e.ctx, []store.Row{row("issues/1", `{}`, 1)}); err == nil {
		e.Error("insert after the end: no error")
	}
	e.holds(alice)
}

func updateConcurrent(e *env) {
	const writers, each = 8, 25
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	leases := []store.Lease{e.acquire(alice), e.acquire(bob)}
	for _, l := range leases {
		e.insert(l, row("issues/1", `{"n":0}`, 1))
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; n < each && e.ctx.Err() == nil; {
				err := e.s.Update(e.ctx, leases[w%2], func(ctx context.Context, tx store.Tx) error {
					heads, err := tx.Heads(ctx, []string{"issues/1"})
					if err != nil {
						return err
					}
					r := row("issues/1", `{"n":1}`, 1)
					r.Version = heads[0].Version + 1
					return tx.Put(ctx, []store.Row{r})
				})
				switch {
				case err == nil:
					n++
				case !errors.Is(err, store.ErrConflict):
					e.Error(err)
					return
				}
				if _, err := e.s.Count(e.ctx, alice); err != nil {
					e.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, l := range leases {
		if got, want := e.heads(l, "issues/1")[0].Version, int64(1+writers/2*each); got != want {
			e.Errorf("source %s: version %d, want %d", l.Key, got, want)
		}
	}
}

func updateIsolated(e *env) {
	keys := []store.Key{
		{User: "a|b", Provider: "c"}, {User: "a", Provider: "b|c"}, {User: "a b", Provider: "c"}, {User: "a", Provider: "b c"},
		{User: "a/b", Provider: "c"}, {User: "a", Provider: "b/c"}, {User: "A", Provider: "b/c"}, {User: "a", Provider: "b/C"},
		{User: "caf\u00e9", Provider: "x"}, {User: "cafe\u0301", Provider: "x"}, {User: "a", Provider: "x"}, {User: "a ", Provider: "x"},
	}
	e.apply(keys...)
	for _, key := range keys {
		lease := e.acquire(key)
		e.same("heads of "+key.String(), e.heads(lease, "issues/1"), []store.Head{{ID: "issues/1"}})
		e.insert(lease, row("issues/1", `{"of":"`+key.User+" "+key.Provider+`"}`, 1))
	}
	for _, key := range keys {
		e.holds(key, row("issues/1", `{"of":"`+key.User+" "+key.Provider+`"}`, 1))
	}
}
