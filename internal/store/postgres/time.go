package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// stamp is t for a timestamptz column: null if it is zero, else cut to the
// microsecond, which is the database's precision. (The driver rounds in text
// and cuts in binary.)
func stamp(t time.Time) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{}
	}
	return pgtype.Timestamptz{Time: time.UnixMicro(t.UnixMicro()).UTC(), Valid: true}
}

// moment is a timestamptz column as a time in UTC, zero if it is null.
func moment(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

func stamps(n int, at func(int) time.Time) []pgtype.Timestamptz {
	out := make([]pgtype.Timestamptz, n)
	for i := range out {
		out[i] = stamp(at(i))
	}
	return out
}
