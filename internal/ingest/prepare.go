// Package ingest is the only writer of records. A page goes through it in three
// steps: Prepare checks it, Decide says what becomes of each record, and
// Writer.Commit writes it with its rejects, changes, counters and cursor in one
// transaction. Polls, files, backfills and replays all take this way.
//
// The key of a record is (user_id, provider, external_id). The check against
// what is stored keeps the usual path quiet; the unique index over the same
// three columns makes it true under any race.
package ingest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/rawjson"
	"github.com/syncdhq/syncd/internal/store"
)

// Limits of what is ingested; beyond them a record is set aside. They are the
// same for every store.
const (
	MaxID    = 512                        // bytes of a provider's id: an index row has to hold the key
	MaxDepth = 200                        // levels of nesting
	MaxData  = 100 << 20                  // bytes of one record
	MaxAhead = 100 * 365 * 24 * time.Hour // how far in the future a mark may lie
)

// An Incoming is a record that is fit to be stored.
type Incoming struct {
	ID      string // the external id
	Mark    int64
	Deleted bool
	Data    []byte
	Hash    store.Hash
	source  int // index in the page
}

// A Batch is a page, prepared.
type Batch struct {
	Rows       []Incoming // by ID in byte order, each once
	Rejects    []store.Reject
	Duplicates int64
}

// Seen remembers the records of the page before: external id to hash. Lists
// that move while they are read show a record on two pages.
type Seen map[string]store.Hash

// Prefix returns how the external ids of a stream, or of one part of it, begin.
func Prefix(stream, part string) string {
	if part == "" {
		return stream + "/"
	}
	return stream + "/" + part + "/"
}

// Prepare checks a page's records, sets the unfit ones aside, folds those that
// occur twice into the newest (in the page's order where no mark tells), and
// leaves out what the page before had just so.
func Prepare(stream syncd.Stream, part string, records []syncd.Record, seen Seen, now time.Time) Batch {
	var b Batch
	prefix := Prefix(stream.Name, part)
	b.Rows = make([]Incoming, 0, len(records))
	for i, r := range records {
		if err := check(stream, r, now); err != nil {
			set := reject(stream.Name, part, r, err)
			if _, ok := seen[rejectKey(set)]; ok {
				b.Duplicates++
				continue
			}
			b.Rejects = append(b.Rejects, set)
			continue
		}
		in := Incoming{ID: prefix + r.ID, Mark: int64(r.Mark), Deleted: r.Deleted, Data: r.Data, source: i}
		if r.Data != nil {
			in.Hash = hash(r.Data)
		}
		if before, ok := seen[in.ID]; ok && before == seenHash(in) {
			b.Duplicates++
			continue
		}
		b.Rows = append(b.Rows, in)
	}
	b.fold(stream.Append)
	slices.SortFunc(b.Rejects, func(x, y store.Reject) int { return slices.Compare(x.Digest[:], y.Digest[:]) })
	return b
}

// Merge returns the pages of one stream or part as one, in the order of the list.
func Merge(stream syncd.Stream, pages []Batch) Batch {
	if len(pages) == 1 {
		return pages[0]
	}
	var b Batch
	before := 0 // records of the pages before
	for _, p := range pages {
		last := 0
		for _, in := range p.Rows {
			last = max(last, in.source+1)
			in.source += before
			b.Rows = append(b.Rows, in)
		}
		before += last
		b.Rejects = append(b.Rejects, p.Rejects...)
		b.Duplicates += p.Duplicates
	}
	b.fold(stream.Append)
	return b
}

// fold sorts the rows by their key and leaves one of each.
func (b *Batch) fold(appendOnly bool) {
	slices.SortFunc(b.Rows, func(x, y Incoming) int {
		if c := strings.Compare(x.ID, y.ID); c != 0 {
			return c
		}
		return x.source - y.source
	})
	kept := b.Rows[:0]
	for _, in := range b.Rows {
		if n := len(kept); n > 0 && kept[n-1].ID == in.ID {
			b.Duplicates++
			if !appendOnly && supersedes(in, kept[n-1]) {
				kept[n-1] = in
			}
			continue
		}
		kept = append(kept, in)
	}
	b.Rows = kept
}

// supersedes reports whether a later record of a page replaces an earlier one
// with the same key.
func supersedes(later, earlier Incoming) bool {
	return later.Mark == 0 || earlier.Mark == 0 || later.Mark >= earlier.Mark
}

// Remember returns what to hand to the Prepare of the next page. What was left
// out as a duplicate of the page before is not remembered again.
func (b Batch) Remember() Seen {
	seen := make(Seen, len(b.Rows)+len(b.Rejects))
	for _, in := range b.Rows {
		seen[in.ID] = seenHash(in)
	}
	for _, r := range b.Rejects {
		seen[rejectKey(r)] = r.Digest
	}
	return seen
}

// rejectKey is what a reject is remembered by: no external id begins so.
func rejectKey(r store.Reject) string { return "\x00" + string(r.Digest[:]) }

// Unseen returns the records that the page before did not have under their key.
func (s Seen) Unseen(stream syncd.Stream, part string, records []syncd.Record) []syncd.Record {
	if len(s) == 0 {
		return records
	}
	prefix := Prefix(stream.Name, part)
	out := make([]syncd.Record, 0, len(records))
	for _, r := range records {
		if _, ok := s[prefix+r.ID]; !ok {
			out = append(out, r)
		}
	}
	return out
}

// seenHash tells apart all that a record can say.
func seenHash(in Incoming) store.Hash {
	h := in.Hash
	for i := range 8 {
		h[i] ^= byte(in.Mark >> (8 * i))
	}
	if in.Deleted {
		h[15] ^= 1
	}
	return h
}

func hash(data []byte) store.Hash {
	sum := sha256.Sum256(data)
	return store.Hash(sum[:16])
}

// check returns why a record can't be ingested. It refuses whatever either
// store would refuse or SQL could not read back, so that all stores hold the
// same.
func check(stream syncd.Stream, r syncd.Record, now time.Time) error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.ID == "":
		return syncd.Reject("missing_external_id", "the record has no id")
	case len(r.ID) > MaxID:
		return syncd.Reject("external_id_too_long", "the id has %d bytes, %d are the limit", len(r.ID), MaxID)
	case !utf8.ValidString(r.ID):
		return syncd.Reject("bad_external_id", "the id is not valid UTF-8")
	case strings.ContainsRune(r.ID, 0):
		return syncd.Reject("bad_external_id", "the id contains the character U+0000")
	case r.Data == nil && !r.Deleted:
		return syncd.Reject("missing_data", "the record has no data")
	case len(r.Data) > MaxData:
		return syncd.Reject("too_large", "the record has %d bytes, %d are the limit", len(r.Data), MaxData)
	case r.Mark < 0 || !stream.Sequence && r.Mark.Time().Sub(now) > MaxAhead:
		return syncd.Reject("bad_time", "the mark %s is out of range", r.Mark.Format(stream.Sequence))
	}
	if r.Data == nil {
		return nil
	}
	if err := rawjson.Check(r.Data, MaxDepth); err != nil {
		var e *rawjson.Error
		if errors.As(err, &e) {
			return &syncd.RejectError{Reason: string(e.Problem), Err: err}
		}
		return err
	}
	return nil
}

// reject makes the row of a record that is set aside. Its digest makes the same
// bytes with the same fault the same reject, however often they come.
func reject(stream, part string, r syncd.Record, err error) store.Reject {
	reason := "not_ingestible"
	var why *syncd.RejectError
	if errors.As(err, &why) {
		reason = why.Reason
	}
	raw := r.Raw
	if raw == nil {
		raw = r.Data
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d %s ", len(reason), reason, len(r.ID), r.ID)
	h.Write(raw)
	out := store.Reject{
		Stream: stream, Part: part, RecordID: r.ID, Mark: int64(r.Mark), Deleted: r.Deleted,
		Reason: reason, Detail: err.Error(), Place: r.Place,
		Raw: raw[:min(len(raw), store.MaxRaw)], RawSize: int64(len(raw)),
		Digest: store.Hash(h.Sum(nil)[:16]),
	}
	return out
}
