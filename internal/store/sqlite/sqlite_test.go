package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := migrated(t, filepath.Join(t.TempDir(), "syncd.db"), Options{})
		return storetest.Harness{
			Store: s,
			Expire: func(t *testing.T, key store.Key) {
				t.Helper()
				do(t, s, "UPDATE sources SET lease_until = ? WHERE "+ofSource, s.now()-1_000_000, key.User, key.Provider)
			},
			Records: func(t *testing.T, key store.Key) []storetest.Record { return recordsOf(t, s, key) },
			Changes: func(t *testing.T, key store.Key) []store.Change {
				t.Helper()
				out, err := list(t.Context(), s, "changes", "SELECT external_id, stream, kind, mark, version, run_id FROM changes WHERE "+ofSource+" ORDER BY seq",
					[]any{key.User, key.Provider}, func(r *sql.Rows) (store.Change, error) {
						var c store.Change
						err := r.Scan(&c.ID, &c.Stream, &c.Kind, &c.Mark, &c.Version, &c.RunID)
						return c, err
					})
				if err != nil {
					t.Fatal(err)
				}
				return out
			},
		}
	})
}

// migrated opens a file with the schema in it.
func migrated(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := OpenFile(context.Background(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := s.Migrate(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// do runs a statement behind the store's interface.
func do(tb testing.TB, s *Store, statement string, args ...any) {
	tb.Helper()
	err := s.transact(context.Background(), func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, statement, args...)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func recordsOf(tb testing.TB, s *Store, key store.Key) []storetest.Record {
	tb.Helper()
	out, err := list(context.Background(), s, "records",
		`SELECT external_id, stream, data, hash, mark, version, absent, run_id, deleted_at, first_seen_at, updated_at
		FROM records WHERE `+ofSource+" ORDER BY external_id", []any{key.User, key.Provider}, func(r *sql.Rows) (storetest.Record, error) {
			var rec storetest.Record
			var hash []byte
			var deleted, first, updated sql.NullInt64
			err := r.Scan(&rec.ID, &rec.Stream, &rec.Data, &hash, &rec.Mark, &rec.Version, &rec.Absent, &rec.RunID, &deleted, &first, &updated)
			copy(rec.Hash[:], hash)
			rec.Deleted, rec.DeletedAt, rec.FirstSeenAt, rec.UpdatedAt = deleted.Valid, moment(deleted), moment(first), moment(updated)
			return rec, err
		})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
