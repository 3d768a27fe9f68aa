// Package scheduler turns what is due into runs: a tick becomes a claim, a
// claim a worker, a worker a run. It knows no connector and no provider.
//
// The store holds every due time, so a schedule survives restarts, can be read
// in SQL, and belongs to no daemon. All times are the database's clock's.
package scheduler

import (
	"hash/fnv"
	"time"

	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/store"
)

// A Timetable is when one source is due.
type Timetable struct {
	Schedule schedule.Schedule
	Spread   time.Duration // the window over which sources with the same tick are spread
	CatchUp  bool          // ticks missed while no daemon ran become one run
	Full     *schedule.Schedule
	GiveUp   GiveUp
}

// A GiveUp says when a source that only fails is no longer tried: after so many
// failures in a row, and so long after it last went well. Zero Failures is never.
type GiveUp struct {
	Failures int
	After    time.Duration
}

// Due returns when a source is to be claimed for a tick: the tick and its own
// stable share of the spread, which is never more than half way to the next.
func (t Timetable) Due(key store.Key, tick time.Time) time.Time {
	window := min(t.Spread, t.Schedule.Next(tick).Sub(tick)/2)
	return tick.Add(schedule.Offset(key.User, key.Provider, window))
}

// Spec returns what the store must know of a source as of now: it is due at
// once if it is new.
func (t Timetable) Spec(key store.Key, connector string, now time.Time) store.Spec {
	next := t.Schedule.Next(now)
	spec := store.Spec{
		Key: key, Connector: connector, Schedule: t.Schedule.String(),
		NextAt: next, DueAt: now, SpreadAt: t.Due(key, next),
	}
	if t.Full != nil {
		spec.Full, spec.FullAt = t.Full.String(), t.Full.Next(now)
	}
	return spec
}

// A Plan is what a claim leads to.
type Plan struct {
	Skip    bool // nothing is to be run: the tick was missed, and catching up is not wanted
	Trigger string
	Tick    time.Time // zero if the run is for no tick
	Folded  int       // further ticks that the run stands for
	NextAt  time.Time
	DueAt   time.Time
	Full    bool
	Keep    bool // what the source is due for, and how often it failed, stays as it was: a replay
}

// Plan says what a claim leads to. started is when this daemon started: older
// ticks were missed while no daemon ran.
func (t Timetable) Plan(c store.Claim, started time.Time) Plan {
	p := Plan{NextAt: c.NextAt, Full: t.Full != nil && !c.FullAt.IsZero() && !c.FullAt.After(c.Now)}
	passed := c.Now.Add(-t.Due(c.Key, c.NextAt).Sub(c.NextAt))
	if c.NextAt.After(passed) {
		p.Trigger = store.TriggerResume
		if c.Resume == store.ResumeNew || c.Resume == "" {
			p.Trigger = store.TriggerSchedule
		}
		p.DueAt = t.Due(c.Key, p.NextAt)
		return p
	}
	latest, missed := t.Schedule.Latest(c.NextAt, passed)
	p.NextAt = t.Schedule.Next(latest)
	p.DueAt = t.Due(c.Key, p.NextAt)
	switch {
	case c.Resume != "" && c.Resume != store.ResumeNew:
		p.Trigger = store.TriggerResume
	case latest.Before(started) && !t.CatchUp && c.Resume == "":
		p.Skip = true
		return p
	case c.NextAt.Before(started):
		p.Trigger = store.TriggerCatchUp
	default:
		p.Trigger = store.TriggerSchedule
	}
	p.Tick, p.Folded = latest, missed
	return p
}

// A Result is what the scheduler must know of how a run ended.
type Result struct {
	State    string
	Error    string
	Notes    string
	Input    string
	Requests int64
	Wait     time.Duration // of parked: for how long from its end; no moment of this host's clock
}

// How long a source that fails is left alone: twice as long each time.
const (
	firstRetry = time.Minute
	lastRetry  = 6 * time.Hour
)

// Outcome says when the source is due again after a run that was planned as p
// and ended at now.
func (t Timetable) Outcome(c store.Claim, p Plan, r Result, now time.Time) store.Outcome {
	o := store.Outcome{State: r.State, Error: r.Error, Notes: r.Notes, Input: r.Input, Requests: r.Requests}
	if p.Keep {
		o.Resume, o.Failures = c.Resume, c.Failures
		return o
	}
	switch r.State {
	case store.Done:
		o.Lift = store.PausedFailing // somebody has tried it by hand
		if p.Full {
			o.FullAt = t.Full.Next(now)
		}
	case store.Partial, store.Lost:
		// A run that gave up its lease because it could not be renewed in time
		// may find it still its own: then it goes on like one that was stopped.
		o.DueAt, o.Resume, o.Failures = now, store.ResumePartial, c.Failures
	case store.Parked:
		o.DueAt, o.Resume, o.Failures = now.Add(r.Wait), store.ResumeParked, c.Failures
	default:
		o.Failures = c.Failures + 1
		o.Resume, o.DueAt = store.ResumeFailed, now.Add(retryAfter(c.Key, o.Failures))
		if t.GiveUp.Failures > 0 && o.Failures >= t.GiveUp.Failures && now.Sub(c.WellAt) >= t.GiveUp.After {
			o.Pause = store.PausedFailing
		}
	}
	return o
}

// retryAfter is the pause after the given number of failures in a row, up to a
// quarter shorter or longer so that sources that failed together do not come
// back together.
func retryAfter(key store.Key, failures int) time.Duration {
	d := lastRetry
	if n := failures - 1; n < 12 {
		d = min(firstRetry<<n, lastRetry)
	}
	h := fnv.New32a()
	h.Write([]byte(key.User))
	h.Write([]byte{0, byte(failures)})
	h.Write([]byte(key.Provider))
	return d - d/4 + time.Duration(h.Sum32()%1000)*d/2000
}
