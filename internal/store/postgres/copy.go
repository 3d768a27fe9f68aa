package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
)

const copyStatement = "COPY records (" + recordKey + ", stream, data, hash, mark, version, absent, run_id) FROM STDIN (FORMAT binary)"

// The binary COPY format: a signature, flags and the length of an extension;
// then per row the number of columns, and per column its length and bytes;
// then -1. https://www.postgresql.org/docs/current/sql-copy.html
const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyColumns = 10
	copyTrailer = 0xffff
	copyNull    = 0xffffffff // a length of -1
)

// copyRecords inserts live rows by COPY. The driver's own CopyFrom would ask for
// the columns' types each time, and goes through `any` for every value.
func (t *tx) copyRecords(ctx context.Context, what string, rows []store.Row) error {
	// The transaction has to be open, and the lease checked, before that.
	if len(t.steps) > 0 {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	buffer, _ := t.s.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	defer t.s.buffers.Put(buffer)
	*buffer = encodeRecords((*buffer)[:0], t.lease.Key, rows)
	ctx, cancel := t.s.bounded(ctx)
	defer cancel()
	_, err := t.conn.PgConn().CopyFrom(ctx, bytes.NewReader(*buffer), copyStatement)
	return t.kill(fail(err, "%s", what))
}

// encodeRecords appends live rows in the order of copyStatement's columns.
func encodeRecords(b []byte, key store.Key, rows []store.Row) []byte {
	b = append(b, copyHeader...)
	for i := range rows {
		r := &rows[i]
		b = binary.BigEndian.AppendUint16(b, copyColumns)
		b = appendText(b, key.User)
		b = appendText(b, key.Provider)
		b = appendText(b, r.ID)
		b = appendText(b, r.Stream)
		if r.Data == nil {
			b = binary.BigEndian.AppendUint32(b, copyNull)
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(len(r.Data)))
			b = append(b, r.Data...)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Hash)))
		b = append(b, r.Hash[:]...)
		b = appendInt64(b, r.Mark)
		b = appendInt64(b, r.Version)
		b = appendBool(b, r.Absent)
		b = appendText(b, r.RunID)
	}
	return binary.BigEndian.AppendUint16(b, copyTrailer)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendInt64(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
}

func appendBool(b []byte, v bool) []byte {
	b = binary.BigEndian.AppendUint32(b, 1)
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// anyDeleted reports whether a row is not live: its deleted_at is then the
// database's clock, which COPY can't ask.
func anyDeleted(rows []store.Row) bool {
	return slices.ContainsFunc(rows, func(r store.Row) bool { return r.Deleted })
}
