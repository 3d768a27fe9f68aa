package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// byID reads columns of the records with the ids of a JSON array, with their
// places in it. CROSS JOIN keeps SQLite from reading the tables in the other
// order, whatever it knows or does not know of their sizes: so it is one look-up
// in the index for each id.
const byID = ` FROM json_each(?) ids CROSS JOIN records r
WHERE r.user_id = ? AND r.provider = ? AND r.external_id = ids.value`

const (
	headsQuery = "SELECT ids.key, r.mark, r.version, r.hash, r.deleted_at IS NOT NULL, r.absent" + byID
	dataQuery  = "SELECT ids.key, r.data" + byID
)

// Heads implements store.Tx.
func (t *tx) Heads(ctx context.Context, ids []string) ([]store.Head, error) {
	out := make([]store.Head, len(ids))
	for i, id := range ids {
		out[i].ID = id
	}
	err := t.look(ctx, headsQuery, ids, func(r *sql.Rows) error {
		var i int
		var h store.Head
		var hash sql.RawBytes
		if err := r.Scan(&i, &h.Mark, &h.Version, &hash, &h.Deleted, &h.Absent); err != nil {
			return err
		}
		h.ID, h.Found = ids[i], true
		copy(h.Hash[:], hash)
		out[i] = h
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Data implements store.Tx.
func (t *tx) Data(ctx context.Context, ids []string) ([][]byte, error) {
	out := make([][]byte, len(ids))
	err := t.look(ctx, dataQuery, ids, func(r *sql.Rows) error {
		var i int
		var data []byte
		if err := r.Scan(&i, &data); err != nil {
			return err
		}
		out[i] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// look calls f for each record that is stored under one of ids.
func (t *tx) look(ctx context.Context, query string, ids []string, f func(*sql.Rows) error) error {
	return t.step(ctx, func(ctx context.Context) error {
		list, err := json.Marshal(storable(ids))
		if err != nil {
			return err
		}
		err = t.w.rows(ctx, query, []any{string(list), t.key.User, t.key.Provider}, f)
		return fail(err, "look %d records of source %s up", len(ids), t.key)
	})
}

// storable returns ids with "" for those that no record has: JSON would turn
// their bytes into others.
func storable(ids []string) []string {
	out := ids
	for i, id := range ids {
		if limits.ID(id) == nil {
			continue
		}
		if &out[0] == &ids[0] {
			out = append([]string(nil), ids...)
		}
		out[i] = ""
	}
	return out
}
