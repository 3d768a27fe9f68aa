package ingest

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store"
)

// A Listing remembers which records a walk has listed, in eight bytes each. Two
// ids may collide; then a record that is gone is taken for one that is there,
// never the other way round. Use NewListing.
type Listing struct {
	seed   maphash.Seed
	hashes []uint64
	sorted bool
}

// NewListing returns an empty listing.
func NewListing() *Listing { return &Listing{seed: maphash.MakeSeed()} }

// Add takes a page's records into the listing.
func (l *Listing) Add(b Batch) {
	for _, in := range b.Rows {
		l.hashes = append(l.hashes, maphash.String(l.seed, in.ID))
	}
	l.sorted = false
}

// Len is how many records were listed.
func (l *Listing) Len() int { return len(l.hashes) }

func (l *Listing) has(id string) bool {
	if !l.sorted {
		slices.Sort(l.hashes)
		l.sorted = true
	}
	_, ok := slices.BinarySearch(l.hashes, maphash.String(l.seed, id))
	return ok
}

// A Sweep marks as deleted what a complete listing no longer has.
type Sweep struct {
	Stream  syncd.Stream
	Part    string
	Listing *Listing
	Began   time.Time // when the walk began, by the database's clock: what was written since is left alone
	RunID   string
	// MaxShare, in percent, is how much of what is stored may be gone without
	// an operator's word. Up to MaxFew records may always.
	MaxShare int
	Confirm  bool // an operator has said so
	// AllowEmpty says that a listing of nothing is to be believed.
	AllowEmpty bool
}

// MaxFew is how many absent records the brake does not look at.
const MaxFew = 10

// sweepStep is how many records one transaction of a sweep looks at.
const sweepStep = 5000

// Swept says what a sweep did.
type Swept struct {
	Stored   int64 // live records before it
	Absent   int64 // of them, how many the listing did not have
	Held     bool  // they were too many: nothing was deleted
	Counters store.Counters
}

// Sweep deletes the records that the listing does not have, unless they are
// too large a share of what is stored: then it deletes nothing and says so.
func (w *Writer) Sweep(ctx context.Context, lease store.Lease, s Sweep) (Swept, error) {
	var out Swept
	err := w.absent(ctx, lease.Key, s, func(all int, absent []store.Head) error {
		out.Stored += int64(all)
		out.Absent += int64(len(absent))
		return nil
	})
	if err != nil || out.Absent == 0 {
		return out, err
	}
	trusted := s.Confirm || s.AllowEmpty && s.Listing.Len() == 0
	if !trusted && out.Absent > MaxFew && out.Absent*100 > out.Stored*int64(s.MaxShare) {
		out.Held = true
		return out, nil
	}
	err = w.absent(ctx, lease.Key, s, func(_ int, absent []store.Head) error {
		c, err := w.deleteAbsent(ctx, lease, s, absent)
		out.Counters = out.Counters.Add(c)
		return err
	})
	return out, err
}

// absent hands the live records of the stream to visit, step by step: how many
// there are, and which of them the listing does not have.
func (w *Writer) absent(ctx context.Context, key store.Key, s Sweep, visit func(all int, absent []store.Head) error) error {
	after := ""
	for {
		heads, err := w.Store.Live(ctx, key, Prefix(s.Stream.Name, s.Part), after, s.Began, sweepStep)
		if err != nil {
			return err
		}
		var absent []store.Head
		for _, h := range heads {
			if !s.Listing.has(h.ID) {
				absent = append(absent, h)
			}
		}
		if err := visit(len(heads), absent); err != nil {
			return err
		}
		if len(heads) < sweepStep {
			return nil
		}
		after = heads[len(heads)-1].ID
	}
}

func (w *Writer) deleteAbsent(ctx context.Context, lease store.Lease, s Sweep, absent []store.Head) (store.Counters, error) {
	if len(absent) == 0 {
		return store.Counters{}, nil
	}
	rows := make([]store.Row, len(absent))
	changes := make([]store.Change, len(absent))
	for i, h := range absent {
		rows[i] = store.Row{ID: h.ID, Stream: s.Stream.Name, Mark: h.Mark, Version: h.Version + 1, Deleted: true, Absent: true, RunID: s.RunID}
		changes[i] = store.Change{ID: h.ID, Stream: s.Stream.Name, Kind: Delete.kind(), Mark: h.Mark, Version: h.Version + 1, RunID: s.RunID}
	}
	counters := store.Counters{Deleted: int64(len(rows))}
	err := w.Store.Update(ctx, lease, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Put(ctx, rows); err != nil {
			return err
		}
		if w.Changes {
			if err := tx.Change(ctx, changes); err != nil {
				return err
			}
		}
		return tx.Progress(ctx, store.Progress{RunID: s.RunID, Counters: counters})
	})
	if err != nil {
		return store.Counters{}, err
	}
	return counters, nil
}
