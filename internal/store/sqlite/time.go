package sqlite

import (
	"database/sql"
	"time"
)

// stamp returns a time as it is stored: microseconds since 1970, null for the
// zero time.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// moment undoes stamp.
func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return fromMicro(n.Int64)
}

func fromMicro(n int64) time.Time { return time.UnixMicro(n).UTC() }

// now is the database's clock in microseconds since 1970.
func (s *Store) now() int64 { return s.clock().UnixMicro() }
