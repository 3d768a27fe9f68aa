package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s, dsn := migrated(t)
		return harness(s, connect(t, dsn))
	})
}

// harness looks behind the store through a connection of its own.
func harness(s *Store, conn *pgx.Conn) storetest.Harness {
	return storetest.Harness{
		Store: s,
		Expire: func(t *testing.T, key store.Key) {
			t.Helper()
			must(conn.Exec(t.Context(), "UPDATE sources SET lease_until = now() - interval '1 second' WHERE "+ofSource, key.User, key.Provider))(t)
		},
		Records: func(t *testing.T, key store.Key) []storetest.Record {
			t.Helper()
			return recordsOf(t.Context(), t, conn, key)
		},
		Changes: func(t *testing.T, key store.Key) []store.Change {
			t.Helper()
			found := must(conn.Query(t.Context(), "SELECT external_id, stream, kind, mark, version, run_id FROM changes WHERE "+ofSource+" ORDER BY seq",
				key.User, key.Provider))(t)
			return must(pgx.CollectRows(found, pgx.RowToStructByPos[store.Change]))(t)
		},
	}
}

func recordsOf(ctx context.Context, t *testing.T, conn *pgx.Conn, key store.Key) []storetest.Record {
	t.Helper()
	found := must(conn.Query(ctx, `SELECT external_id, stream, data::text, hash, mark, version, absent, run_id, deleted_at, first_seen_at, updated_at
		FROM records WHERE `+ofSource+` ORDER BY external_id`, key.User, key.Provider))(t)
	return must(pgx.CollectRows(found, func(row pgx.CollectableRow) (storetest.Record, error) {
		var r storetest.Record
		var data *string
		var hash []byte
		var deleted, first, updated pgtype.Timestamptz
		err := row.Scan(&r.ID, &r.Stream, &data, &hash, &r.Mark, &r.Version, &r.Absent, &r.RunID, &deleted, &first, &updated)
		if data != nil {
			r.Data = []byte(*data)
		}
		copy(r.Hash[:], hash)
		r.Deleted, r.DeletedAt, r.FirstSeenAt, r.UpdatedAt = deleted.Valid, moment(deleted), moment(first), moment(updated)
		return r, err
	}))(t)
}
