package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Apply implements store.Queue.
func (s *Store) Apply(ctx context.Context, specs []store.Spec) (store.Applied, error) {
	return s.apply(ctx, specs, true)
}

// Add implements store.Queue.
func (s *Store) Add(ctx context.Context, spec store.Spec) error {
	_, err := s.apply(ctx, []store.Spec{spec}, false)
	return err
}

// apply takes over the specs; if they are all there are, it also pauses the
// sources that are not among them.
func (s *Store) apply(ctx context.Context, specs []store.Spec, all bool) (store.Applied, error) {
	var done store.Applied
	if err := ctx.Err(); err != nil {
		return done, err
	}
	wanted := make(map[store.Key]bool, len(specs))
	for _, spec := range specs {
		if err := limits.Spec(spec); err != nil {
			return done, err
		}
		if wanted[spec.Key] {
			return done, fmt.Errorf("source %s is listed twice", spec.Key)
		}
		wanted[spec.Key] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, spec := range specs {
		src := s.sources[spec.Key]
		if src == nil {
			s.sources[spec.Key] = newSource(spec, now)
			done.Added++
			continue
		}
		if src.change(spec) {
			done.Changed++
		}
		if src.resumeFrom(store.PausedRemoved) {
			done.Restored++
		}
	}
	for key, src := range s.sources {
		if all && !wanted[key] && src.declared == "" && src.pause(store.PausedRemoved) {
			done.Removed++
		}
	}
	return done, nil
}

func newSource(spec store.Spec, now time.Time) *source {
	return &source{
		connector: spec.Connector, schedule: spec.Schedule, full: spec.Full, declared: spec.Declared,
		nextAt: micro(spec.NextAt), dueAt: micro(spec.DueAt), fullAt: micro(spec.FullAt),
		resume: store.ResumeNew, createdAt: now,
		// A source that is removed and added again must not give out the tokens
		// of its former life.
		token: now.UnixMicro(),
	}
}

// change takes over what the configuration changed, and reports whether it did.
func (src *source) change(spec store.Spec) bool {
	changed := src.connector != spec.Connector || src.schedule != spec.Schedule || src.full != spec.Full || src.declared != spec.Declared
	if src.schedule != spec.Schedule {
		src.nextAt = micro(spec.NextAt)
		due := micro(spec.SpreadAt)
		keep := src.resume != "" && !src.dueAt.IsZero() && (due.IsZero() || src.dueAt.Before(due))
		if !keep {
			src.dueAt = due
		}
	}
	if src.full != spec.Full {
		src.fullAt = micro(spec.FullAt)
	}
	src.connector, src.schedule, src.full, src.declared = spec.Connector, spec.Schedule, spec.Full, spec.Declared
	return changed
}

// pause adds a reason, and reports whether it was not there.
func (src *source) pause(reason string) bool {
	at, found := slices.BinarySearch(src.paused, reason)
	if !found {
		src.paused = slices.Insert(slices.Clone(src.paused), at, reason)
	}
	return !found
}

// resumeFrom takes a reason out, and reports whether it was there.
func (src *source) resumeFrom(reason string) bool {
	at, found := slices.BinarySearch(src.paused, reason)
	if found {
		src.paused = slices.Delete(slices.Clone(src.paused), at, at+1)
	}
	return found
}

// Pause implements store.Queue.
func (s *Store) Pause(ctx context.Context, key store.Key, reason string) ([]string, error) {
	if err := limits.Reason(reason); err != nil {
		return nil, err
	}
	return s.setSource(ctx, key, func(src *source) { src.pause(reason) })
}

// Resume implements store.Queue.
func (s *Store) Resume(ctx context.Context, key store.Key, reason string) ([]string, error) {
	return s.setSource(ctx, key, func(src *source) {
		if reason == "" {
			src.paused = nil
		} else {
			src.resumeFrom(reason)
		}
	})
}

// setSource changes a source and returns why it is paused.
func (s *Store) setSource(ctx context.Context, key store.Key, f func(*source)) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src := s.sources[key]
	if src == nil {
		return nil, fmt.Errorf("source %s: %w", key, store.ErrNotFound)
	}
	f(src)
	return slices.Clone(src.paused), nil
}

// SetAccount implements store.Queue.
func (s *Store) SetAccount(ctx context.Context, key store.Key, account string) error {
	if err := limits.Account(account); err != nil {
		return err
	}
	_, err := s.setSource(ctx, key, func(src *source) { src.account = account })
	return err
}

// Reschedule implements store.Queue.
func (s *Store) Reschedule(ctx context.Context, key store.Key, nextAt, dueAt time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src, err := s.idle(key)
	if err != nil {
		return err
	}
	src.nextAt, src.dueAt = micro(nextAt), micro(dueAt)
	return nil
}

// Remove implements store.Queue.
func (s *Store) Remove(ctx context.Context, key store.Key, purge bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.idle(key); err != nil && (s.sources[key] != nil || !purge || !s.hasLeft(key)) {
		return err
	}
	removed := store.Tally{}
	s.remove(key, purge, removed)
	if purge {
		s.removeChanges(func(of store.Key) bool { return of == key }, removed)
	}
	return nil
}

// removeChanges deletes the changes of sources, and counts them.
func (s *Store) removeChanges(of func(store.Key) bool, removed store.Tally) {
	s.changes = slices.DeleteFunc(s.changes, func(c change) bool {
		if of(c.key) {
			removed.Add(c.key.Provider, "changes", 1)
		}
		return of(c.key)
	})
}

// remove deletes what a source has, with purge also its records and runs, and
// counts it.
func (s *Store) remove(key store.Key, purge bool, removed store.Tally) {
	if s.sources[key] != nil {
		removed.Add(key.Provider, "sources", 1)
	}
	if s.credentials[key].Version > 0 {
		removed.Add(key.Provider, "credentials", 1)
	}
	removed.Add(key.Provider, "cursors", int64(len(s.cursors[key])))
	delete(s.sources, key)
	delete(s.cursors, key)
	delete(s.credentials, key)
	was := len(s.rejects)
	maps.DeleteFunc(s.rejects, func(_ int64, r *store.Reject) bool { return r.Key == key })
	maps.DeleteFunc(s.rejectIDs, func(k rejectKey, _ int64) bool { return k.key == key })
	removed.Add(key.Provider, "rejects", int64(was-len(s.rejects)))
	if !purge {
		return
	}
	removed.Add(key.Provider, "records", int64(len(s.records[key])))
	delete(s.records, key)
	was = len(s.runs)
	maps.DeleteFunc(s.runs, func(_ string, r *store.Run) bool { return r.Key == key })
	maps.DeleteFunc(s.ticks, func(k tickKey, _ string) bool { return k.key == key })
	removed.Add(key.Provider, "runs", int64(was-len(s.runs)))
}

// hasLeft reports whether a source that was removed left anything behind.
func (s *Store) hasLeft(key store.Key) bool {
	if len(s.records[key]) > 0 || slices.ContainsFunc(s.changes, func(c change) bool { return c.key == key }) {
		return true
	}
	for _, r := range s.runs {
		if r.Key == key {
			return true
		}
	}
	return false
}
