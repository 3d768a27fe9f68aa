package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Users is all that there is about one user, of their sources and of those that
// were removed: to hand it over, and to erase it.
type Users interface {
	// Users returns up to limit users of whom there is a row in a table with an
	// index by user (all but the outbox), by id, those that sort after `after`.
	Users(ctx context.Context, after string, limit int) ([]User, error)

	// Traces counts the rows about a user by provider and table, in that order.
	// What has no row is left out; rows that are of no provider have none.
	Traces(ctx context.Context, user string) ([]Trace, error)

	// Erase deletes every row about a user, in bounded steps, and returns how
	// many of what, also beside an error. What was cut goes on when it is called
	// again. A source that is being run is a *LeasedError; one that was added
	// again meanwhile keeps what it has, and shows in Traces.
	Erase(ctx context.Context, user string) ([]Trace, error)

	// Scrub makes the bytes of deleted rows go from the database's own files, as
	// far as it can, and returns where they are left, for people. With rewrite it
	// may write all of them anew, which takes as long as they are large, and as
	// much room twice.
	Scrub(ctx context.Context, rewrite bool) (left []string, err error)

	// RecordsOf returns up to limit records of a user, live and deleted, by
	// provider and external id, those that sort after `after`.
	RecordsOf(ctx context.Context, user string, after RecordKey, limit int) ([]UserRecord, error)

	// CursorsOf returns up to limit cursors of a user by provider, stream and
	// part, those that sort after `after`.
	CursorsOf(ctx context.Context, user string, after UserCursor, limit int) ([]UserCursor, error)

	// ChangesOf returns the changes of a user among the next numbers of the
	// outbox after seq, in order, and from where to go on; 0 is the end.
	ChangesOf(ctx context.Context, user string, seq int64) (changes []UserChange, next int64, err error)
}

// A User is whose data it is, with the number of their sources.
type User struct {
	ID              string
	Sources, Paused int64
}

// A Trace is how many rows about a user a table has.
type Trace struct {
	Provider string `json:"provider,omitempty"` // "" if they are of none
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`
}

// A RecordKey is where a record stands among its user's.
type RecordKey struct{ Provider, ID string }

// A UserRecord is a row of `records`.
type UserRecord struct {
	Key
	Row
	DeletedAt   time.Time // zero while it is live
	FirstSeenAt time.Time
	UpdatedAt   time.Time
}

// A UserCursor is a row of `cursors`.
type UserCursor struct {
	Provider string
	Cursor
}

// A UserChange is a row of `changes`.
type UserChange struct {
	Seq      int64
	Provider string
	Change
	At time.Time
}

// A Tally counts rows by provider and table: by a Trace whose Rows is 0.
type Tally map[Trace]int64

// Add counts n more rows.
func (t Tally) Add(provider, table string, n int64) {
	if n > 0 {
		t[Trace{Provider: provider, Table: table}] += n
	}
}

// AddAll counts what another has counted.
func (t Tally) AddAll(other Tally) {
	for trace, rows := range other {
		t[trace] += rows
	}
}

// Rows is how many were counted.
func (t Tally) Rows() (n int64) {
	for _, rows := range t {
		n += rows
	}
	return n
}

// Traces returns what was counted, by provider and table.
func (t Tally) Traces() []Trace {
	var out []Trace
	for trace, rows := range t {
		trace.Rows = rows
		out = append(out, trace)
	}
	slices.SortFunc(out, func(a, b Trace) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Table, b.Table))
	})
	return out
}
