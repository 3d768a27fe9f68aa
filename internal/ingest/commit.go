package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/rawjson"
	"github.com/syncdhq/syncd/internal/store"
)

// A Writer commits pages. Use it from any number of goroutines.
type Writer struct {
	Store   store.Pages
	Changes bool // write the outbox
}

// A Commit is one page with all that follows from it.
type Commit struct {
	Stream   syncd.Stream
	Part     string
	Batch    Batch
	Cursors  []store.Cursor // to be saved with it
	Fresh    bool           // nothing of the stream was stored when its walk began: no look-up is needed
	Replay   int64          // id of the reject whose replay it is; then a tie is not won
	Resolve  bool           // Replay is resolved by it
	Progress store.Progress // Counters are added by Commit
}

// attempts is how often a page is tried when others write the same records.
const attempts = 5

// Commit writes a page in one transaction under the lease and returns its
// counters. A row that the database refuses is found by bisecting and becomes
// a reject; the rest is committed.
func (w *Writer) Commit(ctx context.Context, lease store.Lease, c Commit) (store.Counters, error) {
	careful := false
	var err error
	for range attempts {
		var counters store.Counters
		err = w.Store.Update(ctx, lease, func(ctx context.Context, tx store.Tx) error {
			p := pageTx{Commit: c, tx: tx, careful: careful, changes: w.Changes}
			if err := p.write(ctx); err != nil {
				return err
			}
			counters = p.counters
			return nil
		})
		var data *store.DataError
		switch {
		case err == nil:
			return counters, nil
		case errors.As(err, &data) && !careful:
			careful, c.Fresh = true, false
		case errors.Is(err, store.ErrConflict):
			c.Fresh = false
		default:
			return store.Counters{}, err
		}
	}
	return store.Counters{}, fmt.Errorf("page of %s given up after %d attempts: %w", c.Stream.Name, attempts, err)
}

// A pageTx is one attempt to write one page.
type pageTx struct {
	Commit
	tx       store.Tx
	careful  bool // find the rows that the database refuses
	changes  bool
	counters store.Counters
	rejects  []store.Reject
	outbox   []store.Change
}

func (p *pageTx) write(ctx context.Context) error {
	p.counters.Duplicate = p.Batch.Duplicates
	p.rejects = append(p.rejects, p.Batch.Rejects...)
	decisions, err := p.decide(ctx)
	if err != nil {
		return err
	}
	if err := p.rows(ctx, decisions); err != nil {
		return err
	}
	p.counters.Rejected = int64(len(p.rejects))
	if len(p.rejects) > 0 {
		for i := range p.rejects {
			p.rejects[i].RunID = p.Progress.RunID
		}
		if err := p.tx.Reject(ctx, p.rejects); err != nil {
			return err
		}
	}
	if p.changes && len(p.outbox) > 0 {
		if err := p.tx.Change(ctx, p.outbox); err != nil {
			return err
		}
	}
	if p.Resolve && p.counters.Rejected == 0 {
		if err := p.tx.Resolve(ctx, p.Replay, store.Replayed, p.Progress.RunID); err != nil {
			return err
		}
	}
	for _, c := range p.Cursors {
		if err := p.tx.SaveCursor(ctx, c); err != nil {
			return err
		}
	}
	progress := p.Progress
	progress.Counters = p.counters
	return p.tx.Progress(ctx, progress)
}

// decide returns what becomes of each row of the batch.
func (p *pageTx) decide(ctx context.Context) ([]Decision, error) {
	rows := p.Batch.Rows
	decisions := make([]Decision, len(rows))
	heads := make([]store.Head, len(rows))
	if !p.Fresh && len(rows) > 0 {
		ids := make([]string, len(rows))
		for i, in := range rows {
			ids[i] = in.ID
		}
		var err error
		if heads, err = p.tx.Heads(ctx, ids); err != nil {
			return nil, err
		}
	}
	same, err := p.sameValue(ctx, heads)
	if err != nil {
		return nil, err
	}
	for i, in := range rows {
		decisions[i] = Decide(heads[i], in, p.Stream.Append, same[in.ID], p.Replay != 0)
	}
	return decisions, nil
}

// sameValue finds the records whose bytes differ from what is stored while
// their meaning does not.
func (p *pageTx) sameValue(ctx context.Context, heads []store.Head) (map[string]bool, error) {
	var ids []string
	var fresh [][]byte
	for i, in := range p.Batch.Rows {
		h := heads[i]
		if h.Found && !h.Deleted && !in.Deleted && h.Hash != in.Hash && !p.Stream.Append && (in.Mark == 0 || in.Mark >= h.Mark) {
			ids = append(ids, in.ID)
			fresh = append(fresh, in.Data)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := p.tx.Data(ctx, ids)
	if err != nil {
		return nil, err
	}
	same := map[string]bool{}
	for i, id := range ids {
		if stored[i] != nil && rawjson.Equal(stored[i], fresh[i]) {
			same[id] = true
		}
	}
	return same, nil
}

// rows writes what was decided: new rows, changed rows, moved marks.
func (p *pageTx) rows(ctx context.Context, decisions []Decision) error {
	var inserts, puts, touches []int
	for i, d := range decisions {
		switch {
		case d.Touch:
			touches = append(touches, i)
		case d.Action == Unchanged || d.Action == Stale:
		case d.Row.Version == 1:
			inserts = append(inserts, i)
		default:
			puts = append(puts, i)
		}
		if d.Touch || d.Action == Unchanged || d.Action == Stale {
			count(&p.counters, d.Action)
		}
	}
	if err := p.batch(ctx, decisions, inserts, p.tx.Insert); err != nil {
		return err
	}
	if err := p.batch(ctx, decisions, puts, p.tx.Put); err != nil {
		return err
	}
	if len(touches) == 0 {
		return nil
	}
	return p.tx.Touch(ctx, p.pick(decisions, touches))
}

func (p *pageTx) pick(decisions []Decision, which []int) []store.Row {
	rows := make([]store.Row, len(which))
	for n, i := range which {
		rows[n] = decisions[i].Row
		rows[n].Stream = p.Stream.Name
		rows[n].RunID = p.Progress.RunID
	}
	return rows
}

// batch writes rows by one of the store's methods and counts them. In careful
// mode what is refused is halved until the culprit stands alone.
func (p *pageTx) batch(ctx context.Context, decisions []Decision, which []int, write func(context.Context, []store.Row) error) error {
	if len(which) == 0 {
		return nil
	}
	rows := p.pick(decisions, which)
	var err error
	if p.careful {
		err = p.tx.Try(ctx, func() error { return write(ctx, rows) })
	} else {
		err = write(ctx, rows)
	}
	var data *store.DataError
	switch {
	case err == nil:
		for _, i := range which {
			p.wrote(decisions[i])
		}
		return nil
	case !errors.As(err, &data) || !p.careful:
		return err
	case len(which) == 1:
		p.refused(p.Batch.Rows[which[0]], data)
		return nil
	}
	half := len(which) / 2
	if err := p.batch(ctx, decisions, which[:half], write); err != nil {
		return err
	}
	return p.batch(ctx, decisions, which[half:], write)
}

func (p *pageTx) wrote(d Decision) {
	count(&p.counters, d.Action)
	if p.changes {
		p.outbox = append(p.outbox, store.Change{
			ID: d.Row.ID, Stream: p.Stream.Name, Kind: d.Action.kind(),
			Mark: d.Row.Mark, Version: d.Row.Version, RunID: p.Progress.RunID,
		})
	}
}

// refused sets aside a row that only the database found fault with.
func (p *pageTx) refused(in Incoming, cause error) {
	id := in.ID[len(Prefix(p.Stream.Name, p.Part)):]
	r := syncd.Record{ID: id, Mark: syncd.Mark(in.Mark), Deleted: in.Deleted, Data: in.Data}
	p.rejects = append(p.rejects, reject(p.Stream.Name, p.Part, r, &syncd.RejectError{Reason: "refused_by_store", Err: cause}))
}
