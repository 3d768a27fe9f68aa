package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// wakeAt is when the source needs attention; zero if it needs none.
func (src *source) wakeAt() time.Time {
	switch {
	case !src.leaseUntil.IsZero():
		return src.leaseUntil
	case len(src.paused) > 0:
		return time.Time{}
	}
	return src.dueAt
}

// free gives the lease back.
func (src *source) free() { src.owner, src.leaseUntil = "", time.Time{} }

// Claim implements store.Queue.
func (s *Store) Claim(ctx context.Context, owner string, n int, ttl time.Duration) ([]store.Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var due []store.Key
	for key, src := range s.sources {
		if at := src.wakeAt(); at.IsZero() || at.After(now) {
			continue
		}
		if len(src.paused) > 0 {
			s.abandon(key, src, now)
			src.free()
			continue
		}
		due = append(due, key)
	}
	slices.SortFunc(due, func(a, b store.Key) int {
		return cmp.Or(s.sources[a].wakeAt().Compare(s.sources[b].wakeAt()),
			cmp.Compare(a.User, b.User), cmp.Compare(a.Provider, b.Provider))
	})
	var out []store.Claim
	for _, key := range due[:min(n, len(due))] {
		out = append(out, s.take(key, owner, now, ttl))
	}
	return out, nil
}

// Acquire implements store.Queue.
func (s *Store) Acquire(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Claim, error) {
	if err := ctx.Err(); err != nil {
		return store.Claim{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.idle(key); err != nil {
		return store.Claim{}, err
	}
	return s.take(key, owner, s.now(), ttl), nil
}

// idle returns a source that nobody runs.
func (s *Store) idle(key store.Key) (*source, error) {
	src := s.sources[key]
	if src == nil {
		return nil, fmt.Errorf("source %s: %w", key, store.ErrNotFound)
	}
	if src.leaseUntil.After(s.now()) {
		return nil, &store.LeasedError{Key: key, Owner: src.owner, Until: src.leaseUntil}
	}
	return src, nil
}

// take gives the lease of a source that nobody runs to owner.
func (s *Store) take(key store.Key, owner string, now time.Time, ttl time.Duration) store.Claim {
	src := s.sources[key]
	s.abandon(key, src, now)
	src.token++
	src.owner, src.leaseUntil = limits.Text(owner), micro(now.Add(ttl))
	c := store.Claim{
		Lease: store.Lease{Key: key, Token: src.token, Owner: src.owner},
		Now:   now, NextAt: src.nextAt, DueAt: src.dueAt, FullAt: src.fullAt,
		Resume: src.resume, Failures: src.failures, Paused: slices.Clone(src.paused), Declared: src.declared, Account: src.account, WellAt: src.lastDoneAt,
	}
	if c.WellAt.IsZero() {
		c.WellAt = src.createdAt
	}
	if src.resume == store.ResumeAbandoned {
		c.Previous = src.lastRunID
	}
	return c
}

// abandon records that the run under a lease that has run out was not
// finished: the source is due at once, to go on with it.
func (s *Store) abandon(key store.Key, src *source, now time.Time) {
	if src.leaseUntil.IsZero() {
		return
	}
	run := s.runs[src.lastRunID]
	if run == nil || run.Key != key || run.Token != src.token {
		return // the daemon died before it began a run
	}
	if run.State == store.Running {
		closed := *run
		closed.State, closed.EndedAt = store.Abandoned, now
		s.runs[run.ID] = &closed
	}
	src.resume = store.ResumeAbandoned
	if src.dueAt.IsZero() || src.dueAt.After(now) {
		src.dueAt = now
	}
}

// Renew implements store.Queue.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, ttl time.Duration) ([]store.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []store.Lease
	for _, l := range leases {
		src, err := s.held(l)
		if err != nil {
			lost = append(lost, l)
			continue
		}
		src.leaseUntil = micro(s.now().Add(ttl))
	}
	return lost, nil
}

// Release implements store.Queue.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if src := s.sources[lease.Key]; src != nil && src.token == lease.Token {
		src.free()
	}
	return nil
}

// NextWake implements store.Queue.
func (s *Store) NextWake(ctx context.Context) (time.Time, bool, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var first time.Time
	for _, src := range s.sources {
		if at := src.wakeAt(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero(), nil
}
