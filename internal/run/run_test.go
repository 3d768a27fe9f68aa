package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

var kinds = []syncd.Stream{
	{Name: "items", Order: syncd.Ascending},
	{Name: "items", Order: syncd.Descending},
	{Name: "items"},
	{Name: "items", Snapshot: true},
	{Name: "items", Append: true},
}

func TestRunTwiceIsRunOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		for i, kind := range kinds {
			r := newRig(t, s)
			kind.Name = string(rune('a' + i))
			l := numbered(10)
			r.source.Streams = []syncd.Stream{l.stream(kind)}
			res := r.run()
			r.want(kind.Order.String()+", first run", res.State, store.Done)
			r.want("inserted", res.Counters.Inserted, int64(10))
			before := r.heads()
			res = r.run()
			r.want("second run", res.State, store.Done)
			c := res.Counters
			r.want("writes of the second run", c.Inserted+c.Updated+c.Deleted+c.Restored+c.Rejected, int64(0))
			for i, h := range r.heads() {
				r.want("row "+h.ID, h, before[i])
			}
		}
	})
}

// Cut after every page, however often, a source ends as if it had been left alone.
func TestCutAfterEveryPage(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		for i, kind := range kinds {
			kind.Name = string(rune('a' + i))
			l := numbered(20)
			r := newRig(t, s, l.stream(kind))
			r.source.Budget = run.Budget{Pages: 1}
			var sum store.Counters
			runs := 0
			for res := (run.Result{}); res.State != store.Done; runs++ {
				if runs > 50 {
					t.Fatalf("%v: it does not end", kind.Order)
				}
				res = r.run()
				if res.State != store.Done && res.State != store.Partial {
					t.Fatalf("%v: %s %v", kind.Order, res.State, res.Err)
				}
				sum = sum.Add(res.Counters)
			}
			r.want(kind.Name+" inserted in all", sum.Inserted, int64(20))
			r.want(kind.Name+" written otherwise", sum.Updated+sum.Deleted+sum.Rejected, int64(0))
			r.want(kind.Name+" walk under way", r.cursor(kind.Name, "").Walk == nil, true)
			if runs < 2 {
				t.Errorf("%v: %d runs: the budget of a page did not end one", kind.Order, runs)
			}
		}
	})
}

// A walk that fails on a page goes on at that page and not at the first.
func TestAFailedWalkGoesOnAtItsPage(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(30)
		inner := l.stream(syncd.Stream{Name: "items"})
		var asked []string
		broken := true
		stream := inner
		stream.Fetch = func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			asked = append(asked, req.Page)
			if broken && len(asked) == 8 {
				return syncd.Page{}, errors.New("the provider is away")
			}
			return inner.Fetch(ctx, req)
		}
		r := newRig(t, open(t), stream)
		res := r.run()
		r.want("first run", res.State, store.Failed)
		r.want("what it committed", res.Counters.Inserted, int64(21))
		failed := asked[len(asked)-1]
		broken, asked = false, nil
		res = r.run()
		r.want("second run", res.State, store.Done)
		r.want("its first request", asked[0], failed)
		r.want("inserted", res.Counters.Inserted, int64(9))
	})
}

func TestStopCommitsThePageInHand(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(20)
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items"}))
		stop := make(chan struct{})
		l.before = func(n int) {
			if n == 3 {
				close(stop)
			}
		}
		r.job = func(j *run.Job) { j.Stop = stop }
		res := r.run()
		r.want("state", res.State, store.Partial)
		r.job = nil
		res2 := r.run()
		r.want("the next run", res2.State, store.Done)
		r.want("inserted by both", res.Counters.Inserted+res2.Counters.Inserted, int64(20))
	})
}

func TestTheLeaseIsTakenMeanwhile(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		l := numbered(20)
		r := newRig(t, s, l.stream(syncd.Stream{Name: "items"}))
		var mine store.Lease
		r.job = func(j *run.Job) { mine = j.Lease }
		l.before = func(n int) {
			if n != 2 {
				return
			}
			// Another daemon: the lease ends, and is given out again.
			if err := s.Release(context.Background(), mine); err != nil {
				t.Error(err)
			}
			if _, err := s.Acquire(context.Background(), alice, "other", time.Hour); err != nil {
				t.Error(err)
			}
		}
		claim, err := s.Acquire(t.Context(), alice, "test", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), claim.Lease); err != nil {
			t.Fatal(err)
		}
		res := r.run()
		r.want("state", res.State, store.Lost)
		if n := int64(len(r.heads())); n != res.Counters.Inserted || n > 3 {
			t.Errorf("%d records after the lease was lost at the second page, the run counted %d", n, res.Counters.Inserted)
		}
	})
}

func TestAPanicEndsItsRunOnly(t *testing.T) {
	l := numbered(5)
	bad := syncd.Stream{Name: "bad", Fetch: func(context.Context, syncd.Request) (syncd.Page, error) { panic("oops") }}
	parts := syncd.Stream{Name: "parts", Parts: func(context.Context) ([]string, error) { panic("oops") }}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t), bad, parts, l.stream(syncd.Stream{Name: "items"}))
		res := r.run()
		r.want("state", res.State, store.Failed)
		if !strings.Contains(res.Err.Error(), "oops") || !strings.Contains(res.Err.Error(), "run_test.go") {
			t.Errorf("error %v, want the panic with its stack", res.Err)
		}
		r.want("records of the stream after it", len(r.heads()), 5)
	})
}

func TestTooManyRejectsPutTheCursorsBack(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(400)
		l.size = 50
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items", Order: syncd.Ascending}))
		for i := range l.records {
			if i > 60 {
				l.records[i].Err = syncd.Reject("unexpected_type", "changed")
			}
		}
		res := r.run()
		r.want("state", res.State, store.Failed)
		r.want("watermark", r.cursor("items", "").Watermark, syncd.Mark(0))
		r.want("walk", r.cursor("items", "").Walk == nil, true)
		rejects, err := r.store.Rejects(t.Context(), store.RejectFilter{})
		if err != nil || int64(len(rejects)) != res.Counters.Rejected || len(rejects) < 100 {
			t.Errorf("%d rejects are kept, %d were counted, %v", len(rejects), res.Counters.Rejected, err)
		}
	})
}

func TestParts(t *testing.T) {
	one, two := numbered(4), numbered(5)
	stream := syncd.Stream{
		Name: "items", Order: syncd.Ascending,
		Parts: func(context.Context) ([]string, error) { return []string{"b", "a", "a"}, nil },
	}
	stream.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) {
		if req.Part == "a" {
			return one.page(stream, req), nil
		}
		return two.page(stream, req), nil
	}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t), stream)
		r.want("inserted", r.run().Counters.Inserted, int64(9))
		r.want("ids", strings.HasPrefix(r.ids(), "a/00 a/01 a/02 a/03 b/00"), true)
		r.want("cursor of a", r.cursor("items", "a").Watermark != 0, true)
		r.want("cursor of b", r.cursor("items", "b").Watermark != 0, true)
	})
	t.Run("names", func(t *testing.T) {
		for _, name := range []string{"", "a/b", "a\x00b", strings.Repeat("x", 257)} {
			stream.Parts = func(context.Context) ([]string, error) { return []string{name}, nil }
			eachStore(t, func(t *testing.T, open opener) {
				r := newRig(t, open(t), stream)
				r.want("state", r.run().State, store.Failed)
				r.want("records", len(r.heads()), 0)
			})
		}
	})
}

func TestAFailingPartDoesNotStopTheOthersAndDeletesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(4)
		fail := false
		stream := syncd.Stream{Name: "items", Snapshot: true, Parts: func(context.Context) ([]string, error) { return []string{"a", "b", "c"}, nil }}
		stream.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) {
			if fail && req.Part == "b" {
				return syncd.Page{}, &syncd.HTTPError{Method: "GET", Status: 403}
			}
			return l.page(stream, req), nil
		}
		r := newRig(t, open(t), stream)
		r.source.MarkMissing = true
		r.want("first", r.run().State, store.Done)
		fail = true
		res := r.run()
		r.want("state", res.State, store.Failed)
		r.want("unchanged", res.Counters.Unchanged, int64(8))
		r.want("live records", len(r.heads()), 12)
		if !strings.Contains(res.Err.Error(), "items/b") {
			t.Errorf("error %v, want it to name the part", res.Err)
		}
	})
}

func TestUnauthorizedEndsTheRun(t *testing.T) {
	asked := 0
	refuse := func(context.Context, syncd.Request) (syncd.Page, error) {
		asked++
		return syncd.Page{}, &syncd.HTTPError{Method: "GET", Status: 401}
	}
	eachStore(t, func(t *testing.T, open opener) {
		asked = 0
		r := newRig(t, open(t), syncd.Stream{Name: "a", Fetch: refuse}, syncd.Stream{Name: "b", Fetch: refuse})
		r.want("state", r.run().State, store.Failed)
		r.want("requests", asked, 1)
	})
}

func TestNotModified(t *testing.T) {
	stream := syncd.Stream{Name: "items", Fetch: func(context.Context, syncd.Request) (syncd.Page, error) { return syncd.Page{}, syncd.ErrNotModified }}
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t), stream)
		res := r.run()
		r.want("state", res.State, store.Done)
		r.want("unchanged", res.Unchanged, true)
		r.want("pages", res.Pages, int64(0))
	})
}

func TestResyncIsBounded(t *testing.T) {
	asked := 0
	stream := syncd.Stream{Name: "items", Fetch: func(context.Context, syncd.Request) (syncd.Page, error) {
		asked++
		return syncd.Page{}, syncd.ErrResync
	}}
	eachStore(t, func(t *testing.T, open opener) {
		asked = 0
		r := newRig(t, open(t), stream)
		res := r.run()
		r.want("state", res.State, store.Failed)
		r.want("error", errors.Is(res.Err, syncd.ErrResync), true)
		r.want("requests", asked, 4)
	})
}

// A dead sync token brings everything anew, and what is not listed then is gone.
func TestResyncDeletesByAbsence(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(9)
		stream := syncd.Stream{Name: "items"}
		dead := false
		stream.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) {
			if dead && req.Sync != "" {
				return syncd.Page{}, syncd.ErrResync
			}
			p := l.page(stream, req)
			if p.Next == "" {
				p.Sync = "token"
			}
			return p, nil
		}
		r := newRig(t, open(t), stream)
		r.source.MarkMissing = true
		r.want("first", r.run().Counters.Inserted, int64(9))
		dead = true
		l.records = l.records[1:]
		res := r.run()
		r.want("deleted", res.Counters.Deleted, int64(1))
		r.want("live", len(r.heads()), 8)
		r.want("sync token", r.cursor("items", "").Sync, "token")
	})
}

func TestDeletesByAbsence(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(40)
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items", Order: syncd.Ascending}))
		r.source.MarkMissing = true
		r.run()
		all := l.records
		l.records = all[5:]
		r.want("a walk from the watermark deletes", r.run().Counters.Deleted, int64(0))
		full := func(j *run.Job) { j.Full, j.FullDue = true, j.At.Add(time.Hour) }
		r.job = full
		r.want("a full walk deletes", r.run().Counters.Deleted, int64(5))
		l.records = all[25:]
		res := r.run()
		r.want("too much is held", res.Counters.Deleted, int64(0))
		if !strings.Contains(strings.Join(res.Notes, "\n"), "lacks 20 of the 35") {
			t.Errorf("notes %q, want what is held back", res.Notes)
		}
		r.job = func(j *run.Job) { full(j); j.Confirm = true }
		r.want("confirmed", r.run().Counters.Deleted, int64(20))
		l.records = all
		r.want("back", r.run().Counters.Restored, int64(25))
	})
}

func TestOtherSettingsReadEverythingAndDeleteNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(9)
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items", Snapshot: true}))
		r.source.MarkMissing, r.source.Settings = true, "a"
		r.run()
		l.records = l.records[1:]
		r.source.Settings = "b"
		res := r.run()
		r.want("unchanged", res.Counters.Unchanged, int64(8))
		r.want("deleted with other settings", res.Counters.Deleted, int64(0))
		r.want("deleted with the same", r.run().Counters.Deleted, int64(1))
	})
}

// While a page commits the next is fetched.
func TestFetchingGoesOnWhileACommitTakesTime(t *testing.T) {
	l := numbered(9)
	r := newRig(t, newStore(t), l.stream(syncd.Stream{Name: "items"}))
	second := make(chan struct{})
	l.before = func(n int) {
		if n == 2 {
			close(second)
		}
	}
	r.pages = &slow{Pages: r.store, before: func() {
		select {
		case <-second:
		case <-time.After(10 * time.Second):
			t.Error("the second page was not asked for while the first was being committed")
		}
	}}
	r.want("inserted", r.run().Counters.Inserted, int64(9))
}

// slow is a store whose first transaction waits.
type slow struct {
	store.Pages
	before func()
	once   bool
}

func (s *slow) Update(ctx context.Context, l store.Lease, f func(context.Context, store.Tx) error) error {
	if !s.once {
		s.once = true
		s.before()
	}
	return s.Pages.Update(ctx, l, f)
}

// wire is a provider that tells the time.
type wire time.Time

func (w wire) Date() time.Time { return time.Time(w) }
func (w wire) Requests() int64 { return 0 }

func TestTheWatermarkDoesNotDependOnOurClock(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		for _, skew := range []time.Duration{0, time.Hour, -time.Hour} {
			l := numbered(5)
			l.records = append(l.records, syncd.Record{ID: "99", Mark: syncd.At(noon.AddDate(0, 9, 0)), Data: []byte("1")})
			r := newRig(t, s, l.stream(syncd.Stream{Name: "items"}))
			r.tx(func(ctx context.Context, tx store.Tx) error { return tx.DropCursors(ctx, "") })
			r.source.Wire = wire(noon)
			r.now = func() time.Time { return noon.Add(skew) }
			r.want("state", r.run().State, store.Done)
			r.want("watermark with our clock off by "+skew.String(), r.cursor("items", "").Watermark, syncd.At(noon))
		}
	})
}
