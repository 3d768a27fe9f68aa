package store

import (
	"context"
	"time"
)

// Pages is what reading and ingesting one source needs.
type Pages interface {
	// Update runs f in one transaction that holds the lease: it commits when f
	// returns nil, and then only if the lease's token still holds and the lease
	// has not run out by the database's clock; else ErrLeaseLost and nothing is
	// written. f may run more than once (serialization failures, lost
	// connections) and must start from its reads each time. No provider is
	// asked inside f.
	Update(ctx context.Context, lease Lease, f func(ctx context.Context, tx Tx) error) error

	// Cursors returns the source's cursors, ordered by stream and part.
	Cursors(ctx context.Context, key Key) ([]Cursor, error)

	// Empty reports whether the source has no record, live or deleted, whose
	// external id begins with prefix.
	Empty(ctx context.Context, key Key, prefix string) (bool, error)

	// Live returns up to limit of the source's live records whose external id
	// begins with prefix, that sort after `after` (byte order) and were last
	// written before `before`, in that order.
	Live(ctx context.Context, key Key, prefix, after string, before time.Time, limit int) ([]Head, error)
}

// Tx is one transaction under a source's lease. All that it reads and writes
// is the source's. Slices of rows come sorted by external id in byte order,
// each id once.
type Tx interface {
	// Heads returns what is stored under each of ids, in the order of ids, with
	// Found false where there is nothing. It must be an index look-up per id
	// even on a table without statistics.
	Heads(ctx context.Context, ids []string) ([]Head, error)
	// Data returns the stored bytes of each of ids, nil where there are none.
	Data(ctx context.Context, ids []string) ([][]byte, error)

	// Insert writes rows that are not there yet, the fastest way. A row that is
	// there is ErrConflict; data that is refused is a *DataError. After either
	// the transaction is dead, unless it happened inside Try.
	Insert(ctx context.Context, rows []Row) error
	// Put inserts or replaces rows by their key. A stored row with a newer mark
	// or a version other than Row.Version-1 is left alone and is ErrConflict.
	// Nil Data keeps the stored bytes and their hash.
	Put(ctx context.Context, rows []Row) error
	// Touch sets the mark of stored rows and nothing else.
	Touch(ctx context.Context, rows []Row) error
	// Try runs f inside a savepoint: if f fails, what it wrote is undone and
	// the transaction goes on.
	Try(ctx context.Context, f func() error) error

	// Reject sets records aside. The same bytes set aside again for the same
	// reason in the same stream and part are the same reject: only its last
	// run, last time and number of times change.
	Reject(ctx context.Context, rejects []Reject) error
	// Resolve closes a reject as replayed or discarded.
	Resolve(ctx context.Context, rejectID int64, resolution, runID string) error
	// Change appends to the outbox.
	Change(ctx context.Context, changes []Change) error
	// SaveCursor writes one cursor of the source.
	SaveCursor(ctx context.Context, c Cursor) error
	// DropCursors deletes the cursors of a stream, or of all streams if stream is "".
	DropCursors(ctx context.Context, stream string) error
	// Progress adds to the run's row: counters and pages, and sets its input
	// and notes where they are not empty.
	Progress(ctx context.Context, p Progress) error
}

// A Head is a stored record without its data.
type Head struct {
	ID      string // the external id, with its stream and part
	Found   bool
	Mark    int64
	Version int64 // 1 when inserted, one more with each change
	Hash    Hash  // of the stored bytes
	Deleted bool
	Absent  bool // it was deleted because a complete listing lacked it, not by the provider's word
}

// A Hash is the first 16 bytes of the SHA-256 of a record's bytes as they came.
type Hash [16]byte

// A Row is a record to be written.
type Row struct {
	ID      string
	Stream  string
	Data    []byte // JSON; nil keeps what is stored, and on insert stores null
	Hash    Hash
	Mark    int64
	Version int64
	Deleted bool
	Absent  bool
	RunID   string
}

// A Change is what an ingested record did to the table.
type Change struct {
	ID      string
	Stream  string
	Kind    string // inserted, updated, deleted, restored
	Mark    int64
	Version int64
	RunID   string
}

// A Cursor is how far one stream, or one part of it, has been read.
type Cursor struct {
	Stream    string
	Part      string
	Watermark int64  // for SQL and people; State is what counts
	State     string // cursor.State as JSON, byte for byte
	RunID     string
	UpdatedAt time.Time
}

// Progress is what one page adds to its run.
type Progress struct {
	RunID    string
	Counters Counters
	Pages    int64
	Input    string // the run's input_fingerprint
	Notes    string // replaces the run's notes
}

// Counters count what became of records. They equal what the tables say.
type Counters struct {
	Inserted  int64 `json:"inserted"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Stale     int64 `json:"stale"`
	Deleted   int64 `json:"deleted"`
	Restored  int64 `json:"restored"`
	Rejected  int64 `json:"rejected"`
	Duplicate int64 `json:"duplicate"`
}

// Add returns the sum of both.
func (c Counters) Add(d Counters) Counters {
	c.Inserted += d.Inserted
	c.Updated += d.Updated
	c.Unchanged += d.Unchanged
	c.Stale += d.Stale
	c.Deleted += d.Deleted
	c.Restored += d.Restored
	c.Rejected += d.Rejected
	c.Duplicate += d.Duplicate
	return c
}

// Records is how many records were looked at.
func (c Counters) Records() int64 {
	return c.Inserted + c.Updated + c.Unchanged + c.Stale + c.Deleted + c.Restored + c.Rejected + c.Duplicate
}

// A Reject is a record that could not be ingested.
type Reject struct {
	ID         int64 // given by the store
	Key              // filled in by the store when it is read
	Stream     string
	Part       string
	RecordID   string // the provider's id as far as it is known
	Mark       int64
	Deleted    bool
	Reason     string // for programs: missing_external_id
	Detail     string // for people
	Place      string // where it stood in the input: "line 17"
	Raw        []byte // the bytes as they came, at most MaxRaw of them
	RawSize    int64  // how many there were
	Digest     Hash   // of reason and raw: what makes it the same reject again
	RunID      string // the last run that set it aside
	FirstAt    time.Time
	LastAt     time.Time
	Times      int64
	Resolution string // "", replayed, discarded
}

// MaxRaw is how many bytes of a reject are kept.
const MaxRaw = 1 << 20

// How a reject was resolved.
const (
	Replayed  = "replayed"
	Discarded = "discarded"
)
