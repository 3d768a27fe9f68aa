package run_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store/memory"
)

// A newestFirst list gives out three records a page, in the order of their last
// change. before is called before each request is answered, with its number.
type newestFirst struct {
	at     map[int]time.Time
	n      int
	before func(n int)
}

func (l *newestFirst) fetch(_ context.Context, req syncd.Request) (syncd.Page, error) {
	if l.n++; l.before != nil {
		l.before(l.n)
	}
	var ids []int
	for id := range l.at {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int { return l.at[b].Compare(l.at[a]) })
	from := 0
	if req.Page != "" { // what follows a time: nothing is skipped, but what moves to the top
		at, _ := strconv.ParseInt(req.Page, 10, 64)
		from = slices.IndexFunc(ids, func(id int) bool { return l.at[id].UnixNano() < at })
		if from < 0 {
			return syncd.Page{}, nil
		}
	}
	var p syncd.Page
	for _, id := range ids[from:min(from+3, len(ids))] {
		p.Records = append(p.Records, syncd.Record{ID: strconv.Itoa(id), Mark: syncd.At(l.at[id]), Data: fmt.Appendf(nil, `{"at":%d}`, l.at[id].UnixNano())})
	}
	if from+3 < len(ids) {
		p.Next = strconv.FormatInt(l.at[ids[from+2]].UnixNano(), 10)
	}
	return p, nil
}

// A record that moves to the top of a list before it was read is not listed by
// the walk; it is not gone for all that.
func TestWhatMovesToTheTopIsNotGone(t *testing.T) {
	for name, changes := range map[string]func(l *newestFirst, n int){
		"one moves": func(l *newestFirst, n int) {
			if n == 6 {
				l.at[1] = time.Now()
			}
		},
		"all the unread move": func(l *newestFirst, n int) {
			if n == 6 {
				for id := 1; id <= 6; id++ {
					l.at[id] = time.Now().Add(time.Duration(id))
				}
			}
		},
		"one moves at each request": func(l *newestFirst, n int) {
			if n > 5 {
				l.at[(n*5)%12+1] = time.Now()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &newestFirst{at: map[int]time.Time{}}
				for id := range 12 {
					l.at[id+1] = time.Now().Add(time.Duration(id-100) * time.Minute)
				}
				r := newRig(t, memory.New(nil))
				r.source.MarkMissing, r.source.MaxMissing = true, 100
				r.source.Streams = []syncd.Stream{{Name: "items", Order: syncd.Descending, Snapshot: true, Fetch: l.fetch}}
				r.want("first", r.run().Counters.Inserted, int64(12))
				l.before = func(n int) { time.Sleep(time.Second); changes(l, n) }
				time.Sleep(time.Minute)
				if res := r.run(); res.Counters.Deleted != 0 {
					t.Errorf("deleted %d: %v %v", res.Counters.Deleted, res.Notes, res.Err)
				}
				// What is gone is found all the same.
				l.before = nil
				delete(l.at, 7)
				time.Sleep(time.Minute)
				r.want("then", r.run().Counters.Deleted, int64(1))
			})
		})
	}
}
