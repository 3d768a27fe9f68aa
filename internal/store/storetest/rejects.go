package storetest

import (
	"bytes"
	"context"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
)

var rejectCases = []testCase{
	{"anything can be set aside and read back", rejectAnything},
	{"the same bytes for the same reason are one reject", rejectDedupes},
	{"only so many bytes are kept", rejectLarge},
	{"Resolve closes a reject of its source", rejectResolve},
	{"a reject that was resolved stays so", rejectStaysResolved},
}

func reject(reason, raw string) store.Reject {
	return store.Reject{
		Stream: "issues", RecordID: "1", Reason: reason, Detail: "detail", Place: "line 1",
		Raw: []byte(raw), RawSize: int64(len(raw)), Digest: hashOf([]byte(reason + raw)), RunID: "run-1",
	}
}

// aside sets rejects aside in one transaction.
func (e *env) aside(lease store.Lease, rejects ...store.Reject) {
	e.Helper()
	e.update(lease, func(tx store.Tx) error { return tx.Reject(e.ctx, rejects) })
}

// rejects returns all rejects, the oldest first, without their bytes.
func (e *env) rejects() []store.Reject {
	e.Helper()
	list, err := e.s.Rejects(e.ctx, store.RejectFilter{Resolved: true})
	e.ok(err)
	for i := range len(list) / 2 {
		list[i], list[len(list)-1-i] = list[len(list)-1-i], list[i]
	}
	return list
}

func rejectAnything(e *env) {
	lease, _ := e.open()
	texts := []string{
		"", "plain", "NUL \x00 in it", "\x00", "\xff\xfe", "half \xe2\x82", "\xed\xa0\x80", "\xc0\x80",
		`\x00`, `\x5c`, `\\x5c`, `\`, `\x`, "\\\x00", "\\x\xff", `'"`, "\u2028 😀", strings.Repeat("long \x00", 20_000),
		strings.Repeat("x", 10_000),
	}
	var want []store.Reject
	for i, text := range texts {
		r := reject("bad", text)
		r.Stream, r.Part, r.RecordID, r.Reason, r.Detail, r.Place = text, text, text, text, text, text
		r.Digest[0], r.Mark, r.Deleted = byte(i), int64(i), i%2 == 0
		if len(text) > 255 { // parts of a key that is indexed
			r.Stream, r.Part = text[:255], text[:1200]
		}
		want = append(want, r)
	}
	e.aside(lease, want...)
	list := e.rejects()
	if len(list) != len(want) {
		e.Fatalf("got %d rejects, want %d", len(list), len(want))
	}
	for i, w := range want {
		got, err := e.s.Reject(e.ctx, list[i].ID)
		e.ok(err)
		if got.FirstAt.IsZero() || !got.FirstAt.Equal(got.LastAt) {
			e.Errorf("times: got %s and %s", got.FirstAt, got.LastAt)
		}
		w.ID, w.Key, w.Times, w.FirstAt, w.LastAt = list[i].ID, alice, 1, got.FirstAt, got.LastAt
		e.same("reject", got, w)
		w.Raw = nil
		e.same("reject in the list", list[i], w)
	}
}

func rejectDedupes(e *env) {
	lease, _ := e.open()
	first := reject("bad", "x")
	e.aside(lease, first)
	was := e.rejects()[0]
	e.tick()
	again := first
	again.RunID, again.Detail, again.Place, again.RecordID, again.Mark = "run-2", "other", "line 2", "2", 9
	otherReason, otherStream, otherPart := reject("worse", "x"), first, first
	otherStream.Stream, otherPart.Part = "pulls", "p"
	e.aside(lease, again, again, otherReason, otherStream, otherPart)
	got := e.rejects()
	if len(got) != 4 {
		e.Fatalf("got %d rejects, want 4: %+v", len(got), got)
	}
	if !got[0].LastAt.After(was.LastAt) {
		e.Errorf("last seen %s, want after %s", got[0].LastAt, was.LastAt)
	}
	was.RunID, was.LastAt, was.Times = "run-2", got[0].LastAt, 3
	e.same("the reject seen again", got[0], was)
	for _, r := range got[1:] {
		if r.Times != 1 {
			e.Errorf("%+v: seen %d times, want once", r, r.Times)
		}
	}
}

func rejectLarge(e *env) {
	lease, _ := e.open()
	raw := bytes.Repeat([]byte("0123456789abcdef\x00\xff"), 2<<20/18)
	whole, cut := reject("large", ""), reject("cut before", "")
	whole.Raw, whole.RawSize = raw, int64(len(raw))
	cut.Raw, cut.RawSize = raw[:100], 1<<40
	e.aside(lease, whole, cut)
	for i, want := range []store.Reject{whole, cut} {
		got, err := e.s.Reject(e.ctx, e.rejects()[i].ID)
		e.ok(err)
		if kept := raw[:min(len(want.Raw), store.MaxRaw)]; !bytes.Equal(got.Raw, kept) || got.RawSize != want.RawSize {
			e.Errorf("got %d bytes of %d, want %d of %d", len(got.Raw), got.RawSize, len(kept), want.RawSize)
		}
	}
}

func rejectResolve(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	lease, other := e.acquire(alice), e.acquire(bob)
	e.aside(lease, reject("bad", "x"), reject("bad", "y"))
	list := e.rejects()
	resolve := func(l store.Lease, id int64, resolution string) error {
		return e.s.Update(e.ctx, l, func(ctx context.Context, tx store.Tx) error { return tx.Resolve(ctx, id, resolution, "run-2") })
	}
	e.is("another's reject", resolve(other, list[0].ID, store.Replayed), store.ErrNotFound)
	e.is("no such reject", resolve(lease, 1<<40, store.Replayed), store.ErrNotFound)
	if got := e.source(alice).OpenRejects; got != 2 {
		e.Errorf("got %d open rejects, want 2", got)
	}
	e.ok(resolve(lease, list[0].ID, store.Replayed))
	e.ok(resolve(lease, list[1].ID, store.Discarded))
	got := e.rejects()
	if got[0].Resolution != store.Replayed || got[1].Resolution != store.Discarded || got[0].RunID != "run-1" {
		e.Errorf("got %+v", got)
	}
	if got := e.source(alice).OpenRejects; got != 0 {
		e.Errorf("got %d open rejects, want none", got)
	}
	_, err := e.s.Reject(e.ctx, 1<<40)
	e.is("no such reject", err, store.ErrNotFound)
}

func rejectStaysResolved(e *env) {
	lease, _ := e.open()
	e.aside(lease, reject("bad", "x"))
	id := e.rejects()[0].ID
	e.update(lease, func(tx store.Tx) error { return tx.Resolve(e.ctx, id, store.Discarded, "") })
	e.aside(lease, reject("bad", "x"))
	got := e.rejects()
	if len(got) != 1 || got[0].ID != id || got[0].Resolution != store.Discarded || got[0].Times != 2 {
		e.Errorf("got %+v, want the discarded one, seen twice", got)
	}
}
