// Package store defines what syncd keeps: the narrow interfaces that ingest,
// runs, the scheduler and the command line each need, and the plain types that
// pass through them. The packages below it implement them; storetest proves
// that they behave alike.
//
// A store reads and writes rows and decides nothing. Every time that matters
// between daemons (leases, due times) is the database's own clock.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Key names a source: one user's account at one provider. Its parts are
// separate columns everywhere and are never joined into one text.
type Key struct {
	User     string
	Provider string
}

func (k Key) String() string { return k.User + " " + k.Provider }

// A Lease is the right to run one source. Token is new at each acquisition and
// fences out whoever held it before.
type Lease struct {
	Key
	Token int64
	Owner string // the daemon, for people
}

// Errors that callers tell apart. A store wraps them with what it attempted.
var (
	// ErrLeaseLost: the lease has run out or another holds it. Nothing was written.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrConflict: a row was not as the caller had read it. Nothing was
	// written; the transaction is to be done again from its reads.
	ErrConflict = errors.New("a record was written by another in the meantime")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrTickTaken: the run log has a run for this tick already.
	ErrTickTaken = errors.New("the tick has been run")
	// ErrFull: the disk or the quota is full, or the database is read-only.
	ErrFull = errors.New("the store can't be written")
	// ErrUnreachable: the database did not answer. What was asked may or may
	// not have been done.
	ErrUnreachable = errors.New("the store can't be reached")
)

// A DataError says that the database refuses the data of one of the rows, for
// what it is: the same rows would be refused again, fewer may not.
type DataError struct{ Err error }

func (e *DataError) Error() string { return "the store refuses the data: " + e.Err.Error() }
func (e *DataError) Unwrap() error { return e.Err }

// A LeasedError says who runs the source at the moment.
type LeasedError struct {
	Key
	Owner string
	Until time.Time
}

func (e *LeasedError) Error() string {
	return fmt.Sprintf("source %s is being run by %s (lease until %s)", e.Key, e.Owner, e.Until.UTC().Format(time.RFC3339))
}

// Store is all that a database must do.
type Store interface {
	Pages
	Queue
	Catalog
	Credentials
	Events
	Memos
	Users

	// Migrate brings the schema up to date and returns the migrations that it
	// applied, in order. Any number of daemons may call it at once. A schema
	// newer than this program knows is an error.
	Migrate(ctx context.Context) ([]Migration, error)
	// Migrations lists the known migrations and when each was applied.
	Migrations(ctx context.Context) ([]Migration, error)
	Close() error
}

// A Migration is one numbered step of the schema.
type Migration struct {
	Number    int
	Name      string
	AppliedAt time.Time // zero if not applied
}
