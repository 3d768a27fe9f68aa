package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
)

const copyRecords = "COPY records (" + recordKey + ", stream, data, hash, mark, version, absent, run_id) FROM STDIN (FORMAT binary)"

const copyChanges = "COPY changes (" + recordKey + ", stream, kind, version, mark, run_id) FROM STDIN (FORMAT binary)"

// The binary COPY format: a signature, flags and the length of an extension;
// then per row the number of columns, and per column its length and bytes;
// then -1. https://www.postgresql.org/docs/current/sql-copy.html
const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyTrailer = 0xffff
	copyNull    = 0xffffffff // a length of -1
)

// copyRows sends rows by COPY, encoded by encode, which appends to a buffer.
// The driver's own CopyFrom would ask for the columns' types each time, and goes
// through `any` for every value.
func (t *tx) copyRows(ctx context.Context, what, statement string, encode func([]byte) []byte) error {
	// The transaction has to be open, and the lease checked, before that.
	if err := t.flush(ctx); err != nil {
		return err
	}
	buffer, _ := t.s.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	defer t.s.buffers.Put(buffer)
	b := encode(append((*buffer)[:0], copyHeader...))
	b = binary.BigEndian.AppendUint16(b, copyTrailer)
	if len(b) <= maxBuffer {
		*buffer = b
	}
	ctx, cancel := t.s.bounded(ctx)
	defer cancel()
	_, err := t.conn.PgConn().CopyFrom(ctx, bytes.NewReader(b), statement)
	return t.kill(fail(err, "%s", what))
}

// maxBuffer is the largest buffer that is kept for the next page.
const maxBuffer = 4 << 20

// encodeRecords appends live rows in the order of copyRecords's columns.
func encodeRecords(b []byte, key store.Key, rows []store.Row) []byte {
	for i := range rows {
		r := &rows[i]
		b = binary.BigEndian.AppendUint16(b, 10)
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
	return b
}

// encodeChanges appends changes in the order of copyChanges's columns.
func encodeChanges(b []byte, key store.Key, changes []store.Change) []byte {
	for i := range changes {
		c := &changes[i]
		b = binary.BigEndian.AppendUint16(b, 8)
		b = appendText(b, key.User)
		b = appendText(b, key.Provider)
		b = appendText(b, c.ID)
		b = appendText(b, c.Stream)
		b = appendText(b, c.Kind)
		b = appendInt64(b, c.Version)
		b = appendInt64(b, c.Mark)
		b = appendText(b, c.RunID)
	}
	return b
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
