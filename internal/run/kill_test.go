package run_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/postgres"
)

// A cutter is a store whose nth transaction, counted from 1, is the last thing
// that happens.
type cutter struct {
	store.Pages
	at     int
	before bool // it does not commit; else its answer is lost
	kill   context.CancelFunc
	count  int
}

func (c *cutter) Update(ctx context.Context, l store.Lease, f func(context.Context, store.Tx) error) error {
	c.count++
	switch {
	case c.count < c.at:
		return c.Pages.Update(ctx, l, f)
	case c.count > c.at:
		return fmt.Errorf("transaction %d of a daemon that is dead", c.count)
	case c.before:
		return c.Pages.Update(ctx, l, func(ctx context.Context, tx store.Tx) error {
			if err := f(ctx, tx); err != nil {
				return err
			}
			c.kill()
			return context.Canceled
		})
	}
	err := c.Pages.Update(ctx, l, f)
	c.kill()
	if err == nil {
		err = fmt.Errorf("the answer to commit: %w", store.ErrUnreachable)
	}
	return err
}

// never is the number of a transaction that no run comes to.
const never = 1 << 20

// cut runs the source once, killed at its nth transaction, and returns how many
// it came to.
func (r *rig) cut(n int, before bool) int {
	r.t.Helper()
	ctx, kill := context.WithCancel(r.t.Context())
	defer kill()
	c := &cutter{Pages: r.store, at: n, before: before, kill: kill}
	r.pages, r.ctx, r.lossy = c, ctx, true
	r.run()
	r.pages, r.ctx, r.lossy = nil, nil, false
	return c.count
}

// counted is the sum of all runs in the log.
func (r *rig) counted() store.Counters {
	r.t.Helper()
	runs, err := r.store.Runs(r.t.Context(), store.RunFilter{User: alice.User})
	if err != nil {
		r.t.Fatal(err)
	}
	var sum store.Counters
	for _, x := range runs {
		sum = sum.Add(x.Counters)
	}
	return sum
}

// What a source is after runs, apart from when and by which run.
type outcomeState struct {
	Heads   []store.Head
	Changes []store.Change
	Written store.Counters
	Cursors map[string]cursor.State
}

func (r *rig) state() outcomeState {
	r.t.Helper()
	s := outcomeState{Heads: r.heads(), Changes: r.changes(), Written: r.counted(), Cursors: map[string]cursor.State{}}
	s.Written.Unchanged, s.Written.Duplicate = 0, 0 // of what is read again
	for i := range s.Changes {
		s.Changes[i].RunID = ""
	}
	// The order of what one walk wrote depends on where it was cut.
	slices.SortFunc(s.Changes, func(x, y store.Change) int {
		return cmp.Or(strings.Compare(x.ID, y.ID), cmp.Compare(x.Version, y.Version))
	})
	all, err := r.store.Cursors(r.t.Context(), alice)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range all {
		state, err := cursor.Parse(c.State)
		if err != nil || int64(state.Watermark) != c.Watermark {
			r.t.Errorf("cursor %s of watermark %d, %v", c.State, c.Watermark, err)
		}
		if !state.FullAt.IsZero() {
			state.FullAt = noon
		}
		if !state.Round.IsZero() {
			state.Round = noon
		}
		s.Cursors[c.Stream+"/"+c.Part] = state
	}
	return s
}

// inParts is a stream of two parts of a list each.
func inParts(l *list, s syncd.Stream) syncd.Stream {
	s = l.stream(s)
	s.Parts = func(context.Context) ([]string, error) { return []string{"a", "b"}, nil }
	return s
}

// Killed in any transaction, before it commits or just after, a source ends as
// one that was left alone, once it has been run again.
func TestKilledAtEveryCommit(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		for i, kind := range append(slices.Clone(kinds), kinds[0], kinds[2]) {
			for _, before := range []bool{true, false} {
				name := fmt.Sprintf("%s %v %v", kind.Order, kind.Snapshot, kind.Append)
				if i >= len(kinds) {
					name += " in parts"
				}
				t.Run(fmt.Sprintf("%s, before the commit %v", name, before), func(t *testing.T) {
					killEverywhere(t, s, kind, i >= len(kinds), before)
				})
			}
		}
	})
}

func killEverywhere(t *testing.T, s store.Store, kind syncd.Stream, parts, before bool) {
	begin := func() *rig {
		r := newRig(t, s)
		empty(t, r)
		l := numbered(13)
		stream := l.stream(kind)
		if parts {
			stream = inParts(l, kind)
		}
		// One page, one transaction: else how many there are depends on the clock.
		r.source.Streams, r.source.MarkMissing = []syncd.Stream{paced(stream, r)}, true
		return r
	}
	r := begin()
	r.want("state", r.run().State, store.Done)
	want := r.state()
	n := 1
	for ; ; n++ {
		r := begin()
		came := r.cut(n, before) >= n
		for runs := 0; r.run().State != store.Done; runs++ {
			if runs > 5 {
				t.Fatalf("killed at transaction %d: it does not end", n)
			}
		}
		if diff := gocmp.Diff(want, r.state()); diff != "" {
			t.Errorf("killed at transaction %d: -undisturbed +killed\n%s", n, diff)
		}
		r.checkChanges()
		if !came {
			break
		}
	}
	if n < 5 {
		t.Errorf("a run of %d transactions has nowhere to be killed", n)
	}
}

// paced hands out a page only when those before have been committed.
func paced(s syncd.Stream, r *rig) syncd.Stream {
	fetch := s.Fetch
	s.Fetch = func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		if err := r.settled(ctx); err != nil {
			return syncd.Page{}, err
		}
		r.fetched++
		return fetch(ctx, req)
	}
	return s
}

// settled waits until all pages that were fetched are committed.
func (r *rig) settled(ctx context.Context) error {
	for r.committed < r.fetched {
		select {
		case <-r.page:
			r.committed++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A second run writes no row, no change and no version: PostgreSQL has the
// very same row versions.
func TestASecondRunWritesNoRow(t *testing.T) {
	dsn := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), dsn)
	r := newRig(t, &database{migrated(t, s, err), nil})
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	versions := func() (text string) {
		err := conn.QueryRow(t.Context(), `SELECT string_agg(external_id || ' ' || xmin || ' ' || ctid, ',' ORDER BY external_id) ||
			(SELECT ' ' || count(*) FROM changes) || (SELECT ' ' || coalesce(sum(times), 0) FROM rejects) FROM records`).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for i, kind := range kinds {
		kind.Name = string(rune('a' + i))
		l := numbered(20)
		r.source.Streams, r.source.MarkMissing = append(r.source.Streams, l.stream(kind)), true
	}
	r.want("state", r.run().State, store.Done)
	before := versions()
	for _, full := range []bool{false, true} {
		r.job = func(j *run.Job) { j.Full, j.FullDue = full, j.At }
		r.want("state", r.run().State, store.Done)
		if diff := gocmp.Diff(before, versions()); diff != "" {
			t.Errorf("full %v: -before +after\n%s", full, diff)
		}
	}
}

// Two daemons run one source: the one that lost the lease writes nothing more,
// whatever the other does meanwhile.
func TestTwoRunsOfOneSource(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		l := numbered(12)
		old := newRig(t, s)
		old.source.Streams = []syncd.Stream{paced(l.stream(syncd.Stream{Name: "items"}), old)}
		renewed := numbered(12)
		for i := range renewed.records {
			renewed.records[i].Data = []byte(`"of the second"`)
		}
		other := newRig(t, s, renewed.stream(syncd.Stream{Name: "items"}))
		var mine store.Lease
		old.job = func(j *run.Job) { mine = j.Lease }
		var res run.Result
		l.before = func(n int) {
			if n != 3 {
				return
			}
			if err := s.Release(t.Context(), mine); err != nil {
				t.Error(err)
			}
			res = other.run()
		}
		lost := old.run()
		old.want("state of the first", lost.State, store.Lost)
		old.want("inserted by the first", lost.Counters.Inserted, int64(6))
		old.want("state of the second", res.State, store.Done)
		// It goes on where the first was.
		old.want("inserted by the second", res.Counters, store.Counters{Inserted: 6})
		for i, h := range old.heads() {
			old.want(h.ID+" is of the second", string(old.data(h.ID)) == `"of the second"`, i >= 6)
		}
		old.checkChanges()
		if c := old.cursor("items", ""); c.Walk != nil {
			t.Errorf("cursor %s, want that of the second", c)
		}
		if !errors.Is(lost.Err, store.ErrLeaseLost) {
			t.Errorf("error %v", lost.Err)
		}
	})
}
