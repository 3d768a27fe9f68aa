package run_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/store"
)

// Hostile JSON ends as a record, a reject or a refused page, the same on every
// store, and every byte of a reject is kept.
func TestHostileBodies(t *testing.T) {
	tests := []struct {
		file               string
		inserted, rejected int64
		refused            bool // the body is no page
	}{
		{"DAT-01.body.json", 1, 1, false},
		{"DAT-02.body.json", 2, 0, false},
		{"DAT-04.body.json", 1, 2, false},
		{"DAT-05.body.json", 1, 3, false},
		{"DAT-06.body.json", 1, 1, false},
		{"DAT-08.body.json", 2, 1, false},
		{"DAT-09.body.json", 0, 0, true},
		{"DAT-10.depth200.body.json", 2, 0, false},
		{"DAT-10.depth10000.body.json", 1, 1, false},
		{"DAT-10.depth10001.body.json", 0, 0, true},
		{"DAT-10.depth100000.body.json", 0, 0, true},
		{"DAT-12.body.empty", 0, 0, true},
		{"DAT-12.space.body", 0, 0, true},
		{"DAT-13.utf16.body", 0, 0, true},
		{"DAT-14.body.json", 0, 0, true},
		{"DAT-14.concat.body.json", 0, 0, true},
	}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t))
		for _, tt := range tests {
			t.Run(tt.file, func(t *testing.T) {
				body, err := os.ReadFile(casebook.Shared(t, "faults", "cases", tt.file))
				if err != nil {
					t.Fatal(err)
				}
				r.t = t
				empty(t, r)
				r.source.Streams = []syncd.Stream{bodyStream(body)}
				res := r.run()
				if (res.State == store.Failed) != tt.refused || res.Counters.Inserted != tt.inserted || res.Counters.Rejected != tt.rejected {
					t.Errorf("%s %v, %+v; want refused %v, %d inserted, %d rejected", res.State, res.Err, res.Counters, tt.refused, tt.inserted, tt.rejected)
				}
				checkRejects(t, r, body, tt.rejected)
			})
		}
	})
}

// bodyStream is a stream whose only page has this body.
func bodyStream(body []byte) syncd.Stream {
	type item struct {
		ID syncd.ID `json:"id"`
	}
	return syncd.Stream{Name: "items", Fetch: func(context.Context, syncd.Request) (syncd.Page, error) {
		records, err := syncd.Decode(body, "items", func(i item) syncd.Record { return syncd.Record{ID: string(i.ID)} })
		return syncd.Page{Records: records}, err
	}}
}

// checkRejects looks for the rejects' bytes in the page that they came in.
func checkRejects(t *testing.T, r *rig, body []byte, want int64) {
	t.Helper()
	rejects, err := r.store.Rejects(t.Context(), store.RejectFilter{User: alice.User})
	if err != nil || int64(len(rejects)) != want {
		t.Fatalf("%d rejects, %v; want %d", len(rejects), err, want)
	}
	for _, j := range rejects {
		whole, err := r.store.Reject(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole.Raw) == 0 || !bytes.Contains(body, whole.Raw) {
			t.Errorf("the bytes of the reject are %q", whole.Raw)
		}
	}
}
