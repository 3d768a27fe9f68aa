package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/syncdhq/syncd/internal/store"
)

// row is version 1 of a record of the stream before the first slash.
func row(id, data string, mark int64) store.Row {
	stream, _, _ := strings.Cut(id, "/")
	return store.Row{ID: id, Stream: stream, Data: []byte(data), Hash: hashOf([]byte(data)), Mark: mark, Version: 1, RunID: "run-1"}
}

// next is the version of a record that follows r.
func next(r store.Row, data string, mark int64) store.Row {
	n := row(r.ID, data, mark)
	n.Version = r.Version + 1
	return n
}

func hashOf(data []byte) store.Hash {
	sum := sha256.Sum256(data)
	return store.Hash(sum[:16])
}

// rows returns n records with data of their own, sorted by id.
func rows(stream string, n int) []store.Row {
	out := make([]store.Row, n)
	for i := range out {
		id := fmt.Sprintf("%s/%06d", stream, i)
		out[i] = row(id, fmt.Sprintf(`{"id": %d, "title": "record %d of %s"}`, i, i, stream), int64(i+1))
	}
	return out
}

func ids(rows []store.Row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.ID
	}
	return out
}

func headOf(r store.Row) store.Head {
	return store.Head{ID: r.ID, Found: true, Mark: r.Mark, Version: r.Version, Hash: r.Hash, Deleted: r.Deleted, Absent: r.Absent}
}

// insert stores rows of a source.
func (e *env) insert(lease store.Lease, rows ...store.Row) {
	e.Helper()
	slices.SortFunc(rows, func(a, b store.Row) int { return strings.Compare(a.ID, b.ID) })
	e.update(lease, func(tx store.Tx) error { return tx.Insert(e.ctx, rows) })
}

// put stores rows of a source over what is there.
func (e *env) put(lease store.Lease, rows ...store.Row) error {
	return e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error { return tx.Put(ctx, rows) })
}

// heads returns what is stored under ids.
func (e *env) heads(lease store.Lease, ids ...string) []store.Head {
	e.Helper()
	var out []store.Head
	e.update(lease, func(tx store.Tx) (err error) {
		out, err = tx.Heads(e.ctx, ids)
		return err
	})
	return out
}

// data returns the stored bytes of ids.
func (e *env) data(lease store.Lease, ids ...string) [][]byte {
	e.Helper()
	var out [][]byte
	e.update(lease, func(tx store.Tx) (err error) {
		out, err = tx.Data(e.ctx, ids)
		return err
	})
	return out
}

// holds fails the test unless these rows are all that is stored of a source.
func (e *env) holds(key store.Key, want ...store.Row) {
	e.Helper()
	var got []store.Row
	for _, r := range e.Records(e.T, key) {
		got = append(got, r.Row)
	}
	e.same("records of "+key.String(), got, want)
}

// same compares with go-cmp; an empty list equals a missing one.
func (e *env) same(what string, got, want any) {
	e.Helper()
	if reflect.DeepEqual(got, want) { // in no time, where go-cmp takes seconds
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

// is fails the test unless err is want.
func (e *env) is(what string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// refused fails the test unless err is a *store.DataError.
func (e *env) refused(what string, err error) {
	e.Helper()
	if _, ok := errors.AsType[*store.DataError](err); !ok {
		e.Errorf("%s: got error %v, want a *store.DataError", what, err)
	}
}
