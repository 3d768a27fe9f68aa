package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
)

// Update implements store.Pages. f is run once.
func (s *Store) Update(ctx context.Context, lease store.Lease, f func(ctx context.Context, tx store.Tx) error) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		until, err := s.held(ctx, w, lease)
		if err != nil {
			return err
		}
		t := &tx{s: s, w: w, key: lease.Key, now: s.now()}
		defer func() { t.over = true }()
		if err := f(ctx, t); err != nil {
			return err
		}
		if t.dead != nil {
			return fmt.Errorf("commit for source %s after an error: %w", lease.Key, t.dead)
		}
		// Nobody else can have written the source's row since; time has passed.
		if s.now() >= until {
			return lost(lease)
		}
		return nil
	})
}

// held returns when a lease that still holds runs out.
func (s *Store) held(ctx context.Context, w *writer, lease store.Lease) (until int64, err error) {
	found, err := w.row(ctx, "SELECT lease_until FROM sources WHERE user_id = ? AND provider = ? AND lease_token = ? AND lease_until > ?",
		[]any{lease.User, lease.Provider, lease.Token, s.now()}, &until)
	if err == nil && !found {
		return 0, lost(lease)
	}
	return until, fail(err, "look for the lease of source %s", lease.Key)
}

func lost(lease store.Lease) error {
	return fmt.Errorf("source %s under token %d: %w", lease.Key, lease.Token, store.ErrLeaseLost)
}

// A tx is one transaction under a lease.
//
// Its statements do not run under the caller's context: the driver would start
// a goroutine for each, and none runs long. The context is looked at between them.
type tx struct {
	s    *Store
	w    *writer
	key  store.Key
	now  int64 // all that it writes was written at this time
	dead error // why nothing can be written any more
	over bool  // Update has returned
}

var errOver = errors.New("the transaction is over")

// usable reports why the transaction can't be used.
func (t *tx) usable(ctx context.Context) error {
	switch {
	case t.over:
		return errOver
	case t.dead != nil:
		return fmt.Errorf("the transaction is dead: %w", t.dead)
	}
	return ctx.Err()
}

// step runs f, which reads or writes; its error ends the transaction.
func (t *tx) step(ctx context.Context, f func(ctx context.Context) error) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	err := f(context.WithoutCancel(ctx))
	if err != nil {
		t.dead = err
	}
	return err
}

// Try implements store.Tx.
func (t *tx) Try(ctx context.Context, f func() error) error {
	err := t.step(ctx, func(ctx context.Context) error {
		return fail(t.w.do(ctx, "SAVEPOINT try"), "begin a savepoint")
	})
	if err != nil {
		return err
	}
	err = f()
	if err == nil {
		err = t.dead // f kept an error to itself
	}
	end := []string{"RELEASE try"}
	if err != nil {
		t.dead = nil
		end = []string{"ROLLBACK TO try", "RELEASE try"} // the former leaves the savepoint where it is
	}
	for _, statement := range end {
		err2 := t.step(ctx, func(ctx context.Context) error {
			// Where the disk is full, SQLite has ended the transaction with its savepoints.
			return fail(t.w.do(ctx, statement), "end a savepoint")
		})
		if err2 != nil && err != nil {
			err2 = fmt.Errorf("%w; then %w", err, err2)
		}
		if err2 != nil {
			return err2
		}
	}
	return err
}
