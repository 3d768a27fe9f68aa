package cli

import (
	"context"
	"errors"
	"time"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

// A hand is an operator's hold of one source: its lease, which is renewed until
// release. What is done under it is not cut by Ctrl-C but told to stop.
type hand struct {
	ctx     context.Context // done when the lease is lost
	stop    <-chan struct{} // closed: end soon
	sched   *scheduler.Scheduler
	claim   store.Claim
	taken   time.Time
	release func()
}

// takeHold takes the lease of a source, due or not. Somebody else's run is a
// *store.LeasedError.
func (a *app) takeHold(ctx context.Context, f *fleet, cfg *config.Config, key store.Key) (hand, error) {
	h := hand{ctx: context.WithoutCancel(ctx), stop: ctx.Done(), sched: a.scheduler(f.store, f, cfg, f.log), taken: time.Now()}
	claim, err := f.store.Acquire(ctx, key, h.sched.Owner, cfg.Lease)
	if err != nil {
		return hand{}, err
	}
	h.claim = claim
	keeping, stop := context.WithCancel(h.ctx)
	h.release = stop
	go h.sched.Keeper.Run(keeping)
	return h, nil
}

// run runs the source with a row in the run log, which it returns.
func (h hand) run(src *config.Source, plan scheduler.Plan, full bool, do func(context.Context, scheduler.Task) scheduler.Result) (store.Run, error) {
	plan.Trigger, plan.NextAt, plan.DueAt = store.TriggerOperator, h.claim.NextAt, h.claim.DueAt
	if !plan.Keep {
		plan.DueAt = timetable(src).Due(h.claim.Key, h.claim.NextAt)
	}
	task := scheduler.Task{Claim: h.claim, Plan: plan, Run: scheduler.NewRun(h.claim, plan, h.sched.Owner)}
	task.Run.Full = full
	entry := scheduler.Entry{Timetable: timetable(src), Run: func(ctx context.Context, task scheduler.Task, _ <-chan struct{}) scheduler.Result {
		return do(ctx, task)
	}}
	if ended := h.sched.Do(h.ctx, h.stop, entry, task, h.taken); ended.State == "" {
		return task.Run, errors.New(or(ended.Error, "the run could not be opened"))
	}
	return task.Run, nil
}
