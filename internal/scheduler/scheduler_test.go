package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
)

// everything is a table in which every source has the same entry.
type everything Entry

func (e everything) Entry(store.Key, string) (Entry, bool) { return Entry(e), true }

// A witness sees runs begin and end, and complains where two of one source overlap.
type witness struct {
	t       *testing.T
	mu      sync.Mutex
	running map[store.Key]bool
	ran     []Task
	took    time.Duration
}

func (w *witness) run(ctx context.Context, task Task, stop <-chan struct{}) Result {
	w.mu.Lock()
	if w.running[task.Claim.Key] {
		w.t.Errorf("two runs of %s at once", task.Claim.Key)
	}
	w.running[task.Claim.Key] = true
	w.ran = append(w.ran, task)
	w.mu.Unlock()
	state := store.Done
	select {
	case <-time.After(w.took):
	case <-stop:
		state = store.Partial
	case <-ctx.Done():
		state = store.Lost
	}
	w.mu.Lock()
	w.running[task.Claim.Key] = false
	w.mu.Unlock()
	return Result{State: state}
}

func newWitness(t *testing.T, took time.Duration) *witness {
	return &witness{t: t, running: map[store.Key]bool{}, took: took}
}

func every(t *testing.T, d string) Timetable {
	t.Helper()
	s, err := schedule.Parse("@every "+d, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return Timetable{Schedule: s, CatchUp: true}
}

func daemon(s store.Queue, name string, e Entry) *Scheduler {
	return &Scheduler{
		Store: s, Table: everything(e), Keeper: NewKeeper(s, 15*time.Second), Owner: name, Workers: 4,
		TTL: 15 * time.Second, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler), Poll: 200 * time.Millisecond,
	}
}

// add makes sources known whose first tick is one interval from now.
func add(t *testing.T, s store.Queue, table Timetable, keys ...store.Key) {
	t.Helper()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var specs []store.Spec
	for _, key := range keys {
		spec := table.Spec(key, "c", now)
		spec.DueAt = spec.SpreadAt
		specs = append(specs, spec)
	}
	if _, err := s.Apply(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
}

// ticks checks that every tick between the first and the last was run once.
func ticks(t *testing.T, runs []store.Run, interval time.Duration, atLeast int) {
	t.Helper()
	bySource := map[store.Key][]store.Run{}
	for _, r := range runs {
		bySource[r.Key] = append(bySource[r.Key], r)
	}
	total := 0
	for key, runs := range bySource {
		slices.SortFunc(runs, func(a, b store.Run) int { return a.Tick.Compare(b.Tick) })
		for i, r := range runs {
			total += 1 + r.Folded
			if r.Tick.IsZero() {
				t.Errorf("%s: run %s has no tick", key, r.ID)
			}
			if i == 0 {
				continue
			}
			before := runs[i-1]
			if r.Tick.Equal(before.Tick) {
				t.Errorf("%s: the tick %s was run twice", key, r.Tick)
			}
			if want := before.Tick.Add(interval * time.Duration(1+r.Folded)); !r.Tick.Equal(want) {
				t.Errorf("%s: tick %s after %s with %d folded: ticks were lost", key, r.Tick, before.Tick, r.Folded)
			}
			if r.StartedAt.Before(before.EndedAt) {
				t.Errorf("%s: runs overlap: %s before %s", key, r.StartedAt, before.EndedAt)
			}
		}
	}
	if total < atLeast {
		t.Errorf("%d ticks, want at least %d", total, atLeast)
	}
}

func TestTwoDaemonsRunEachTickOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		w := newWitness(t, 100*time.Millisecond)
		table := every(t, "5s")
		add(t, s, table, alice, store.Key{User: "bob", Provider: "github"})
		ctx, cancel := context.WithCancel(t.Context())
		var daemons sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			daemons.Go(func() { daemon(s, name, Entry{table, w.run}).Run(ctx) })
		}
		time.Sleep(1000*time.Second + 500*time.Millisecond)
		cancel()
		daemons.Wait()
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		if err != nil {
			t.Fatal(err)
		}
		ticks(t, runs, 5*time.Second, 398)
		owners := map[string]int{}
		for _, r := range runs {
			owners[r.Owner]++
		}
		if len(owners) != 2 {
			t.Errorf("the runs were shared out as %v, want both daemons at work", owners)
		}
	})
}

func TestTicksDuringARunBecomeOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		w := newWitness(t, 25*time.Second)
		table := every(t, "10s")
		add(t, s, table, alice)
		ctx, cancel := context.WithTimeout(t.Context(), 37*time.Second)
		defer cancel()
		daemon(s, "a", Entry{table, w.run}).Run(ctx)
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		if err != nil || len(runs) != 2 {
			t.Fatalf("%d runs, %v; want 2", len(runs), err)
		}
		ticks(t, runs, 10*time.Second, 3)
		if runs[0].Folded != 1 {
			t.Errorf("the second run stands for %d further ticks, want 1", runs[0].Folded)
		}
	})
}

func TestStopIsToldAndGoneOnFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		w := newWitness(t, time.Hour)
		table := every(t, "10s")
		add(t, s, table, alice)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		began := time.Now()
		daemon(s, "a", Entry{table, w.run}).Run(ctx)
		if took := time.Since(began); took > 16*time.Second {
			t.Errorf("the daemon took %s to stop", took-15*time.Second)
		}
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		if err != nil || len(runs) != 1 || runs[0].State != store.Partial {
			t.Fatalf("runs %+v, %v; want one partial", runs, err)
		}
		w.took = time.Second
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		daemon(s, "b", Entry{table, w.run}).Run(ctx)
		if last := w.ran[len(w.ran)-1]; last.Run.Trigger != store.TriggerResume || last.Run.Owner != "b" {
			t.Errorf("the next daemon ran %+v, want it to resume", last.Run)
		}
	})
}

func TestARunThatDoesNotStopIsCutAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		table := every(t, "10s")
		add(t, s, table, alice)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		began := time.Now()
		deaf := func(ctx context.Context, _ Task, _ <-chan struct{}) Result {
			<-ctx.Done()
			return Result{State: store.Failed, Error: "cut"}
		}
		daemon(s, "a", Entry{table, deaf}).Run(ctx)
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("the daemon ended after %s, want 15s and the grace of 10s", took)
		}
	})
}

// unreachable is a queue that can be cut off.
type unreachable struct {
	store.Queue
	mu  sync.Mutex
	off bool
}

func (u *unreachable) cut(off bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.off = off
}

func (u *unreachable) err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.off {
		return store.ErrUnreachable
	}
	return nil
}

func (u *unreachable) Renew(ctx context.Context, l []store.Lease, ttl time.Duration) ([]store.Lease, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Queue.Renew(ctx, l, ttl)
}

func (u *unreachable) Claim(ctx context.Context, owner string, n int, ttl time.Duration) ([]store.Claim, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Queue.Claim(ctx, owner, n, ttl)
}

func TestALeaseThatCannotBeRenewedEndsItsRunInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		u := &unreachable{Queue: s}
		table := every(t, "10s")
		add(t, s, table, alice)
		ctx, cancel := context.WithCancel(t.Context())
		var cut, ended time.Time
		var cause error
		long := func(ctx context.Context, _ Task, _ <-chan struct{}) Result {
			time.Sleep(20 * time.Second) // heartbeats keep it
			if ctx.Err() != nil {
				t.Error("the run was cut although its lease was renewed")
			}
			u.cut(true)
			cut = time.Now()
			<-ctx.Done()
			ended, cause = time.Now(), context.Cause(ctx)
			u.cut(false)
			cancel()
			return Result{State: store.Lost}
		}
		daemon(u, "a", Entry{table, long}).Run(ctx)
		if !errors.Is(cause, store.ErrLeaseLost) {
			t.Errorf("cause %v, want the lease lost", cause)
		}
		if took := ended.Sub(cut); took >= 15*time.Second {
			t.Errorf("the run went on for %s without a renewal; its lease lasts 15s", took)
		}
	})
}

func TestAStoreThatIsAwayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		u := &unreachable{Queue: s}
		w := newWitness(t, time.Second)
		table := every(t, "10s")
		add(t, s, table, alice)
		u.cut(true)
		time.AfterFunc(5*time.Minute, func() { u.cut(false) })
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
		defer cancel()
		daemon(u, "a", Entry{table, w.run}).Run(ctx)
		if len(w.ran) == 0 || w.ran[0].Plan.Folded < 25 {
			t.Fatalf("runs %+v, want one for all the ticks missed, then more", w.ran)
		}
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		if err != nil {
			t.Fatal(err)
		}
		ticks(t, runs, 10*time.Second, 34)
	})
}

func TestAnUnknownSourceIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		table := every(t, "10s")
		add(t, s, table, alice)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		d := daemon(s, "a", Entry{})
		d.Table = nothing{}
		d.Run(ctx)
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		if err != nil || len(runs) != 0 {
			t.Errorf("%d runs, %v; want none", len(runs), err)
		}
	})
}

type nothing struct{}

func (nothing) Entry(store.Key, string) (Entry, bool) { return Entry{}, false }

// The database's clock is set back by an hour: interval schedules go on within
// one interval, and no slot of a cron schedule is run twice.
func TestTheClockIsSetBack(t *testing.T) {
	for name, expr := range map[string]string{"interval": "@every 5m", "cron": "*/5 * * * *"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var back time.Duration
				s := memory.New(func() time.Time {
					mu.Lock()
					defer mu.Unlock()
					return time.Now().Add(-back)
				})
				parsed, err := schedule.Parse(expr, time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				table := Timetable{Schedule: parsed, CatchUp: true}
				add(t, s, table, alice)
				w := newWitness(t, time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 80*time.Minute)
				defer cancel()
				time.AfterFunc(12*time.Minute, func() {
					mu.Lock()
					defer mu.Unlock()
					back = time.Hour
				})
				d := daemon(s, "a", Entry{table, w.run})
				d.Sources = s.Sources
				d.Run(ctx)
				seen := map[time.Time]bool{}
				for _, task := range w.ran {
					if seen[task.Run.Tick] {
						t.Errorf("the tick %s was run twice", task.Run.Tick)
					}
					seen[task.Run.Tick] = true
				}
				// Two before, and then: each interval; or none until the hour is made up for.
				if want := map[string]int{"interval": 15, "cron": 3}[name]; len(w.ran) < want || len(w.ran) > want+1 {
					t.Errorf("%d runs, want about %d", len(w.ran), want)
				}
			})
		})
	}
}

// Quick runs follow one another as workers become free, not once per look.
func TestWorkersAreNeverIdleWhileSomethingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		w := newWitness(t, 10*time.Millisecond)
		table := every(t, "1h")
		var keys []store.Key
		for i := range 200 {
			keys = append(keys, store.Key{User: strconv.Itoa(i), Provider: "p"})
		}
		add(t, s, table, keys...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+2*time.Second)
		defer cancel()
		d := daemon(s, "a", Entry{table, w.run})
		d.Poll = time.Second
		d.Run(ctx)
		if len(w.ran) != len(keys) {
			t.Errorf("%d of %d sources were run within two seconds of their tick, by four workers at 10 ms each", len(w.ran), len(keys))
		}
	})
}
