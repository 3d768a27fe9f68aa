package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Tell implements store.Events.
func (s *Store) Tell(ctx context.Context, events ...store.Event) error {
	return s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		return fail(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return tell(ctx, tx, events) }), "tell of an event")
	})
}

func tell(ctx context.Context, tx pgx.Tx, events []store.Event) error {
	for _, e := range events {
		if err := limits.Event(e); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO events (user_id, provider, kind, detail) VALUES ($1, $2, $3, $4)",
			e.User, e.Provider, e.Kind, limits.Text(e.Detail))
		if err != nil {
			return err
		}
	}
	return nil
}

// Events implements store.Events.
func (s *Store) Events(ctx context.Context, f store.EventFilter) ([]store.Event, error) {
	var where filter
	where.equal("user_id", f.User)
	where.equal("provider", f.Provider)
	if f.Before > 0 {
		where.add("seq < $%d", f.Before)
	}
	tail := where.sql("seq DESC", f.Limit)
	return rows(ctx, s, "list events", "SELECT seq, user_id, provider, kind, detail, at FROM events"+tail, where.args,
		func(row pgx.CollectableRow) (store.Event, error) {
			var e store.Event
			var at pgtype.Timestamptz
			err := row.Scan(&e.Seq, &e.User, &e.Provider, &e.Kind, &e.Detail, &at)
			e.At = moment(at)
			return e, err
		})
}
