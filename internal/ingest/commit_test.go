package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
)

var (
	now  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	key  = store.Key{User: "alice", Provider: "shop"}
	list = syncd.Stream{Name: "items"}
)

// A rig is a source under a lease with a run begun.
type rig struct {
	*Writer
	t     *testing.T
	mem   *memory.Store
	lease store.Lease
	run   string
	seen  Seen
}

func newRig(t *testing.T) *rig {
	mem := memory.New(func() time.Time { return now })
	w := &Writer{Store: mem, Changes: true}
	r := &rig{Writer: w, t: t, mem: mem, run: "00000000-0000-7000-8000-000000000001"}
	spec := store.Spec{Key: key, Connector: "c", Schedule: "@hourly", NextAt: now.Add(time.Hour), DueAt: now, SpreadAt: now.Add(time.Hour)}
	if _, err := mem.Apply(t.Context(), []store.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	claim, err := mem.Acquire(t.Context(), key, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r.lease = claim.Lease
	if err := mem.Begin(t.Context(), r.lease, store.Run{ID: r.run, Key: key, Token: claim.Token, State: store.Running}, now, now); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) commit(c Commit) store.Counters {
	r.t.Helper()
	if c.Stream.Name == "" {
		c.Stream = list
	}
	c.Progress.RunID = r.run
	got, err := r.Commit(r.t.Context(), r.lease, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// page prepares and commits records.
func (r *rig) page(records ...syncd.Record) store.Counters {
	r.t.Helper()
	b := Prepare(list, "", records, r.seen, now)
	r.seen = b.Remember()
	return r.commit(Commit{Batch: b})
}

// rows spells what is stored: "items/1=a@5", with a minus for what is deleted.
func (r *rig) rows() string {
	var out []string
	for _, rec := range r.mem.Records(key) {
		sign := ""
		if rec.Deleted {
			sign = "-"
		}
		out = append(out, fmt.Sprintf("%s%s=%s@%d", sign, rec.ID, rec.Data, rec.Mark))
	}
	return strings.Join(out, " ")
}

func (r *rig) want(what string, got, want any) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func rec(id string, mark int64, data string) syncd.Record {
	return syncd.Record{ID: id, Mark: syncd.Mark(mark), Data: []byte(data)}
}

func TestTheSamePageTwice(t *testing.T) {
	r := newRig(t)
	records := []syncd.Record{rec("2", 5, `"b"`), rec("1", 5, `"a"`)}
	r.want("first", r.page(records...), store.Counters{Inserted: 2})
	r.seen = nil
	r.want("second", r.page(records...), store.Counters{Unchanged: 2})
	r.want("rows", r.rows(), `items/1="a"@5 items/2="b"@5`)
	r.want("changes", len(r.mem.Changes(key)), 2)
}

func TestDuplicates(t *testing.T) {
	r := newRig(t)
	r.want("in one page", r.page(rec("1", 5, `"new"`), rec("1", 3, `"old"`), rec("2", 3, `"old"`), rec("2", 5, `"new"`), rec("3", 0, `"first"`), rec("3", 0, `"second"`)),
		store.Counters{Inserted: 3, Duplicate: 3})
	r.want("rows", r.rows(), `items/1="new"@5 items/2="new"@5 items/3="second"@0`)
	r.want("on the next page", r.page(rec("3", 0, `"second"`), rec("4", 6, `4`)), store.Counters{Inserted: 1, Duplicate: 1})
	r.want("on the next page, changed", r.page(rec("4", 7, `5`)), store.Counters{Updated: 1})
	r.want("changes", len(r.mem.Changes(key)), 5)
}

func TestAppendKeepsTheFirstCopy(t *testing.T) {
	r := newRig(t)
	events := syncd.Stream{Name: "items", Append: true}
	b := Prepare(events, "", []syncd.Record{rec("1", 1, `"a"`), rec("1", 2, `"b"`)}, nil, now)
	r.want("first", r.commit(Commit{Stream: events, Batch: b}), store.Counters{Inserted: 1, Duplicate: 1})
	b = Prepare(events, "", []syncd.Record{rec("1", 9, `"c"`)}, nil, now)
	r.want("again", r.commit(Commit{Stream: events, Batch: b}), store.Counters{Unchanged: 1})
	r.want("rows", r.rows(), `items/1="a"@1`)
}

func TestEqualInMeaningIsNoChange(t *testing.T) {
	r := newRig(t)
	r.page(rec("1", 5, `{"a":1.0,"b":[2]}`))
	r.want("other spelling", r.page(rec("1", 5, `{ "b":[2], "a":1 }`)), store.Counters{Unchanged: 1})
	r.want("rows", r.rows(), `items/1={"a":1.0,"b":[2]}@5`)
	r.want("newer, other spelling", r.page(rec("1", 6, `{ "b":[2], "a":1 }`)), store.Counters{Unchanged: 1})
	r.want("an update between the two marks", r.page(rec("1", 5, `{"a":2}`)), store.Counters{Stale: 1})
	r.want("changes", len(r.mem.Changes(key)), 1)
}

func TestRejects(t *testing.T) {
	r := newRig(t)
	records := []syncd.Record{
		rec("", 1, `{"x":1}`),
		{ID: "e", Err: syncd.Reject("bad_time", "no"), Data: []byte("{}")},
		rec("nul", 1, `"a\u0000b"`),
		rec("fine", 1, `"a\\u0000b"`),
		rec("lone", 1, `"\ud800"`),
		rec("cut", 1, `{"a":`),
		rec("big", 1, `1e200000`),
		rec("odd\xff", 1, `1`),
		rec("n\x00l", 1, `1`),
		rec(strings.Repeat("x", MaxID), 1, `1`),
		rec(strings.Repeat("x", MaxID+1), 1, `1`),
		rec("deep", 1, strings.Repeat("[", 201)+strings.Repeat("]", 201)),
		rec("ahead", int64(syncd.At(now.AddDate(101, 0, 0))), `1`),
		rec("before", -1, `1`),
		{ID: "void"},
	}
	for i, c := range []store.Counters{{Inserted: 2, Rejected: 13}, {Unchanged: 2, Rejected: 13}} {
		r.seen = nil
		r.want("counters "+strconv.Itoa(i), r.page(records...), c)
	}
	rejects, err := r.mem.Rejects(t.Context(), store.RejectFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, j := range rejects {
		reasons = append(reasons, j.Reason)
		r.want("times of "+j.Reason, j.Times, int64(2))
	}
	slices.Sort(reasons)
	r.want("reasons", strings.Join(reasons, " "), "bad_external_id bad_external_id bad_time bad_time bad_time external_id_too_long "+
		"invalid_json lone_surrogate missing_data missing_external_id nul_character number_out_of_range too_deep")
}

// refuses is a store that finds fault with some rows, as only a database can.
type refuses struct {
	store.Pages
	ids   map[string]bool
	calls int
}

func (s *refuses) Update(ctx context.Context, l store.Lease, f func(context.Context, store.Tx) error) error {
	return s.Pages.Update(ctx, l, func(ctx context.Context, tx store.Tx) error {
		return f(ctx, &refusingTx{tx, s})
	})
}

type refusingTx struct {
	store.Tx
	s *refuses
}

func (t *refusingTx) Insert(ctx context.Context, rows []store.Row) error {
	t.s.calls++
	for _, r := range rows {
		if t.s.ids[r.ID] {
			return &store.DataError{Err: errors.New("no")}
		}
	}
	return t.Tx.Insert(ctx, rows)
}

func TestWhatTheDatabaseRefusesIsFoundByBisecting(t *testing.T) {
	r := newRig(t)
	s := &refuses{Pages: r.mem, ids: map[string]bool{"items/7": true, "items/91": true}}
	r.Writer.Store = s
	var records []syncd.Record
	for i := range 100 {
		records = append(records, rec(strconv.Itoa(i), 1, `1`))
	}
	r.want("counters", r.page(records...), store.Counters{Inserted: 98, Rejected: 2})
	r.want("rows", len(r.mem.Records(key)), 98)
	r.want("changes", len(r.mem.Changes(key)), 98)
	if s.calls > 40 {
		t.Errorf("%d inserts for two culprits in a hundred rows", s.calls)
	}
	rejects, err := r.mem.Rejects(t.Context(), store.RejectFilter{Reason: "refused_by_store"})
	if err != nil || len(rejects) != 2 {
		t.Fatalf("%d rejects, %v", len(rejects), err)
	}
}

func TestFreshPagesFallBackToTheLookUp(t *testing.T) {
	r := newRig(t)
	r.page(rec("1", 5, `"a"`))
	b := Prepare(list, "", []syncd.Record{rec("1", 4, `"old"`), rec("2", 1, `2`)}, nil, now)
	r.want("counters", r.commit(Commit{Batch: b, Fresh: true}), store.Counters{Inserted: 1, Stale: 1})
	r.want("rows", r.rows(), `items/1="a"@5 items/2=2@1`)
}

func TestReplay(t *testing.T) {
	r := newRig(t)
	r.page(rec("1", 3, `"bad\u0000"`))
	rejects, err := r.mem.Rejects(t.Context(), store.RejectFilter{})
	if err != nil || len(rejects) != 1 {
		t.Fatalf("%d rejects, %v", len(rejects), err)
	}
	r.page(rec("1", 5, `"newer"`))
	replay := func() store.Counters {
		return r.commit(Commit{Batch: Prepare(list, "", []syncd.Record{rec("1", 3, `"mended"`)}, nil, now), Replay: rejects[0].ID, Resolve: true})
	}
	r.want("replay of an old state", replay(), store.Counters{Stale: 1})
	r.want("again", replay(), store.Counters{Stale: 1})
	r.want("rows", r.rows(), `items/1="newer"@5`)
	if j, err := r.mem.Reject(t.Context(), rejects[0].ID); err != nil || j.Resolution != store.Replayed {
		t.Errorf("the reject is %q %v, want %q", j.Resolution, err, store.Replayed)
	}
}

func TestSweep(t *testing.T) {
	tests := []struct {
		name           string
		stored, listed int
		confirm        bool
		deleted        int64
		held           bool
	}{
		{"nothing is gone", 20, 20, false, 0, false},
		{"a few", 100, 80, false, 20, false},
		{"more than the brake allows", 100, 60, false, 0, true},
		{"an operator's word lifts it", 100, 60, true, 40, false},
		{"an empty listing", 1000, 0, false, 0, true},
		{"the last few records of a small list", 2, 0, false, 2, false},
		{"several steps", 12000, 11000, false, 1000, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			var records []syncd.Record
			for i := range tt.stored {
				records = append(records, rec(fmt.Sprintf("%05d", i), 1, `1`))
			}
			r.page(records...)
			listing := NewListing()
			listing.Add(Prepare(list, "", records[:tt.listed], nil, now))
			sweep := Sweep{Stream: list, Listing: listing, Began: now.Add(time.Second), RunID: r.run, MaxShare: 30, Confirm: tt.confirm}
			got, err := r.Sweep(t.Context(), r.lease, sweep)
			if err != nil {
				t.Fatal(err)
			}
			r.want("deleted", got.Counters.Deleted, tt.deleted)
			r.want("held", got.Held, tt.held)
			deleted := strings.Count(r.rows(), "-items/")
			r.want("rows deleted", int64(deleted), tt.deleted)
			r.want("changes", int64(len(r.mem.Changes(key))), int64(tt.stored)+tt.deleted)
		})
	}
}

func TestSweepLeavesAloneWhatWasWrittenMeanwhile(t *testing.T) {
	r := newRig(t)
	r.page(rec("1", 1, `1`))
	got, err := r.Sweep(t.Context(), r.lease, Sweep{Stream: list, Listing: NewListing(), Began: now.Add(-time.Second), RunID: r.run, MaxShare: 30})
	if err != nil || got.Counters.Deleted != 0 {
		t.Errorf("deleted %d %v, want 0", got.Counters.Deleted, err)
	}
}
