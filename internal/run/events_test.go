package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/store"
)

// An event is one thing that a provider says of record 1.
type event struct {
	Op      string `json:"op"` // upsert or delete
	Version int64  `json:"ver"`
}

// An eventCase is what is stored, what is said, and what must be stored then.
type eventCase struct {
	Start *struct {
		Version int64 `json:"ver"`
		Deleted bool  `json:"deleted"`
	} `json:"start"`
	Events []event `json:"events"`
	End    struct {
		Deleted bool   `json:"deleted"`
		Version int64  `json:"ver"`
		Counter string `json:"counter"`
		Outbox  *int64 `json:"outbox_events"`
	} `json:"end"`
}

// Deletions and updates that arrive late, twice or in the wrong order end as
// the newest of them says, on every store.
func TestEventsInAnyOrder(t *testing.T) {
	b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "DEL-05.events.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []eventCase
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t))
		for i, c := range cases {
			empty(t, r)
			if c.Start != nil {
				r.tell(event{"upsert", c.Start.Version - 1})
				op := map[bool]string{false: "upsert", true: "delete"}[c.Start.Deleted]
				r.tell(event{op, c.Start.Version})
			}
			var sum store.Counters
			for _, e := range c.Events {
				sum = sum.Add(r.tell(e))
			}
			name := fmt.Sprintf("case %d", i+1)
			head := r.head("items/1")
			r.want(name+" deleted", head.Deleted, c.End.Deleted)
			r.want(name+" mark", head.Mark, c.End.Version)
			if c.End.Counter == "restored" {
				r.want(name+" restored", sum.Restored, int64(1))
			}
			if c.End.Outbox != nil {
				r.want(name+" changes", sum.Inserted+sum.Updated+sum.Deleted+sum.Restored, *c.End.Outbox)
			}
		}
	})
}

// tell ingests one event by a run of its own.
func (r *rig) tell(e event) store.Counters {
	r.t.Helper()
	record := syncd.Record{ID: "1", Mark: syncd.Mark(e.Version), Deleted: e.Op == "delete"}
	if !record.Deleted {
		record.Data = fmt.Appendf(nil, `{"id":1,"ver":%d}`, e.Version)
	}
	r.source.Streams = []syncd.Stream{{Name: "items", Sequence: true, Fetch: func(context.Context, syncd.Request) (syncd.Page, error) {
		return syncd.Page{Records: []syncd.Record{record}}, nil
	}}}
	res := r.run()
	r.want("state", res.State, store.Done)
	return res.Counters
}

func (r *rig) head(id string) (head store.Head) {
	r.t.Helper()
	r.tx(func(ctx context.Context, tx store.Tx) error {
		heads, err := tx.Heads(ctx, []string{id})
		if err == nil {
			head = heads[0]
		}
		return err
	})
	return head
}
