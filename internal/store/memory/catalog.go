package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
)

// Sources implements store.Catalog.
func (s *Store) Sources(ctx context.Context, f store.SourceFilter) ([]store.Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[store.Key]int64{}
	for _, r := range s.rejects {
		if r.Resolution == "" {
			open[r.Key]++
		}
	}
	var out []store.Source
	for key, src := range s.sources {
		if f.User != "" && f.User != key.User || f.Provider != "" && f.Provider != key.Provider || f.Declared && src.declared == "" || compareKeys(key, f.After) <= 0 {
			continue
		}
		row := store.Source{
			Key: key, Connector: src.connector, Schedule: src.schedule, Declared: src.declared, Account: src.account, Paused: slices.Clone(src.paused),
			NextAt: src.nextAt, DueAt: src.dueAt, FullAt: src.fullAt, Resume: src.resume, Failures: src.failures,
			Owner: src.owner, LeaseUntil: src.leaseUntil, LastRunID: src.lastRunID, LastDoneAt: src.lastDoneAt,
			OpenRejects: open[key], CreatedAt: src.createdAt,
		}
		if run := s.runs[src.lastRunID]; run != nil {
			row.LastState, row.LastError, row.LastEndedAt = run.State, run.Error, run.EndedAt
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b store.Source) int { return compareKeys(a.Key, b.Key) })
	return limited(out, f.Limit), nil
}

func compareKeys(a, b store.Key) int {
	return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(a.Provider, b.Provider))
}

// limited returns the first n rows, all if n is 0.
func limited[T any](rows []T, n int) []T {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// Runs implements store.Catalog.
func (s *Store) Runs(ctx context.Context, f store.RunFilter) ([]store.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Run
	for _, r := range s.runs {
		if (f.User == "" || f.User == r.User) && (f.Provider == "" || f.Provider == r.Provider) &&
			(f.State == "" || f.State == r.State) && (f.Before == "" || r.ID < f.Before) {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b store.Run) int { return strings.Compare(b.ID, a.ID) })
	return limited(out, f.Limit), nil
}

// Run implements store.Catalog.
func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	if err := ctx.Err(); err != nil {
		return store.Run{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		return *r, nil
	}
	return store.Run{}, fmt.Errorf("run %q: %w", id, store.ErrNotFound)
}

// Rejects implements store.Catalog.
func (s *Store) Rejects(ctx context.Context, f store.RejectFilter) ([]store.Reject, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Reject
	for _, r := range s.rejects {
		if (f.User == "" || f.User == r.User) && (f.Provider == "" || f.Provider == r.Provider) &&
			(f.Stream == "" || f.Stream == r.Stream) && (f.Reason == "" || f.Reason == r.Reason) &&
			(f.RunID == "" || f.RunID == r.RunID) && (f.Resolved || r.Resolution == "") &&
			(f.BeforeID == 0 || r.ID < f.BeforeID) {
			row := *r
			row.Raw = nil
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b store.Reject) int { return cmp.Compare(b.ID, a.ID) })
	return limited(out, f.Limit), nil
}

// Reject implements store.Catalog.
func (s *Store) Reject(ctx context.Context, id int64) (store.Reject, error) {
	if err := ctx.Err(); err != nil {
		return store.Reject{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rejects[id]
	if r == nil {
		return store.Reject{}, fmt.Errorf("reject %d: %w", id, store.ErrNotFound)
	}
	row := *r
	row.Raw = slices.Clone(r.Raw)
	return row, nil
}

// Count implements store.Catalog.
func (s *Store) Count(ctx context.Context, key store.Key) ([]store.StreamCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]*store.StreamCount{}
	for _, r := range s.records[key] {
		c := counts[r.Stream]
		if c == nil {
			c = &store.StreamCount{Stream: r.Stream}
			counts[r.Stream] = c
		}
		if r.Deleted {
			c.Deleted++
		} else {
			c.Live++
		}
	}
	var out []store.StreamCount
	for _, c := range counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b store.StreamCount) int { return strings.Compare(a.Stream, b.Stream) })
	return out, nil
}

// Overview implements store.Catalog.
func (s *Store) Overview(ctx context.Context) (store.Overview, error) {
	if err := ctx.Err(); err != nil {
		return store.Overview{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	o := store.Overview{Now: now, Sources: int64(len(s.sources))}
	for _, src := range s.sources {
		held := src.leaseUntil.After(now)
		if len(src.paused) > 0 {
			o.Paused++
		}
		if held {
			o.Running++
		}
		if src.failures > 0 {
			o.Failing++
		}
		if src.lastRunID == "" {
			o.Never++
		}
		if at := src.wakeAt(); len(src.paused) == 0 && !held && !at.IsZero() && !at.After(now) {
			o.Due++
			if !src.dueAt.IsZero() && !src.dueAt.After(now) && (o.Oldest.IsZero() || src.dueAt.Before(o.Oldest)) {
				o.Oldest = src.dueAt
			}
		}
	}
	for _, r := range s.rejects {
		if r.Resolution == "" {
			o.OpenRejects++
		}
	}
	return o, nil
}
