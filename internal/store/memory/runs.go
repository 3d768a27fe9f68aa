package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Begin implements store.Queue.
func (s *Store) Begin(ctx context.Context, lease store.Lease, run store.Run, nextAt, dueAt time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src, err := s.held(lease)
	if err != nil {
		return err
	}
	tick := tickKey{lease.Key, micro(run.Tick)}
	if id, taken := s.ticks[tick]; taken && !run.Tick.IsZero() {
		src.nextAt, src.dueAt = micro(nextAt), micro(dueAt)
		src.free()
		return fmt.Errorf("source %s, tick %s, run %s: %w", lease.Key, tick.tick.Format(time.RFC3339), id, store.ErrTickTaken)
	}
	if s.runs[run.ID] != nil || run.ID == "" {
		return fmt.Errorf("begin run %q: %w", run.ID, store.ErrConflict)
	}
	src.nextAt, src.dueAt, src.lastRunID = micro(nextAt), micro(dueAt), run.ID
	s.runs[run.ID] = &store.Run{
		ID: run.ID, Key: lease.Key, Token: lease.Token, Owner: src.owner,
		Trigger: run.Trigger, Tick: micro(run.Tick), Folded: run.Folded, Full: run.Full,
		State: store.Running, Input: limits.Text(run.Input), StartedAt: s.now(),
		Notes: limits.Text(run.Notes), Resumes: run.Resumes,
	}
	if !run.Tick.IsZero() {
		s.ticks[tick] = run.ID
	}
	return nil
}

// Finish implements store.Queue.
func (s *Store) Finish(ctx context.Context, lease store.Lease, runID string, o store.Outcome) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	src, err := s.held(lease)
	lost := err != nil
	old := s.runs[runID]
	switch mine := old != nil && old.Key == lease.Key && old.Token == lease.Token; {
	case !mine && lost:
		return err
	case !mine:
		return fmt.Errorf("finish run %q of source %s: %w", runID, lease.Key, store.ErrNotFound)
	case old.State == store.Running:
		run := *old
		s.runs[runID] = &run
		run.State, run.EndedAt = o.State, now
		if lost {
			run.State = store.Lost
		}
		run.Error, run.Requests = limits.Text(o.Error), o.Requests
		if o.Notes != "" {
			run.Notes = limits.Text(o.Notes)
		}
		if run.Input == "" {
			run.Input = limits.Text(o.Input)
		}
	}
	if lost {
		return err
	}
	src.free()
	src.resume, src.failures = o.Resume, o.Failures
	if !o.DueAt.IsZero() {
		src.dueAt = micro(o.DueAt)
	}
	if !o.FullAt.IsZero() {
		src.fullAt = micro(o.FullAt)
	}
	if o.State == store.Done {
		src.lastDoneAt = now
	}
	if o.Lift != "" {
		src.resumeFrom(o.Lift)
	}
	if o.Pause != "" {
		src.pause(o.Pause)
	}
	return nil
}
