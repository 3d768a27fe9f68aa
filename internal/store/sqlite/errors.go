package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/syncdhq/syncd/internal/store"
)

var errClosed = errors.New("the store is closed")

// fail says what was attempted, and which of the store's errors err is.
func fail(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	sqlite, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch code := sqlite.Code(); code & 0xff {
	case codes.SQLITE_FULL, codes.SQLITE_READONLY, codes.SQLITE_IOERR:
		return fmt.Errorf("%s: %w: %w", what, store.ErrFull, err)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fmt.Errorf("%s: %w: another process keeps the database locked: %w", what, store.ErrUnreachable, err)
	case codes.SQLITE_CONSTRAINT:
		if code == codes.SQLITE_CONSTRAINT_UNIQUE || code == codes.SQLITE_CONSTRAINT_PRIMARYKEY {
			return fmt.Errorf("%s: %w: %w", what, store.ErrConflict, err)
		}
		return fmt.Errorf("%s: %w", what, &store.DataError{Err: err})
	case codes.SQLITE_TOOBIG:
		return fmt.Errorf("%s: %w", what, &store.DataError{Err: err})
	}
	return fmt.Errorf("%s: %w", what, err)
}

// is reports whether err is one of these primary result codes.
func is(err error, primary ...int) bool {
	sqlite, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	for _, code := range primary {
		if sqlite.Code()&0xff == code {
			return true
		}
	}
	return false
}
