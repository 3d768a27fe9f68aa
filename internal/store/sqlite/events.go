package sqlite

import (
	"context"
	"database/sql"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Tell implements store.Events.
func (s *Store) Tell(ctx context.Context, events ...store.Event) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		return fail(tell(ctx, w, events, s.now()), "tell of an event")
	})
}

func tell(ctx context.Context, w *writer, events []store.Event, now int64) error {
	for _, e := range events {
		if err := limits.Event(e); err != nil {
			return err
		}
		_, err := w.exec(ctx, "INSERT INTO events (user_id, provider, kind, detail, at) VALUES (?, ?, ?, ?, ?)",
			e.User, e.Provider, e.Kind, limits.Text(e.Detail), now)
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
		where.add("seq < ?", f.Before)
	}
	tail := where.sql("seq DESC", f.Limit)
	return list(ctx, s, "list events", "SELECT seq, user_id, provider, kind, detail, at FROM events"+tail, where.args,
		func(r *sql.Rows) (store.Event, error) {
			var e store.Event
			var at sql.NullInt64
			err := r.Scan(&e.Seq, &e.User, &e.Provider, &e.Kind, &e.Detail, &at)
			e.At = moment(at)
			return e, err
		})
}
