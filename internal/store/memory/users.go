package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Users implements store.Users.
func (s *Store) Users(ctx context.Context, after string, limit int) ([]store.User, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]store.User{}
	s.rows(func(user, _, table string) {
		if table != "changes" && user > after {
			found[user] = store.User{ID: user}
		}
	})
	for key, src := range s.sources {
		if u, ok := found[key.User]; ok {
			u.Sources++
			if len(src.paused) > 0 {
				u.Paused++
			}
			found[key.User] = u
		}
	}
	out := slices.SortedFunc(maps.Values(found), func(a, b store.User) int { return strings.Compare(a.ID, b.ID) })
	return out[:min(limit, len(out))], nil
}

// Traces implements store.Users.
func (s *Store) Traces(ctx context.Context, user string) ([]store.Trace, error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := store.Tally{}
	s.rows(func(whose, provider, table string) {
		if whose == user {
			found.Add(provider, table, 1)
		}
	})
	return found.Traces(), nil
}

// rows calls f for each row of each table.
func (s *Store) rows(f func(user, provider, table string)) {
	of := func(key store.Key, table string) { f(key.User, key.Provider, table) }
	for key := range s.sources {
		of(key, "sources")
	}
	for key, all := range s.cursors {
		for range all {
			of(key, "cursors")
		}
	}
	for key, all := range s.records {
		for range all {
			of(key, "records")
		}
	}
	for _, r := range s.rejects {
		of(r.Key, "rejects")
	}
	for _, r := range s.runs {
		of(r.Key, "runs")
	}
	for _, c := range s.changes {
		of(c.key, "changes")
	}
	for key := range s.credentials {
		of(key, "credentials")
	}
	for _, e := range s.events {
		of(e.Key, "events")
	}
	for _, m := range s.memos {
		f(m.User, "", "memos")
	}
}

// Erase implements store.Users.
func (s *Store) Erase(ctx context.Context, user string) ([]store.Trace, error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := map[store.Key]bool{}
	s.rows(func(whose, provider, _ string) {
		if whose == user && provider != "" {
			keys[store.Key{User: user, Provider: provider}] = true
		}
	})
	removed := store.Tally{}
	was := len(s.memos)
	maps.DeleteFunc(s.memos, func(_ memoKey, m store.Memo) bool { return m.User == user })
	removed.Add("", "memos", int64(was-len(s.memos)))
	for _, key := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		if _, err := s.idle(key); s.sources[key] != nil && err != nil {
			return removed.Traces(), err
		}
		s.remove(key, true, removed)
		was := len(s.events)
		s.events = slices.DeleteFunc(s.events, func(e store.Event) bool { return e.Key == key })
		removed.Add(key.Provider, "events", int64(was-len(s.events)))
	}
	s.removeChanges(func(of store.Key) bool { return of.User == user }, removed)
	return removed.Traces(), nil
}

// Scrub implements store.Users. Nothing outlasts the process.
func (s *Store) Scrub(ctx context.Context, rewrite bool) ([]string, error) { return nil, ctx.Err() }

// RecordsOf implements store.Users.
func (s *Store) RecordsOf(ctx context.Context, user string, after store.RecordKey, limit int) ([]store.UserRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.UserRecord
	for _, key := range slices.SortedFunc(maps.Keys(s.records), compareKeys) {
		if key.User != user || key.Provider < after.Provider {
			continue
		}
		for _, r := range s.sorted(key) {
			if key.Provider == after.Provider && r.ID <= after.ID {
				continue
			}
			if len(out) == limit {
				return out, nil
			}
			row := store.UserRecord{Key: key, Row: r.Row, DeletedAt: r.deletedAt, FirstSeenAt: r.firstSeenAt, UpdatedAt: r.updatedAt}
			row.Data = slices.Clone(r.Data)
			out = append(out, row)
		}
	}
	return out, nil
}

// CursorsOf implements store.Users.
func (s *Store) CursorsOf(ctx context.Context, user string, after store.UserCursor, limit int) ([]store.UserCursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.UserCursor
	for key, cursors := range s.cursors {
		for _, c := range cursors {
			if row := (store.UserCursor{Provider: key.Provider, Cursor: c}); key.User == user && compareCursors(row, after) > 0 {
				out = append(out, row)
			}
		}
	}
	slices.SortFunc(out, compareCursors)
	return out[:min(limit, len(out))], nil
}

func compareCursors(a, b store.UserCursor) int {
	return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Stream, b.Stream), strings.Compare(a.Part, b.Part))
}

// ChangesOf implements store.Users.
func (s *Store) ChangesOf(ctx context.Context, user string, seq int64) ([]store.UserChange, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.UserChange
	for _, c := range s.changes {
		if c.key.User == user && c.seq > seq {
			out = append(out, store.UserChange{Seq: c.seq, Provider: c.key.Provider, Change: c.Change, At: c.at})
		}
	}
	return out, 0, nil
}
