package sqlite

import (
	"context"
	"fmt"
	"time"
)

// overwrite makes SQLite overwrite with zeros what it deletes, or not. It is a
// setting of the connection, and for whoever else writes meanwhile it costs a
// little and does no harm.
func (s *Store) overwrite(ctx context.Context, on bool) error {
	w, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer func() { s.writer <- w }()
	return fail(w.pragma(ctx, fmt.Sprintf("secure_delete = %t", on)), "have deleted rows overwritten")
}

// pragma sets a pragma. It is not kept as a statement: many take effect when
// they are prepared.
func (w *writer) pragma(ctx context.Context, setting string) error {
	_, err := w.conn.ExecContext(ctx, "PRAGMA "+setting)
	return err
}

// scrubPatience is how long readers of other processes are waited for, so that
// the write-ahead log can be emptied.
const scrubPatience = 15 * time.Second

// Scrub implements store.Users. Overwriting what is deleted does not reach rows
// that were updated or moved between pages before: their former bytes stay in
// the free room of pages until the file is written anew.
func (s *Store) Scrub(ctx context.Context, rewrite bool) (left []string, err error) {
	w, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.writer <- w }()
	if !rewrite {
		left = append(left, fmt.Sprintf("the free room in %s, which can hold former versions of rows until the file is written anew (VACUUM)", s.path))
	} else {
		err := w.vacuum(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			left = append(left, fmt.Sprintf("the free room in %s, which can hold former versions of rows: it could not be written anew by VACUUM (%v)", s.path, err))
		}
	}
	emptied, err := w.emptyLog(ctx, scrubPatience)
	if err != nil {
		return left, fail(err, "empty the write-ahead log of %s", s.path)
	}
	if !emptied {
		left = append(left, fmt.Sprintf("%s-wal, which another process reads: it is emptied when that ends, or by PRAGMA wal_checkpoint(TRUNCATE)", s.path))
	}
	return append(left, "blocks of the disk that the file system has given up, and what else it keeps (snapshots, copies on write)"), nil
}

// vacuum writes the file anew, by way of a temporary one: in memory it would be
// too large.
func (w *writer) vacuum(ctx context.Context) error {
	if err := w.pragma(ctx, "temp_store = file"); err != nil {
		return err
	}
	defer func() { _ = w.pragma(context.WithoutCancel(ctx), "temp_store = memory") }() // else it is slower, and that is all
	return w.untilFree(ctx, "write the file anew", "VACUUM")
}

// emptyLog moves the write-ahead log into the file and cuts it to nothing. It
// reports whether it could.
func (w *writer) emptyLog(ctx context.Context, patience time.Duration) (bool, error) {
	for giveUp := time.Now().Add(patience); ; {
		var busy, pages, moved int64
		err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		if err != nil || busy == 0 {
			return err == nil, err
		}
		if time.Now().After(giveUp) {
			return false, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
