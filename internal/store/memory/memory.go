// Package memory is a store in the process's memory: for tests of everything
// above the store, and for dry runs. It forgets all when it is closed.
//
// It behaves as the databases do (see storetest), with one mutex for all:
// a transaction keeps every other caller waiting, readers as well, so a
// function given to Update must use its Tx and Now, and nothing else of the
// store.
package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// Store implements store.Store.
type Store struct {
	clock func() time.Time

	mu         sync.Mutex
	sources    map[store.Key]*source
	records    map[store.Key]map[string]*record // by external id
	cursors    map[store.Key]map[cursorKey]store.Cursor
	rejects    map[int64]*store.Reject
	rejectIDs  map[rejectKey]int64
	lastReject int64
	runs       map[string]*store.Run
	ticks      map[tickKey]string // id of the run
	changes    []change
	lastChange int64

	credentials map[store.Key]store.Credential
	events      []store.Event
	lastEvent   int64
	memos       map[memoKey]store.Memo
}

var _ store.Store = (*Store)(nil)

// A source is a row of `sources`.
type source struct {
	connector, schedule, full string
	declared, account         string
	nextAt, dueAt, fullAt     time.Time
	resume                    string
	failures                  int
	paused                    []string // sorted; never changed in place
	token                     int64
	owner                     string
	leaseUntil                time.Time
	lastRunID                 string
	lastDoneAt                time.Time
	createdAt                 time.Time
}

// A record is a row of `records`.
type record struct {
	store.Row
	deletedAt, firstSeenAt, updatedAt time.Time
}

type cursorKey struct{ stream, part string }

type rejectKey struct {
	key          store.Key
	stream, part string
	digest       store.Hash
}

type tickKey struct {
	key  store.Key
	tick time.Time
}

type change struct {
	key store.Key
	store.Change
	seq int64
	at  time.Time
}

// New returns an empty store whose database clock is clock, time.Now if nil.
func New(clock func() time.Time) *Store {
	if clock == nil {
		clock = time.Now
	}
	return &Store{
		clock:     clock,
		sources:   map[store.Key]*source{},
		records:   map[store.Key]map[string]*record{},
		cursors:   map[store.Key]map[cursorKey]store.Cursor{},
		rejects:   map[int64]*store.Reject{},
		rejectIDs: map[rejectKey]int64{},
		runs:      map[string]*store.Run{},
		ticks:     map[tickKey]string{},

		credentials: map[store.Key]store.Credential{},
		memos:       map[memoKey]store.Memo{},
	}
}

// Now implements store.Queue.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return s.now(), ctx.Err()
}

// Migrate implements store.Store. There is nothing to migrate.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) { return nil, ctx.Err() }

// Migrations implements store.Store.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) { return nil, ctx.Err() }

// Close implements store.Store.
func (s *Store) Close() error { return nil }

// Changes returns the outbox of a source, oldest first.
func (s *Store) Changes(key store.Key) []store.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Change
	for _, c := range s.changes {
		if c.key == key {
			out = append(out, c.Change)
		}
	}
	return out
}

// Expire makes the lease of a source one that ran out a second ago.
func (s *Store) Expire(key store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src := s.sources[key]; src != nil && !src.leaseUntil.IsZero() {
		src.leaseUntil = s.now().Add(-time.Second)
	}
}

// A Record is all that is stored of a record.
type Record struct {
	store.Row
	DeletedAt, FirstSeenAt, UpdatedAt time.Time // DeletedAt is zero while it is live
}

// Records returns the records of a source, live and deleted, by external id.
func (s *Store) Records(key store.Key) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, r := range s.sorted(key) {
		rec := Record{r.Row, r.deletedAt, r.firstSeenAt, r.updatedAt}
		rec.Data = slices.Clone(r.Data)
		out = append(out, rec)
	}
	return out
}

// now is the database's clock, to the microsecond as the databases keep time.
func (s *Store) now() time.Time { return micro(s.clock()) }

// micro returns t as a database would return it.
func micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}
