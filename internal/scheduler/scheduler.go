package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/syncdhq/syncd/internal/store"
)

// An Entry is a source as this daemon knows it.
type Entry struct {
	Timetable
	// Run does the run. It returns soon after ctx is cancelled, and commits the
	// page in hand and returns soon after stop is closed.
	Run func(ctx context.Context, task Task, stop <-chan struct{}) Result
}

// A Table finds the entry of a source, which was added at run time if it is
// declared. It is asked at each claim, so that a reload takes effect with the
// next run.
type Table interface {
	Entry(key store.Key, declared string) (Entry, bool)
}

// A Task is a run to be done.
type Task struct {
	Claim store.Claim
	Plan  Plan
	Run   store.Run
}

// A Scheduler claims what is due and runs it. Its fields are set before Run is
// called, and not after.
type Scheduler struct {
	Store   store.Queue
	Table   Table
	Keeper  *Keeper
	Owner   string        // the daemon's name in leases and the run log
	Workers int           // runs at once
	TTL     time.Duration // of a lease
	Poll    time.Duration // how often to look for what is due; 0 is a second
	Grace   time.Duration // how long runs have to end once ctx is done
	Log     *slog.Logger

	// Sources lists the store's sources, to put their schedules right when the
	// database's clock was set back. Nil leaves them.
	Sources func(context.Context, store.SourceFilter) ([]store.Source, error)

	Ended func(Task, Result) // a run has ended and its row is closed; nil is allowed
}

// Run claims and runs until ctx is done, then lets the runs in hand commit
// their page and end, for at most the grace time. It returns when all have
// ended. A store that can't be reached is waited for.
func (s *Scheduler) Run(ctx context.Context) error {
	started, err := s.Store.Now(ctx)
	if err != nil {
		return err
	}
	hard, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	keeping, stopKeeping := context.WithCancel(hard)
	defer stopKeeping()
	go s.Keeper.Run(keeping)
	go s.watchClock(ctx)

	var runs sync.WaitGroup
	free := make(chan struct{}, s.Workers)
	for range s.Workers {
		free <- struct{}{}
	}
	s.claims(ctx, started, free, func(c store.Claim, taken time.Time) {
		runs.Go(func() {
			defer func() { free <- struct{}{} }()
			s.run(hard, ctx.Done(), c, started, taken)
		})
	})
	grace := time.AfterFunc(s.Grace, func() { cut(errors.New("the grace time is over")) })
	defer grace.Stop()
	runs.Wait()
	return nil
}

// claims hands claims to start, as many as there are free workers, until ctx is done.
func (s *Scheduler) claims(ctx context.Context, started time.Time, free chan struct{}, start func(store.Claim, time.Time)) {
	poll := s.Poll
	if poll == 0 {
		poll = time.Second
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	trouble := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if !oneFree(ctx, free) {
			return
		}
		n := len(free)
		taken := time.Now()
		claims, err := s.Store.Claim(ctx, s.Owner, n, s.TTL)
		if err != nil && ctx.Err() == nil {
			if trouble++; trouble == 1 {
				s.Log.Error("cannot look for what is due, and will go on trying", "error", err)
			}
			pause.Reset(min(poll<<min(trouble, 5), 30*time.Second))
			continue
		}
		if trouble > 0 {
			s.Log.Info("the store answers again")
			trouble = 0
		}
		for _, c := range claims {
			<-free
			start(c, taken)
		}
		if len(claims) == n {
			pause.Reset(0) // there may be more: as soon as a worker is free
		} else {
			pause.Reset(poll)
		}
	}
}

// oneFree waits until a worker is free; it returns false once ctx is done.
func oneFree(ctx context.Context, free chan struct{}) bool {
	select {
	case worker := <-free:
		free <- worker
		return true
	case <-ctx.Done():
		return false
	}
}

// run does what one claim leads to.
func (s *Scheduler) run(ctx context.Context, stop <-chan struct{}, c store.Claim, started, taken time.Time) {
	entry, ok := s.Table.Entry(c.Key, c.Declared)
	if !ok {
		// Another daemon's configuration may have it, or a reload is under way.
		s.putBack(ctx, c, c.NextAt, c.Now.Add(time.Minute))
		return
	}
	plan := entry.Plan(c, started)
	if plan.Skip {
		s.Log.Info("missed ticks are left out, as catch_up: none says", "user", c.User, "provider", c.Provider, "next", plan.NextAt)
		s.putBack(ctx, c, plan.NextAt, plan.DueAt)
		return
	}
	task := Task{Claim: c, Plan: plan, Run: NewRun(c, plan, s.Owner)}
	s.Do(ctx, stop, entry, task, taken)
}

// NewRun returns the run log's row of a run that begins.
func NewRun(c store.Claim, p Plan, owner string) store.Run {
	return store.Run{
		ID: newID(), Key: c.Key, Token: c.Token, Owner: owner, Trigger: p.Trigger, Tick: p.Tick,
		Folded: p.Folded, Full: p.Full, State: store.Running, Resumes: c.Previous,
	}
}

func newID() string {
	return uuid.Must(uuid.NewV7()).String()
}

// Do opens the task's row in the run log, runs it under the lease, and closes
// it. It returns the result, whose State is empty if nothing was run.
func (s *Scheduler) Do(ctx context.Context, stop <-chan struct{}, entry Entry, task Task, taken time.Time) Result {
	c, log := task.Claim, s.Log.With("user", task.Claim.User, "provider", task.Claim.Provider)
	ctx, release := s.Keeper.Keep(ctx, c.Lease, taken)
	defer release()
	err := s.Store.Begin(ctx, c.Lease, task.Run, task.Plan.NextAt, task.Plan.DueAt)
	switch {
	case errors.Is(err, store.ErrTickTaken):
		log.Info("the tick has been run already", "tick", task.Plan.Tick)
		return Result{}
	case err != nil:
		log.Error("cannot open the run", "error", err)
		s.putBack(ctx, c, c.NextAt, c.DueAt)
		return Result{Error: err.Error()}
	}
	result := entry.Run(ctx, task, stop)
	if err := s.finish(ctx, entry, task, &result); err != nil {
		log.Error("cannot close the run; its lease runs out by itself", "run", task.Run.ID, "error", err)
	}
	if s.Ended != nil {
		s.Ended(task, result)
	}
	return result
}

// closing is how long the end of a run is tried to be written.
const closing = 15 * time.Second

// finish closes the run. It is tried also when the run was cut short.
func (s *Scheduler) finish(ctx context.Context, entry Entry, task Task, result *Result) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		now, err := s.Store.Now(ctx)
		if err == nil {
			err = s.Store.Finish(ctx, task.Claim.Lease, task.Run.ID, entry.Outcome(task.Claim, task.Plan, *result, now))
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrLeaseLost):
			result.State, result.Error = store.Lost, store.ErrLeaseLost.Error()
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// putBack gives a claim back without a run.
func (s *Scheduler) putBack(ctx context.Context, c store.Claim, nextAt, dueAt time.Time) {
	err := s.Store.Release(ctx, c.Lease)
	if err == nil {
		err = s.Store.Reschedule(ctx, c.Key, nextAt, dueAt)
	}
	if err != nil {
		s.Log.Error("cannot give a claim back; its lease runs out by itself", "user", c.User, "provider", c.Provider, "error", err)
	}
}
