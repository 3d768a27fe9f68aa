package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Erase implements store.Users.
func (s *Store) Erase(ctx context.Context, user string) ([]store.Trace, error) {
	if err := limits.User(user); err != nil {
		return nil, err
	}
	providers, err := s.providersOf(ctx, user)
	if err != nil {
		return nil, err
	}
	removed := store.Tally{}
	// Sessions in which the user connects go first: they would add something.
	err = s.eraseMemos(ctx, user, removed)
	for _, provider := range providers {
		if err == nil {
			err = s.eraseSource(ctx, store.Key{User: user, Provider: provider}, removed)
		}
	}
	if err == nil {
		err = s.purgeChanges(ctx, "user_id = $1 AND "+noSource, removed, user)
	}
	return removed.Traces(), err
}

// eraseSource deletes what there is of a source, the outbox aside: all sources
// of the user share one walk over that.
func (s *Store) eraseSource(ctx context.Context, key store.Key, removed store.Tally) error {
	if err := s.removeSource(ctx, key, removed); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for _, table := range []string{"cursors", "credentials", "rejects", "events"} {
		if err := s.purgeFew(ctx, table, noSource, key, removed); err != nil {
			return err
		}
	}
	return s.purgeLeft(ctx, key, removed)
}

func (s *Store) eraseMemos(ctx context.Context, user string, removed store.Tally) error {
	for {
		n, err := s.exec(ctx, "erase the memos of a user",
			"DELETE FROM memos WHERE (kind, id) IN (SELECT kind, id FROM memos WHERE user_id = $1 AND user_id <> '' LIMIT $2)", user, purgeRows)
		if err != nil || n == 0 {
			return err
		}
		removed.Add("", "memos", n)
	}
}

// Scrub implements store.Users. To write tables anew (VACUUM FULL) would lock
// everybody out of them, and is left to who looks after the server.
func (s *Store) Scrub(ctx context.Context, rewrite bool) ([]string, error) {
	return []string{
		"the tables' files, where the bytes of deleted rows stay until VACUUM frees them and others are written over them; VACUUM FULL writes a table anew at once, and locks it meanwhile",
		"the planner's statistics (pg_statistic), which hold common values of columns until the next ANALYZE",
		"the write-ahead log, its archives, replicas and subscribers of logical replication",
	}, ctx.Err()
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
			found, err := rows(ctx, s, "look for the providers of a user",
				"SELECT provider FROM "+table+" WHERE user_id = $1 AND provider > $2 ORDER BY provider LIMIT 1", []any{user, last}, pgx.RowTo[string])
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
