package store

import (
	"context"
	"time"
)

// Queue is what the scheduler needs: which source is due, and who runs it.
//
// The invariants of a source's row:
//   - next_at is its next tick by the schedule; it only moves forward, but for
//     a changed schedule.
//   - due_at is when it is to be claimed: next_at and the source's spread, or
//     another time that the last run's end set (parked, retried, continued).
//   - wake_at is when its row needs attention, the one indexed column: due_at
//     while nobody holds the lease, the lease's end while somebody does, null
//     while it is paused and nobody holds it.
//   - paused is a set of reasons; a source with any is not claimed.
type Queue interface {
	// Now is the database's clock.
	Now(ctx context.Context) (time.Time, error)

	// Apply makes the sources of the configuration those of the store, in one
	// transaction. A new source is due at Spec.DueAt. A source whose schedule
	// text changed gets NextAt and DueAt (a failed, parked or continuing source
	// keeps an earlier due_at). Any other keeps its times. A source that the
	// configuration no longer has is paused with the reason PausedRemoved, and
	// that reason is lifted from one that it has again. Sources that were added
	// at run time are left alone, unless the configuration has them too: then
	// they are the configuration's. Rows that need no change are not written.
	Apply(ctx context.Context, specs []Spec) (Applied, error)

	// Add is Apply for one source, of the configuration or at run time: it
	// touches no other.
	Add(ctx context.Context, spec Spec) error

	// Claim takes the leases of up to n sources that are due, earliest first,
	// in one statement that no two daemons can both win. Sources whose lease
	// has run out are claimed as well: their run is marked abandoned, and
	// Resume says so. (A paused source with a lease that ran out is released
	// and not returned.)
	Claim(ctx context.Context, owner string, n int, ttl time.Duration) ([]Claim, error)

	// Acquire takes the lease of one source, due or not, paused or not. If
	// another holds it the error is a *LeasedError; if there is no such source,
	// ErrNotFound.
	Acquire(ctx context.Context, key Key, owner string, ttl time.Duration) (Claim, error)

	// Begin opens the run's row (state running) and sets the source's next_at
	// and due_at, under the lease. A run with a Tick that the log has already
	// is ErrTickTaken: then nothing but next_at and due_at is written, and the
	// lease is given back.
	Begin(ctx context.Context, lease Lease, run Run, nextAt, dueAt time.Time) error

	// Renew extends leases to ttl from the database's now, and returns those
	// that are no longer held.
	Renew(ctx context.Context, leases []Lease, ttl time.Duration) (lost []Lease, err error)

	// Finish closes the run, gives the lease back and sets when the source is
	// due again. If the lease is lost it is ErrLeaseLost; the source is left
	// alone and the run becomes `lost`, unless another has closed it before.
	Finish(ctx context.Context, lease Lease, runID string, o Outcome) error

	// Release gives back a lease for which no run was begun. A lease that is no
	// longer held is nothing to it.
	Release(ctx context.Context, lease Lease) error

	// NextWake returns the earliest wake_at, and false if there is none.
	NextWake(ctx context.Context) (time.Time, bool, error)

	// Pause adds a reason to a source's set; Resume takes one out, or all if
	// reason is "". Both return the reasons that are left.
	Pause(ctx context.Context, key Key, reason string) ([]string, error)
	Resume(ctx context.Context, key Key, reason string) ([]string, error)

	// SetAccount sets whose records a source's are.
	SetAccount(ctx context.Context, key Key, account string) error

	// Reschedule sets next_at and due_at of a source that nobody runs.
	Reschedule(ctx context.Context, key Key, nextAt, dueAt time.Time) error

	// Purge deletes what a source has read (records, changes, rejects and
	// cursors) in bounded steps, and leaves the source. One that is being run is
	// a *LeasedError.
	Purge(ctx context.Context, key Key) error

	// Remove deletes a source with its cursors, rejects and credential; with purge, its
	// records, changes and runs as well, in bounded steps. A source that is
	// being run is a *LeasedError.
	Remove(ctx context.Context, key Key, purge bool) error
}

// Why a source is paused: a set, of which each reason is given and taken by itself.
const (
	PausedOperator = "operator"        // syncd sources pause
	PausedRemoved  = "removed"         // it is no longer in the configuration
	PausedAuth     = "auth"            // the provider wants the user to connect again
	PausedAccount  = "account_changed" // what was connected is another account than the records are of
	PausedFailing  = "failing"         // it has failed for long
	PausedQuota    = "quota"           // its quota is used up for long
)

// A Spec is what the configuration says of a source, as far as the store must know it.
type Spec struct {
	Key
	Connector string
	Schedule  string    // the expression and zone; a change of this text is a change of schedule
	NextAt    time.Time // its first tick
	DueAt     time.Time // when a new source is first due
	SpreadAt  time.Time // when NextAt is due: NextAt and the source's spread
	FullAt    time.Time // its next full walk; zero if it has no schedule of its own
	Full      string    // the schedule of full walks, "" for none
	Declared  string    // what it is added with at run time, a JSON object; "" in the configuration
}

// Applied says what Apply changed.
type Applied struct {
	Added, Changed, Removed, Restored int // a source that the configuration took over is Changed
}

// A Claim is a lease with what the scheduler must know of its source.
type Claim struct {
	Lease
	Now      time.Time // the database's clock at the claim
	NextAt   time.Time
	DueAt    time.Time
	FullAt   time.Time // zero if full walks have no schedule
	Resume   string    // why it is due other than by its tick: one of the Resume constants, or ""
	Failures int       // failed runs in a row
	Paused   []string
	Declared string    // see Source
	Account  string    // see Source
	WellAt   time.Time // when a run last ended well; when it was created if none has
	Previous string    // id of the run found abandoned, if any
}

// MidRound reports whether the run before ended before it had been through all
// of the source.
func (c Claim) MidRound() bool {
	return c.Resume == ResumePartial || c.Resume == ResumeParked || c.Resume == ResumeAbandoned
}

// Why a source is due other than by its tick.
const (
	ResumeNew       = "new"       // it has never been run
	ResumePartial   = "partial"   // the last run's budget was used up
	ResumeParked    = "parked"    // the last run waits for quota
	ResumeFailed    = "failed"    // the last run failed
	ResumeAbandoned = "abandoned" // the daemon of the last run died
)

// An Outcome is how a run ended and when its source is due again.
type Outcome struct {
	State    string // one of the states
	Error    string // for people; "" if it went well
	Notes    string
	Input    string // the run's input_fingerprint, if it was not set by a page
	Requests int64
	DueAt    time.Time // zero keeps what is stored: what Begin set, or a change of schedule since
	Resume   string
	Failures int
	FullAt   time.Time // zero keeps what is stored
	Pause    string    // a reason to pause it for, in the same transaction; "" for none
	Lift     string    // a reason that is taken away in the same transaction; "" for none
}
