package memory

import (
	"context"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Tell implements store.Events.
func (s *Store) Tell(ctx context.Context, events ...store.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tell(events)
}

// tell adds events to the log, all or none.
func (s *Store) tell(events []store.Event) error {
	for _, e := range events {
		if err := limits.Event(e); err != nil {
			return err
		}
	}
	for _, e := range events {
		s.lastEvent++
		e.Seq, e.At, e.Detail = s.lastEvent, s.now(), limits.Text(e.Detail)
		s.events = append(s.events, e)
	}
	return nil
}

// Events implements store.Events.
func (s *Store) Events(ctx context.Context, f store.EventFilter) ([]store.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Event
	for _, e := range slices.Backward(s.events) {
		if f.User != "" && e.User != f.User || f.Provider != "" && e.Provider != f.Provider || f.Before > 0 && e.Seq >= f.Before {
			continue
		}
		if out = append(out, e); len(out) == f.Limit {
			break
		}
	}
	return out, nil
}
