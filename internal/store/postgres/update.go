package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
)

// Update implements store.Pages. The isolation is read committed, whatever the
// database's default: the lock on the source's row orders the writers.
func (s *Store) Update(ctx context.Context, lease store.Lease, f func(ctx context.Context, tx store.Tx) error) error {
	return s.again(ctx, func() error { return s.update(ctx, lease, f) })
}

func (s *Store) update(ctx context.Context, lease store.Lease, f func(ctx context.Context, tx store.Tx) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return fail(err, "begin a transaction for source %s", lease.Key)
	}
	// A connection that is released inside a transaction is closed, which rolls
	// it back: also when f panics.
	defer conn.Release()
	t := &tx{s: s, conn: conn.Conn(), lease: lease}
	defer func() { t.over = true }()
	t.queue("begin a transaction for source "+lease.Key.String(), "BEGIN ISOLATION LEVEL READ COMMITTED")
	t.ask("check the lease of source "+lease.Key.String(), oneRow, s.begin, leaseArgs(lease)...)

	err = f(ctx, t)
	if t.dead != nil && (err == nil || !errors.Is(err, t.dead)) && retryable(t.dead) {
		err = t.dead // f has put the reason in words of its own, or kept it to itself
	}
	if err == nil && t.dead != nil {
		err = fmt.Errorf("commit for source %s after an error: %w", lease.Key, t.dead)
	}
	if err != nil {
		t.rollback(ctx)
		return err
	}
	return t.commit(ctx)
}

// retryable reports whether again does the transaction once more.
func retryable(err error) bool { return errors.Is(err, errAgain) || errors.Is(err, errBroken) }

// rollback ends a transaction that f gave up, so that its connection can be
// used again. If that does not work the connection is closed.
func (t *tx) rollback(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' || ctx.Err() != nil {
		return
	}
	ctx, cancel := t.s.bounded(ctx)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		t.conn.Close(ctx)
	}
}

// commit sends what waits, the second check of the lease and COMMIT in one
// go. A failing statement keeps the server from reading on to the COMMIT.
func (t *tx) commit(ctx context.Context) error {
	what := "commit for source " + t.lease.Key.String()
	t.steps = append(t.steps, step{
		what: what, sql: stillHeld, args: leaseArgs(t.lease), none: store.ErrLeaseLost,
	}, step{what: what, sql: "COMMIT", tag: "COMMIT"})
	t.committing = true
	err := t.flush(ctx)
	if err != nil {
		t.rollback(ctx)
	}
	return err
}

// errRolledBack: the server answered COMMIT with ROLLBACK.
var errRolledBack = fmt.Errorf("%w: the database rolled it back", pgx.ErrTxCommitRollback)
