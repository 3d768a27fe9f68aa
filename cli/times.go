package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

// times finds the coming fire times of sources: from where their schedules
// stand in the store, else from the configuration alone.
type times struct {
	cfg   *config.Config
	store store.Store // nil: there is none yet, or it is not to be asked
	zone  *time.Location
	now   time.Time
	from  time.Time
	notes []string // what people should know besides
}

func (t *times) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// one returns n fire times of a source.
func (t *times) one(ctx context.Context, src *config.Source, n int) ([]fire, error) {
	table, key := timetable(src), keyOf(src)
	at := t.from
	fires := []fire{}
	add := func(tick time.Time) {
		f := fireAt(tick, src.Timezone)
		due := table.Due(key, tick).UTC()
		f.Due, f.User, f.Provider = &due, key.User, key.Provider
		fires = append(fires, f)
	}
	if t.store != nil {
		row, err := oneSource(ctx, t.store, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil && t.stands(row, table.Schedule.String()) {
			at = t.waitsFor(row, table)
			add(at)
			t.besides(row, *fires[0].Due)
		}
	}
	for at = table.Schedule.Next(at); len(fires) < n && !at.IsZero(); at = table.Schedule.Next(at) {
		add(at)
	}
	if table.Full != nil {
		t.note("everything is read again after %s", inZone(table.Full.Next(t.from), src.Timezone))
	}
	return fires, nil
}

// stands reports whether the store has the tick that a source waits for, by
// the schedule of the configuration.
func (t *times) stands(row store.Source, schedule string) bool {
	if row.Schedule != schedule {
		t.note("the store still has the schedule %s: the daemon takes the new one over when it starts or reloads", row.Schedule)
		return false
	}
	return !row.NextAt.IsZero()
}

// waitsFor returns the tick that the next run is for: the one in the store or,
// where the daemon has missed that, the last since.
func (t *times) waitsFor(row store.Source, table scheduler.Timetable) time.Time {
	passed := t.now.Add(-table.Due(row.Key, row.NextAt).Sub(row.NextAt))
	if row.NextAt.After(passed) {
		return row.NextAt
	}
	latest, missed := table.Schedule.Latest(row.NextAt, passed)
	switch {
	case missed > 0 && table.CatchUp:
		t.note("%s before the first were missed: one run stands for all", count(missed, "tick"))
	case missed > 0:
		t.note("%s before the first were missed, and are left out", count(missed, "tick"))
	}
	return latest
}

// besides says what else decides when a source is run.
func (t *times) besides(row store.Source, due time.Time) {
	switch {
	case len(row.Paused) > 0:
		t.note("%s is paused (%s): it does not run", row.Key, strings.Join(row.Paused, ", "))
	case row.Owner != "" && row.LeaseUntil.After(t.now):
		t.note("%s is being run now", row.Key)
	case row.Resume != "" && row.DueAt.Before(due.Add(-time.Second)):
		t.note("%s is due at %s besides: %s", row.Key, inZone(row.DueAt, t.zone), because(row))
	case row.Resume != "" && row.DueAt.After(due.Add(time.Second)):
		t.note("%s does not run before %s: %s", row.Key, inZone(row.DueAt, t.zone), because(row))
	}
}

// because says why a source is due other than by its schedule.
func because(row store.Source) string {
	switch row.Resume {
	case store.ResumeNew:
		return "it has never been run"
	case store.ResumePartial:
		return "the last run goes on"
	case store.ResumeParked:
		return "the last run waits for quota"
	case store.ResumeFailed:
		return "the last run failed"
	case store.ResumeAbandoned:
		return "the daemon of the last run died"
	}
	return ""
}

// source returns what the source of a row is, nil if nobody knows.
func (t *times) source(waiting map[store.Key]*config.Source, row store.Source) (*config.Source, error) {
	return (&force{cfg: t.cfg, sources: waiting}).source(row.Key, row.Declared)
}

// all returns the next time of each source, soonest first, at most n (0: all).
func (t *times) all(ctx context.Context, n int) ([]fire, error) {
	fires := []fire{}
	known := map[store.Key]bool{}
	waiting := configured(t.cfg)
	if t.store != nil {
		paused := 0
		for row, err := range sourcesOf(ctx, t.store, store.SourceFilter{}) {
			if err != nil {
				return nil, err
			}
			known[row.Key] = true
			if len(row.Paused) > 0 {
				paused++
				continue
			}
			if row.DueAt.IsZero() {
				continue
			}
			f := fireAt(row.NextAt, time.UTC)
			if src, err := t.source(waiting, row); err == nil && src != nil {
				f = fireAt(row.NextAt, src.Timezone)
			}
			f.Due, f.User, f.Provider, f.Why = &row.DueAt, row.User, row.Provider, because(row)
			fires = append(fires, f)
		}
		if paused > 0 {
			t.note("%s left out", count(paused, "paused source"))
		}
	}
	for _, src := range t.cfg.Sources {
		key, table := keyOf(src), timetable(src)
		at := table.Schedule.Next(t.from)
		if known[key] || at.IsZero() {
			continue
		}
		f := fireAt(at, src.Timezone)
		due := table.Due(key, at).UTC()
		f.Due, f.User, f.Provider = &due, key.User, key.Provider
		if t.store != nil {
			f.Why = "the daemon does not know it yet"
		}
		fires = append(fires, f)
	}
	slices.SortStableFunc(fires, func(x, y fire) int { return x.Due.Compare(*y.Due) })
	if n > 0 && len(fires) > n {
		t.note("and %s after those (-n shows more)", count(len(fires)-n, "more source"))
		fires = fires[:n]
	}
	return fires, nil
}
