package store

import (
	"context"
	"time"
)

// Catalog is the read side, for people and programs.
type Catalog interface {
	// Sources returns the sources that match, ordered by user and provider.
	Sources(ctx context.Context, f SourceFilter) ([]Source, error)
	// Runs returns the runs that match, newest first.
	Runs(ctx context.Context, f RunFilter) ([]Run, error)
	// Run returns one run.
	Run(ctx context.Context, id string) (Run, error)
	// Rejects returns the rejects that match, newest first.
	Rejects(ctx context.Context, f RejectFilter) ([]Reject, error)
	// Reject returns one reject, with its bytes.
	Reject(ctx context.Context, id int64) (Reject, error)
	// Count returns how many live and deleted records a source has, by stream.
	Count(ctx context.Context, key Key) ([]StreamCount, error)
	// Overview returns the numbers for `status`, each from an index or a small table.
	Overview(ctx context.Context) (Overview, error)
}

// A SourceFilter selects sources; zero fields select all.
type SourceFilter struct {
	User, Provider string
	Declared       bool // only those that were added at run time
	After          Key  // sort after this one: for paging
	Limit          int  // 0 is no limit
}

// A Source is a row of `sources`.
type Source struct {
	Key
	Connector   string
	Schedule    string
	Declared    string // what it was added with at run time; "" if the configuration has it
	Account     string // whose records these are, by the provider's id; "" if that is not known
	Paused      []string
	NextAt      time.Time
	DueAt       time.Time
	FullAt      time.Time
	Resume      string
	Failures    int
	Owner       string    // who runs it; "" if nobody does
	LeaseUntil  time.Time // zero if nobody does
	LastRunID   string
	LastState   string // of the last run
	LastError   string
	LastEndedAt time.Time
	LastDoneAt  time.Time // when a run last ended well; zero if never
	OpenRejects int64
	CreatedAt   time.Time
}

// States of a run.
const (
	Running   = "running"
	Done      = "done"
	Partial   = "partial"   // its budget was used up, or the daemon stopped; it goes on
	Parked    = "parked"    // it waits for quota until a time
	Failed    = "failed"    // see its error
	Abandoned = "abandoned" // its daemon died
	Lost      = "lost"      // its lease was taken
)

// Triggers of a run.
const (
	TriggerSchedule = "schedule"
	TriggerOperator = "operator"
	TriggerCatchUp  = "catch-up" // for ticks that were missed while no daemon ran
	TriggerResume   = "resume"   // goes on where the last run ended
)

// A Run is a row of the run log.
type Run struct {
	ID        string // a UUIDv7: sorts by time
	Key              // the source
	Token     int64  // of the lease it ran under
	Owner     string
	Trigger   string
	Tick      time.Time // the nominal time it ran for; zero if none. At most one run has a source's tick.
	Folded    int       // ticks that this run stands for besides its own
	Full      bool      // it was asked to read everything
	State     string
	Input     string // input_fingerprint: a file's checksum, or the range of the cursors
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
	Counters  Counters
	Pages     int64
	Requests  int64
	Error     string
	Notes     string // what an operator should know, one per line
	Resumes   string // id of the abandoned run that it took over from, if any
}

// A RunFilter selects runs; zero fields select all.
type RunFilter struct {
	User, Provider, State string
	Before                string // id: only older runs, for paging
	Limit                 int
}

// A RejectFilter selects rejects; zero fields select all.
type RejectFilter struct {
	User, Provider, Stream, Reason string
	RunID                          string
	Resolved                       bool // also those that are resolved
	BeforeID                       int64
	Limit                          int
}

// A StreamCount is how many records of a stream are stored.
type StreamCount struct {
	Stream        string
	Live, Deleted int64
}

// An Overview is the state of all sources in numbers.
type Overview struct {
	Now                                           time.Time
	Sources, Paused, Running, Failing, Due, Never int64
	OpenRejects                                   int64
	Oldest                                        time.Time // the earliest due_at in the past among claimable sources
}
