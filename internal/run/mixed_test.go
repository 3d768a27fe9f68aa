package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// pages is a stream of the pages given.
func pages(all ...[]syncd.Record) syncd.Stream {
	return syncd.Stream{Name: "items", Fetch: func(_ context.Context, req syncd.Request) (syncd.Page, error) {
		n := len(req.Page)
		p := syncd.Page{Records: all[n]}
		if n+1 < len(all) {
			p.Next = strings.Repeat("x", n+1)
		}
		return p, nil
	}}
}

// An id that is too long for a key costs its record and no other, alike on
// every store.
func TestLongIDs(t *testing.T) {
	b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "IDM-20.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Items  []json.RawMessage `json:"items"`
		Expect struct {
			Stored  []int `json:"stored_n"`
			Refused []int `json:"quarantined_n"`
		} `json:"expect"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	type item struct {
		ID syncd.ID `json:"id"`
		N  int      `json:"n"`
	}
	var records []syncd.Record
	for _, raw := range file.Items {
		record, err := syncd.Replay(func(v item) syncd.Record { return syncd.Record{ID: string(v.ID)} })(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t), pages(records))
		r.source.MaxRejects = 100
		r.want("state", r.run().State, store.Done)
		var stored, refused []int
		for _, h := range r.heads() {
			stored = append(stored, number(t, r.data(h.ID)))
		}
		rejects, err := r.store.Rejects(t.Context(), store.RejectFilter{Reason: "external_id_too_long"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range rejects {
			whole, err := r.store.Reject(t.Context(), x.ID)
			if err != nil {
				t.Fatal(err)
			}
			refused = append(refused, number(t, whole.Raw))
		}
		for _, list := range [][]int{stored, refused, file.Expect.Stored, file.Expect.Refused} {
			slices.Sort(list)
		}
		if diff := cmp.Diff([][]int{file.Expect.Stored, file.Expect.Refused}, [][]int{stored, refused}); diff != "" {
			t.Errorf("stored and refused: -want +got\n%s", diff)
		}
	})
}

func number(t *testing.T, raw []byte) int {
	t.Helper()
	var v struct{ N int }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v.N
}

// What is refused for the same reason again, in one page, on a later one, or by
// the next run, is one reject that has been met so often.
func TestTheSameRejectAgain(t *testing.T) {
	bad := func(text string) syncd.Record { return syncd.Record{Data: []byte(text)} }
	good, other := syncd.Record{ID: "1", Data: []byte("1")}, syncd.Record{ID: "2", Data: []byte("2")}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t), pages([]syncd.Record{bad("7"), good, bad("7"), bad("8")}, []syncd.Record{other}, []syncd.Record{bad("7"), bad("8")}))
		for range 2 {
			res := r.run()
			r.want("state", res.State, store.Done)
			r.want("rejected", res.Counters.Rejected, int64(5))
		}
		rejects, err := r.store.Rejects(t.Context(), store.RejectFilter{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]bool{}
		for _, x := range rejects {
			got[x.Times] = true
			r.want("reason", x.Reason, "missing_external_id")
		}
		if len(rejects) != 2 || !got[6] || !got[4] {
			t.Errorf("%d rejects, met %v times; want two, 6 and 4 times", len(rejects), got)
		}
		r.want("ids", r.ids(), "1 2")
	})
}

// Events in any order leave the newest, and tell of what they changed alone.
func TestArrivals(t *testing.T) {
	b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "WHK-04.events.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Arrive  []int64 `json:"arrive"`
		Webhook int64   `json:"webhook_ver"`
		Page    int64   `json:"then_page_fetched_before_with_ver"`
		Final   int64   `json:"final_ver"`
		Outbox  int     `json:"outbox_events"`
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t))
		for i, c := range cases {
			empty(t, r)
			if c.Webhook > 0 {
				c.Arrive = []int64{c.Webhook, c.Page}
			}
			for _, version := range c.Arrive {
				r.tell(event{"upsert", version})
			}
			name := fmt.Sprintf("case %d", i+1)
			r.want(name+" mark", r.head("items/1").Mark, c.Final)
			r.want(name+" data", string(r.data("items/1")), fmt.Sprintf(`{"id":1,"ver":%d}`, c.Final))
			if c.Outbox > 0 {
				r.want(name+" changes", len(r.changes()), c.Outbox)
			}
			r.checkChanges()
		}
	})
}

// A run that is cancelled has kept the pages that were committed, and one that
// is cancelled because its lease was lost says so.
func TestCancelled(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(12)
		r := newRig(t, open(t))
		r.source.Streams = []syncd.Stream{paced(l.stream(syncd.Stream{Name: "items"}), r)}
		ctx, cancel := context.WithCancel(t.Context())
		r.ctx = ctx
		l.before = func(n int) {
			if n == 3 {
				cancel()
			}
		}
		res := r.run()
		r.want("state", res.State, store.Failed)
		r.want("records", len(r.heads()), 6)
		ctx, lose := context.WithCancelCause(t.Context())
		r.ctx = ctx
		l.before = func(int) { lose(store.ErrLeaseLost) }
		r.want("state", r.run().State, store.Lost)
		r.want("records", len(r.heads()), 6)
		l.before, r.ctx = nil, nil
		r.want("state", r.run().State, store.Done)
		r.want("records", len(r.heads()), 12)
	})
}

// Nothing is believed of an empty listing but by an operator's word, and a few
// records may always be gone.
func TestAnEmptyListing(t *testing.T) {
	for _, c := range []struct {
		name         string
		stored       int
		allow, admit bool
		deleted      int64
	}{
		{"of many", 40, false, false, 0},
		{"of many, allowed", 40, true, false, 40},
		{"of many, confirmed", 40, false, true, 40},
		{"of few", 10, false, false, 10},
	} {
		l := numbered(c.stored)
		r := newRig(t, newStore(t), l.stream(syncd.Stream{Name: "items", Snapshot: true}))
		r.source.MarkMissing = true
		r.want(c.name, r.run().State, store.Done)
		l.records = nil
		r.source.AllowEmpty = c.allow
		r.job = func(j *run.Job) { j.Confirm = c.admit }
		res := r.run()
		r.want(c.name+": state", res.State, store.Done)
		r.want(c.name+": deleted", res.Counters.Deleted, c.deleted)
		r.checkChanges()
	}
}

// A provider that changes its format ends the run where it began, in all
// streams that the run has read, so that nothing is left behind.
func TestTooManyRejectsLeaveNothingBehind(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		first, second := numbered(9), numbered(300)
		second.size = 60
		r := newRig(t, open(t), first.stream(syncd.Stream{Name: "items", Order: syncd.Ascending}), second.stream(syncd.Stream{Name: "more"}))
		r.want("state", r.run().State, store.Done)
		before := r.state().Cursors
		for i, l := range []*list{first, second} {
			for j := range l.records {
				l.records[j].Mark += syncd.Mark(time.Hour)
				if l.records[j].Data = []byte(`"changed"`); i == 1 {
					l.records[j].Err = syncd.Reject("unexpected_type", "changed")
				}
			}
		}
		r.now = func() time.Time { return noon.Add(2 * time.Hour) }
		res := r.run()
		r.want("state", res.State, store.Failed)
		r.want("updated", res.Counters.Updated, int64(9))
		if diff := cmp.Diff(before, r.state().Cursors); diff != "" {
			t.Errorf("cursors: -before +after\n%s", diff)
		}
		for i := range second.records {
			second.records[i].Err = nil
		}
		res = r.run()
		r.want("state", res.State, store.Done)
		r.want("updated when it is right again", res.Counters.Updated, int64(300))
	})
}
