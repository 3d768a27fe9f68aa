package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/syncdhq/syncd/internal/store"
)

// A tx is one transaction under a lease. Statements that need no answer wait
// in steps until one that does, or the COMMIT, takes them along: their errors
// come back then.
type tx struct {
	s          *Store
	conn       *pgx.Conn
	lease      store.Lease
	steps      []step
	depth      int   // of nested Trys
	dead       error // why nothing can be written any more
	committing bool  // the COMMIT goes out with the steps
	over       bool  // Update has returned
}

var _ store.Tx = (*tx)(nil)

// A step is a statement that waits to be sent.
type step struct {
	what string // was attempted, for errors
	sql  string
	args []any
	read func(pgx.Rows) error // the answer; nil: it is not looked at
	none error                // what division_by_zero stands for
	tag  string               // the command tag it must have
}

var errOver = errors.New("the transaction is over")

func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.pool.Acquire(ctx)
}

// queue adds a statement whose answer is not needed.
func (t *tx) queue(what, sql string, args ...any) {
	t.steps = append(t.steps, step{what: what, sql: sql, args: args})
}

// ask adds a statement whose answer is read by read.
func (t *tx) ask(what string, read func(pgx.Rows) error, sql string, args ...any) {
	t.steps = append(t.steps, step{what: what, sql: sql, args: args, read: read})
}

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

// kill notes why the transaction is dead, and returns the reason.
func (t *tx) kill(err error) error {
	if err != nil && !t.committing && t.conn.IsClosed() {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	if t.dead == nil {
		t.dead = err
	}
	return err
}

// flush sends the steps in one go and reads the answers in order.
func (t *tx) flush(ctx context.Context) error {
	steps := t.steps
	t.steps = nil
	if len(steps) == 0 {
		return nil
	}
	ctx, cancel := t.s.bounded(ctx)
	defer cancel()
	batch := &pgx.Batch{}
	for _, s := range steps {
		batch.Queue(s.sql, s.args...)
	}
	answers := t.conn.SendBatch(ctx, batch)
	for _, s := range steps {
		if err := s.answer(answers); err != nil {
			answers.Close()
			return t.kill(err)
		}
	}
	return t.kill(fail(answers.Close(), "%s", steps[len(steps)-1].what))
}

// answer reads the answer to one step.
func (s step) answer(answers pgx.BatchResults) error {
	if s.read != nil {
		found, err := answers.Query()
		if err == nil {
			err = s.read(found)
			found.Close()
			if err == nil {
				err = found.Err()
			}
		}
		return fail(err, "%s", s.what)
	}
	tag, err := answers.Exec()
	if err == nil && s.tag != "" && tag.String() != s.tag {
		err = errRolledBack
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "22012" && s.none != nil {
		return fmt.Errorf("%s: %w", s.what, s.none)
	}
	return fail(err, "%s", s.what)
}

// Try implements store.Tx. Collisions, a lost lease and a broken connection
// end the transaction all the same.
func (t *tx) Try(ctx context.Context, f func() error) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	t.depth++
	defer func() { t.depth-- }()
	name := fmt.Sprintf("try_%d", t.depth)
	t.queue("set a savepoint", "SAVEPOINT "+name)
	// What waited belongs before the savepoint, and so do its errors.
	if err := t.flush(ctx); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = t.dead // f kept an error to itself
	}
	if err == nil {
		t.queue("release a savepoint", "RELEASE SAVEPOINT "+name)
		err = t.flush(ctx)
	}
	if err == nil {
		return nil
	}
	t.steps = nil
	if retryable(t.dead) || t.conn.IsClosed() || errors.Is(t.dead, store.ErrLeaseLost) {
		return err
	}
	t.dead = nil
	ctx, cancel := t.s.bounded(ctx)
	defer cancel()
	if _, undo := t.conn.Exec(ctx, "ROLLBACK TO SAVEPOINT "+name+"; RELEASE SAVEPOINT "+name); undo != nil {
		t.kill(fail(undo, "go back to a savepoint"))
		return fmt.Errorf("%w (and %w)", err, undo)
	}
	return err
}
