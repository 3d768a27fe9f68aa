// Package storetest is the conformance suite of the stores: every promise of
// the interfaces in package store, as a test. What passes here behaves alike
// on every store.
//
// What is not asked for, because the stores do differ: the json type of
// PostgreSQL stores the escapes \u0000 and halves of surrogate pairs, and
// numbers beyond its numeric, and refuses them only when SQL reads them; the
// other stores refuse them when they are written. package ingest sets such
// records aside before any store sees them. Depth between 10,000 and 100,000
// levels is refused by some stores only.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/syncdhq/syncd/internal/store"
)

// A Harness is one empty store, migrated, with the hooks that tests need and
// the interfaces do not have.
type Harness struct {
	Store store.Store
	// Expire makes the lease of a source one that ran out a second ago by the
	// database's clock: UPDATE sources SET lease_until = now() - interval '1 second'.
	Expire func(t *testing.T, key store.Key)
	// Records returns the rows of `records` of a source, by external id in byte order.
	Records func(t *testing.T, key store.Key) []Record
	// Changes returns the rows of `changes` of a source, in the order of seq.
	Changes func(t *testing.T, key store.Key) []store.Change
}

// A Record is a row of `records`. Row.Deleted is whether deleted_at is set.
type Record struct {
	store.Row
	DeletedAt, FirstSeenAt, UpdatedAt time.Time // DeletedAt is zero while it is live
}

// Run tests the store that open returns. open is called for each test, and
// closes what it opened by t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"update", updateCases},
		{"records", recordCases},
		{"refused", refusedCases},
		{"rejects", rejectCases},
		{"cursors", cursorCases},
		{"progress", progressCases},
		{"apply", applyCases},
		{"claim", claimCases},
		{"lease", leaseCases},
		{"runs", runCases},
		{"pause", pauseCases},
		{"remove", removeCases},
		{"catalog", catalogCases},
		{"credentials", credentialCases},
		{"accounts", accountCases},
		{"users", userCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					h := open(t)
					c.run(&env{T: t, Harness: h, s: h.Store, ctx: t.Context()})
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(*env)
}

// env is one test with its store.
type env struct {
	*testing.T
	Harness
	s   store.Store
	ctx context.Context
}

// alice is the source of tests that need but one.
var alice = store.Key{User: "alice", Provider: "github"}

// ttl is longer than any test.
const ttl = time.Hour

func (e *env) now() time.Time {
	e.Helper()
	now, err := e.s.Now(e.ctx)
	e.ok(err)
	return now
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// tick waits until the database's clock has moved on, and returns it.
func (e *env) tick() time.Time {
	e.Helper()
	from := e.now()
	for e.ctx.Err() == nil {
		if now := e.now(); now.After(from) {
			return now
		}
	}
	e.Fatal("the database's clock stands still")
	return from
}

// spec is a source that is due since a minute.
func (e *env) spec(key store.Key) store.Spec {
	now := e.now()
	return store.Spec{
		Key: key, Connector: "test", Schedule: "@hourly",
		NextAt: now.Add(time.Hour), SpreadAt: now.Add(time.Hour + time.Minute), DueAt: now.Add(-time.Minute),
	}
}

// apply makes keys the sources of the configuration.
func (e *env) apply(keys ...store.Key) {
	e.Helper()
	var specs []store.Spec
	for _, key := range keys {
		specs = append(specs, e.spec(key))
	}
	_, err := e.s.Apply(e.ctx, specs)
	e.ok(err)
}

// acquire takes the lease of a source.
func (e *env) acquire(key store.Key) store.Lease {
	e.Helper()
	c, err := e.s.Acquire(e.ctx, key, "daemon", ttl)
	e.ok(err)
	return c.Lease
}

// begin begins a run without a tick, which leaves the source due in an hour.
func (e *env) begin(lease store.Lease) (runID string) {
	e.Helper()
	run := store.Run{ID: newID(e), Trigger: store.TriggerOperator}
	due := e.now().Add(time.Hour)
	e.ok(e.s.Begin(e.ctx, lease, run, due, due))
	return run.ID
}

// open returns a lease of alice's source and a run under it.
func (e *env) open() (lease store.Lease, runID string) {
	e.Helper()
	e.apply(alice)
	lease = e.acquire(alice)
	return lease, e.begin(lease)
}

func newID(e *env) string {
	id, err := uuid.NewV7()
	e.ok(err)
	return id.String()
}

// update runs f under the lease, and fails the test if it does not commit.
func (e *env) update(lease store.Lease, f func(tx store.Tx) error) {
	e.Helper()
	e.ok(e.s.Update(e.ctx, lease, func(_ context.Context, tx store.Tx) error { return f(tx) }))
}

// source returns the row of a source.
func (e *env) source(key store.Key) store.Source {
	e.Helper()
	rows, err := e.s.Sources(e.ctx, store.SourceFilter{User: key.User, Provider: key.Provider})
	e.ok(err)
	if len(rows) != 1 || rows[0].Key != key {
		e.Fatalf("source %s: got %+v, want one row", key, rows)
	}
	return rows[0]
}

// run returns the row of a run.
func (e *env) run(id string) store.Run {
	e.Helper()
	r, err := e.s.Run(e.ctx, id)
	e.ok(err)
	return r
}
