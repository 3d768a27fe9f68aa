package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	codes "modernc.org/sqlite/lib"
)

// A writer is the connection that writes, with its prepared statements. One
// goroutine uses it at a time.
type writer struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

// patience is how long a transaction waits for other processes to begin.
const patience = time.Minute

// transact runs f in a transaction that may write. It commits when f returns
// nil, and rolls back when f fails or panics.
func (s *Store) transact(ctx context.Context, f func(ctx context.Context, w *writer) error) error {
	w, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer func() { s.writer <- w }()
	if err := w.begin(ctx); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			w.rollback()
		}
	}()
	if err := f(ctx, w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Not under ctx: a commit that is interrupted may have been one.
	if err := w.do(context.Background(), "COMMIT"); err != nil {
		return fail(err, "commit")
	}
	committed = true
	return nil
}

// take waits for the writer.
func (s *Store) take(ctx context.Context) (*writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-s.closed:
		return nil, errClosed
	default:
	}
	select {
	case w := <-s.writer:
		return w, nil
	case <-s.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin begins a transaction that no other process's can get in the way of.
func (w *writer) begin(ctx context.Context) error {
	return w.untilFree(ctx, "begin a transaction", "BEGIN IMMEDIATE")
}

// useWAL turns the write-ahead log on, which stays on.
func (w *writer) useWAL(ctx context.Context) error {
	return w.untilFree(ctx, "turn the write-ahead log on", "PRAGMA journal_mode = WAL")
}

// untilFree runs a statement until other processes let it, for as long as patience.
func (w *writer) untilFree(ctx context.Context, what, statement string) error {
	for began := time.Now(); ; {
		err := w.do(ctx, statement)
		if err == nil {
			return nil
		}
		w.rollback() // an interrupted BEGIN may have been one
		if !is(err, codes.SQLITE_BUSY, codes.SQLITE_LOCKED) || time.Since(began) > patience {
			return fail(err, "%s", what)
		}
		select { // SQLite has waited by itself, but not always does
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rollback ends a transaction, if there is one: some errors have ended it.
func (w *writer) rollback() {
	// An error here says that there is none. Should it be another one, the next
	// BEGIN fails and says so.
	_ = w.do(context.Background(), "ROLLBACK")
}

func (w *writer) do(ctx context.Context, statement string) error {
	_, err := w.exec(ctx, statement)
	return err
}

// prepare returns a statement, which is kept.
func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if st := w.statements[query]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", query, err)
	}
	w.statements[query] = st
	return st, nil
}

// exec runs a kept statement and returns how many rows it wrote.
func (w *writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	st, err := w.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the one row of a kept statement, and reports whether there is one.
func (w *writer) row(ctx context.Context, query string, args []any, into ...any) (bool, error) {
	st, err := w.prepare(query)
	if err != nil {
		return false, err
	}
	err = st.QueryRowContext(ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// rows calls f for each row of a kept statement. f scans it and does nothing
// else with the connection.
func (w *writer) rows(ctx context.Context, query string, args []any, f func(*sql.Rows) error) error {
	st, err := w.prepare(query)
	if err != nil {
		return err
	}
	found, err := st.QueryContext(ctx, args...)
	return each(found, err, f)
}

func (w *writer) close() error {
	var errs []error
	for _, st := range w.statements {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}
