package scheduler

import (
	"context"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// How often the database's clock is looked at, and how far it must have been
// set back to matter: a correction of seconds is not worth a word.
const (
	clockEvery = 20 * time.Second
	clockBack  = 10 * time.Second
)

// watchClock puts interval schedules right when the database's clock was set
// back: their next ticks would lie as much further away. Cron schedules are
// left alone: the slots up to their next tick have been run.
func (s *Scheduler) watchClock(ctx context.Context) {
	if s.Sources == nil {
		return
	}
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	var read, when time.Time // what the clock said, and our own time then
	for {
		now, err := s.Store.Now(ctx)
		if err == nil {
			mine := time.Now()
			if !read.IsZero() && now.Before(read.Add(mine.Sub(when)-clockBack)) {
				s.Log.Warn("the database's clock was set back", "by", read.Add(mine.Sub(when)).Sub(now).Round(time.Second))
				if err := s.rewind(ctx, now); err != nil {
					s.Log.Error("cannot put the schedules right after the database's clock was set back", "error", err)
				}
			}
			read, when = now, mine
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// rewind brings the ticks of interval schedules back to within one interval from now.
func (s *Scheduler) rewind(ctx context.Context, now time.Time) error {
	filter := store.SourceFilter{Limit: 1000}
	for {
		sources, err := s.Sources(ctx, filter)
		if err != nil {
			return err
		}
		for _, src := range sources {
			entry, ok := s.Table.Entry(src.Key, src.Declared)
			if !ok {
				continue
			}
			interval, ok := entry.Schedule.Interval()
			if !ok || src.Owner != "" || !src.NextAt.After(now.Add(interval)) {
				continue
			}
			next := now.Add(interval)
			due := entry.Due(src.Key, next)
			if src.DueAt.Before(due) {
				due = src.DueAt
			}
			if err := s.Store.Reschedule(ctx, src.Key, next, due); err != nil {
				return err
			}
		}
		if len(sources) < filter.Limit {
			return nil
		}
		filter.After = sources[len(sources)-1].Key
	}
}
