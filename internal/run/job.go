package run

import (
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store"
)

// A Source is what is run, as the configuration has it.
type Source struct {
	Key         store.Key
	Streams     []syncd.Stream
	Settings    string // fingerprint of what decides the content of the lists
	MarkMissing bool   // mark as deleted what a complete listing lacks
	MaxMissing  int    // percent of the stored records that may go so without an operator's word
	AllowEmpty  bool   // a complete listing of nothing is to be believed
	MaxRejects  int    // percent of a run's records that may be set aside before it is ended
	Budget      Budget
	Wire        Wire
}

// A Budget ends long runs, to be gone on with in their turn. Zero is no limit.
type Budget struct {
	Time  time.Duration
	Pages int
}

// A Wire knows of the requests of the run. Nil is allowed.
type Wire interface {
	Date() time.Time // the provider's clock at its first answer; zero if it has not told
	Requests() int64 // sent so far
}

// A Job is one run to be done.
type Job struct {
	Source  Source
	Lease   store.Lease
	RunID   string
	At      time.Time // now, by the database's clock
	Full    bool      // read everything of each stream that was not read so since FullDue
	FullDue time.Time
	// Continue says that the run before did not reach the end of its round, one
	// pass over all of the source: what was walked in that round is left alone.
	Continue bool
	Stream   string          // only this stream; "" is all
	Confirm  bool            // an operator allows any number of deletes by absence
	Stop     <-chan struct{} // closed: fetch no more pages, commit the one in hand
	OnPage   func(Event)     // called after each commit; nil is allowed
}

// An Event is what a page added, for progress bars.
type Event struct {
	Stream, Part string
	Pages        int64
	Counters     store.Counters
}

// A Result is how a run ended.
type Result struct {
	State     string // done, partial, parked, failed or lost
	Err       error  // of failed and lost
	Until     time.Time
	Notes     []string
	Input     string
	Counters  store.Counters
	Pages     int64
	Unchanged bool // every stream said that there is nothing new
}
