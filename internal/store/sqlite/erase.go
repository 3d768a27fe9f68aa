package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Erase implements store.Users. What is deleted is overwritten in its page: see
// Scrub for the rest.
func (s *Store) Erase(ctx context.Context, user string) (removed []store.Trace, err error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	providers, err := s.providersOf(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := s.overwrite(ctx, true); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.overwrite(context.WithoutCancel(ctx), false)) }()
	all := store.Tally{}
	// Sessions in which the user connects go first: they would add something.
	err = s.eraseMemos(ctx, user, all)
	for _, provider := range providers {
		if err == nil {
			err = s.eraseSource(ctx, store.Key{User: user, Provider: provider}, all)
		}
	}
	if err == nil {
		err = s.eraseChanges(ctx, user, all)
	}
	return all.Traces(), err
}

// eraseSource deletes what there is of a source, the outbox aside: all sources
// of the user share one walk over that.
func (s *Store) eraseSource(ctx context.Context, key store.Key, all store.Tally) error {
	r, err := s.beginRemoval(ctx, key)
	if err != nil {
		return err
	}
	if err = r.clear(ctx, "cursors", "credentials", "rejects", "records", "runs", "events"); err == nil {
		err = r.end(ctx)
	}
	all.AddAll(r.removed)
	return r.giveBack(ctx, err)
}

// eraseChanges deletes a user's changes, those aside of sources that there are
// again.
func (s *Store) eraseChanges(ctx context.Context, user string, all store.Tally) error {
	first, last, err := s.outbox(ctx)
	for ; err == nil && first <= last; first += changesAtOnce {
		var gone []string // the providers of the rows that this step deletes
		err = s.transact(ctx, func(ctx context.Context, w *writer) error {
			gone = gone[:0]
			err := w.rows(ctx, `DELETE FROM changes WHERE seq >= ? AND seq < ? AND user_id = ?
				AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.user_id = changes.user_id AND s.provider = changes.provider)
				RETURNING provider`, []any{first, first + changesAtOnce, user}, scanInto(&gone))
			return fail(err, "erase the changes of a user")
		})
		if err == nil {
			for _, provider := range gone {
				all.Add(provider, "changes", 1)
			}
		}
	}
	return err
}

func (s *Store) eraseMemos(ctx context.Context, user string, all store.Tally) error {
	for {
		var n int64
		err := s.transact(ctx, func(ctx context.Context, w *writer) (err error) {
			n, err = w.exec(ctx, "DELETE FROM memos WHERE (kind, id) IN (SELECT kind, id FROM memos WHERE user_id = ? AND user_id <> '' LIMIT ?)", user, removeRows)
			return fail(err, "erase the memos of a user")
		})
		if err != nil || n == 0 {
			return err
		}
		all.Add("", "memos", n)
	}
}

// outbox returns the first and the last number of the outbox; the last is 0 if
// there is none.
func (s *Store) outbox(ctx context.Context) (first, last int64, err error) {
	err = s.read(ctx, "look for the ends of the outbox", "SELECT COALESCE(min(seq), 1), COALESCE(max(seq), 0) FROM changes", nil,
		func(r *sql.Rows) error { return r.Scan(&first, &last) })
	return first, last, err
}

// bySource are the tables that have an index by user and provider.
func bySource() []string {
	return []string{"sources", "cursors", "records", "rejects", "runs", "credentials", "events"}
}

// providersOf returns the providers that a user has rows of, the outbox aside:
// one look into each index for each of them.
func (s *Store) providersOf(ctx context.Context, user string) ([]string, error) {
	var all []string
	for _, table := range bySource() {
		for last := ""; ; {
			found, err := list(ctx, s, "look for the providers of a user",
				"SELECT provider FROM "+table+" WHERE user_id = ? AND provider > ? ORDER BY provider LIMIT 1", []any{user, last}, scanText)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				break
			}
			last = found[0]
			all = append(all, last)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
