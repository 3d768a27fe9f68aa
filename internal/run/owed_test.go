package run_test

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// Killed when its last page is committed and its deletions are not, or not all
// of them, a full walk deletes with the next run, which is not asked to be full.
func TestKilledBetweenTheLastPageAndItsDeletions(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		for _, kind := range kinds {
			if kind.Append {
				continue // nothing is deleted by absence
			}
			begin := func() *rig {
				r := newRig(t, s)
				empty(t, r)
				l := numbered(13)
				r.source.Streams, r.source.MarkMissing = []syncd.Stream{paced(l.stream(kind), r)}, true
				r.want("state", r.run().State, store.Done)
				l.records = append(l.records[:4:4], l.records[7:]...)
				return r
			}
			full := func(r *rig, n int, before bool) (count int) {
				r.job = func(j *run.Job) { j.Full, j.FullDue = true, j.At }
				defer func() { r.job = nil }()
				return r.cut(n, before)
			}
			r := begin()
			all := full(r, never, false)
			want := r.state()
			r.want("deleted", want.Written.Deleted, int64(3))
			// The last two are the deletions and the cursor that says so.
			for _, at := range []struct {
				n      int
				before bool
			}{{all - 2, false}, {all - 1, true}, {all - 1, false}, {all, true}, {all, false}} {
				t.Run(fmt.Sprintf("%s %v, %d of %d, before the commit %v", kind.Order, kind.Snapshot, at.n, all, at.before), func(t *testing.T) {
					r := begin()
					full(r, at.n, at.before)
					r.want("state", r.run().State, store.Done)
					if diff := gocmp.Diff(want, r.state()); diff != "" {
						t.Errorf("-undisturbed +killed\n%s", diff)
					}
					r.checkChanges()
				})
			}
		}
	})
}
