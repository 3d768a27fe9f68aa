package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var recordCases = []testCase{
	{"bytes come back as they went in", recordBytes},
	{"ids are opaque, compared and sorted byte for byte", recordIDs},
	{"long keys within the limits", recordLongKeys},
	{"Heads and Data follow the ids asked for", recordHeads},
	{"Insert of a row that is there is a conflict", recordInsertConflict},
	{"Put is guarded by mark and version", recordPutGuards},
	{"Put without data keeps the bytes", recordKeepsData},
	{"deletion, absence and restoration", recordDeletion},
	{"Touch sets the mark and nothing else", recordTouch},
	{"a page of ten thousand", recordManyRows},
	{"nothing to write", recordNothing},
	{"Empty and Live by prefix", recordPrefix},
	{"Live pages in order and leaves out what was written since", recordLive},
}

func recordBytes(e *env) {
	lease, _ := e.open()
	texts := []string{
		`{}`, `null`, `"text"`, `0`, `-0`, ` { "b" : 1 , "a" : [ ] } `, "{\r\n\t\"a\":1\n}",
		`{"n":1e2,"m":100,"o":1.10,"big":9007199254740993,"huge":1000000000000000000000,"small":1e-7}`,
		`{"t":"'; DROP TABLE records; --"}`, `{"a":1,"a":2}`, `{"t":"\\u0000"}`, `{"t":"\u003cb\u003e\u0026\/ \u00e9"}`,
		`{"t":"\ud83d\ude00"}`, `{"t":"😀 é e\u0301 日本"}`, "{\"t\":\"\u2028\u2029\ufeff\u007f\"}",
		strings.Repeat(`[`, 1000) + strings.Repeat(`]`, 1000),
		`{"t":"` + strings.Repeat("x", 2<<20) + `"}`,
	}
	var rows []store.Row
	for i, text := range texts {
		rows = append(rows, row(fmt.Sprintf("issues/%02d", i), text, int64(i)))
	}
	e.insert(lease, rows...)
	for i, got := range e.data(lease, ids(rows)...) {
		if string(got) != texts[i] {
			e.Errorf("got %.80q, want %.80q", got, texts[i])
		}
	}
	e.holds(alice, rows...)
	for i, r := range rows {
		rows[i] = next(r, texts[len(texts)-1-i], r.Mark)
	}
	e.ok(e.put(lease, rows...))
	e.holds(alice, rows...)
}

func recordIDs(e *env) {
	lease, _ := e.open()
	names := []string{
		"9007199254740992", "9007199254740993", "1000000000000000000000", "9223372036854775808", "9223372036854775809",
		"7", "07", "7.0", "7 ", " 7", "ABC", "abc", "caf\u00e9", "cafe\u0301", "a/b", "a.b", "ab", "a|b", "a_b", "a%b", `a\b`,
		"'", `"`, "?", "$1", "\t", "\n", "\u00a0", "\u007f", "\uffff", "😀", "null", "true", "ä", "z", "Z",
	}
	var rows []store.Row
	for _, name := range names {
		rows = append(rows, row("issues/"+name, fmt.Sprintf(`{"name":%q}`, "x"), 1))
	}
	e.insert(lease, rows...) // sorts them by byte
	e.holds(alice, rows...)
	live, err := e.s.Live(e.ctx, alice, "issues/", "", e.now().Add(time.Hour), 1000)
	e.ok(err)
	var want []store.Head
	for _, r := range rows {
		want = append(want, headOf(r))
	}
	e.same("live", live, want)
	e.same("heads", e.heads(lease, ids(rows)...), want)
}

func recordLongKeys(e *env) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string { // does not compress
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + random.IntN(94))
		}
		return string(b)
	}
	key := store.Key{User: text(255), Provider: text(128)}
	e.apply(key)
	lease := e.acquire(key)
	r := row(text(1200), `{}`, 1)
	r.Stream = text(255)
	e.insert(lease, r)
	e.holds(key, r)
	c := store.Cursor{Stream: text(255), Part: text(1200), State: text(100_000), RunID: "run"}
	e.update(lease, func(tx store.Tx) error { return tx.SaveCursor(e.ctx, c) })
	got, err := e.s.Cursors(e.ctx, key)
	e.ok(err)
	if len(got) != 1 || got[0].Stream != c.Stream || got[0].Part != c.Part || got[0].State != c.State {
		e.Errorf("the cursor came back changed")
	}
}

func recordHeads(e *env) {
	lease, _ := e.open()
	stored := rows("issues", 3000)
	e.insert(lease, stored...)
	var asked []string
	var want []store.Head
	var data [][]byte
	for i := range stored { // every other one is not there; in no order
		r := stored[(i*7919)%len(stored)]
		asked, want, data = append(asked, r.ID), append(want, headOf(r)), append(data, r.Data)
		asked, want, data = append(asked, r.ID+"x"), append(want, store.Head{ID: r.ID + "x"}), append(data, nil)
	}
	e.same("heads", e.heads(lease, asked...), want)
	got := e.data(lease, asked...)
	for i := range data {
		if !bytes.Equal(got[i], data[i]) || (got[i] == nil) != (data[i] == nil) {
			e.Fatalf("data of %s: got %q, want %q", asked[i], got[i], data[i])
		}
	}
	e.same("no heads", e.heads(lease), []store.Head{})
	e.same("nothing has ids beyond the limits", e.heads(lease, "", strings.Repeat("x", 5000)),
		[]store.Head{{}, {ID: strings.Repeat("x", 5000)}})
}

func recordInsertConflict(e *env) {
	lease, _ := e.open()
	live, gone := row("issues/1", `{"v":1}`, 1), row("issues/2", `{"v":1}`, 1)
	gone.Deleted = true
	e.insert(lease, live, gone)
	for _, r := range []store.Row{live, gone} {
		err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
			return tx.Insert(ctx, []store.Row{row("issues/0", `{}`, 1), r, row("issues/9", `{}`, 1)})
		})
		e.is("insert of "+r.ID, err, store.ErrConflict)
	}
	e.holds(alice, live, gone)
}

func recordPutGuards(e *env) {
	lease, _ := e.open()
	stored := row("issues/1", `{"v":1}`, 10)
	stored.Version = 3
	e.insert(lease, stored)
	for _, c := range []struct {
		name    string
		version int64
		mark    int64
	}{
		{"older mark", 4, 9}, {"unknown mark", 4, 0}, {"same version", 3, 11}, {"version skipped", 5, 11}, {"older version", 2, 11},
	} {
		r := row("issues/1", `{"v":2}`, c.mark)
		r.Version = c.version
		e.is(c.name, e.put(lease, row("issues/0", `{}`, 1), r), store.ErrConflict)
		e.holds(alice, stored)
	}
	same := next(stored, `{"v":2}`, 10)
	e.ok(e.put(lease, row("issues/0", `{}`, 1), same))
	e.holds(alice, row("issues/0", `{}`, 1), same)
	newer := next(same, `{"v":3}`, 1<<62)
	newer.RunID, newer.Stream = "run-2", "issues"
	e.ok(e.put(lease, newer))
	e.holds(alice, row("issues/0", `{}`, 1), newer)
}

func recordKeepsData(e *env) {
	lease, _ := e.open()
	stored := row("issues/1", `{"v": 1}`, 1)
	never := store.Row{ID: "issues/2", Stream: "issues", Version: 1, Deleted: true, RunID: "run-1"}
	null := row("issues/3", `null`, 1) // JSON's null is data
	e.insert(lease, stored, never, null)
	deleted := next(stored, "", 2)
	deleted.Data, deleted.Hash, deleted.Deleted = nil, store.Hash{}, true
	e.ok(e.put(lease, deleted))
	deleted.Data, deleted.Hash = stored.Data, stored.Hash
	e.holds(alice, deleted, never, null)
	if got := e.data(lease, "issues/2")[0]; got != nil {
		e.Errorf("data of a record that never had any: got %q, want nil", got)
	}
	if got := e.data(lease, "issues/3")[0]; string(got) != "null" {
		e.Errorf("data: got %q, want null", got)
	}
	restored := next(deleted, `{"v": 2}`, 3)
	e.ok(e.put(lease, restored))
	e.holds(alice, restored, never, null)
}

func recordDeletion(e *env) {
	lease, _ := e.open()
	first := row("issues/1", `{"v":1}`, 1)
	e.insert(lease, first)
	at := func() Record { return e.Records(e.T, alice)[0] }
	put := func(r store.Row) Record {
		e.Helper()
		e.tick()
		e.ok(e.put(lease, r))
		return at()
	}
	born := at()
	if !born.DeletedAt.IsZero() || !born.FirstSeenAt.Equal(born.UpdatedAt) || born.UpdatedAt.IsZero() {
		e.Errorf("inserted: got %+v", born)
	}
	gone := next(first, `{"v":1}`, 1)
	gone.Deleted, gone.Absent, gone.RunID = true, true, "run-2"
	a := put(gone)
	if a.DeletedAt.IsZero() || !a.DeletedAt.Equal(a.UpdatedAt) || !a.Absent || !a.UpdatedAt.After(born.UpdatedAt) {
		e.Errorf("deleted: got %+v", a)
	}
	again := next(gone, `{"v":2}`, 2)
	again.Deleted = true
	b := put(again)
	if !b.DeletedAt.Equal(a.DeletedAt) || !b.UpdatedAt.After(a.UpdatedAt) || b.Absent {
		e.Errorf("deleted again: got %+v, want the time of the first deletion", b)
	}
	c := put(next(again, `{"v":3}`, 3))
	if !c.DeletedAt.IsZero() || !c.FirstSeenAt.Equal(born.FirstSeenAt) || c.Deleted {
		e.Errorf("restored: got %+v", c)
	}
	counts, err := e.s.Count(e.ctx, alice)
	e.ok(err)
	e.same("count", counts, []store.StreamCount{{Stream: "issues", Live: 1}})
}

func recordTouch(e *env) {
	lease, _ := e.open()
	stored := row("issues/1", `{"v":1}`, 5)
	e.insert(lease, stored)
	before := e.Records(e.T, alice)
	e.tick()
	touch := store.Row{ID: "issues/1", Stream: "issues", Mark: 1 << 60, Version: 9, RunID: "other", Deleted: true}
	e.update(lease, func(tx store.Tx) error {
		return tx.Touch(e.ctx, []store.Row{{ID: "issues/0", Stream: "issues", Mark: 7}, touch})
	})
	before[0].Mark = touch.Mark
	e.same("records", e.Records(e.T, alice), before)
}

func recordManyRows(e *env) {
	lease, _ := e.open()
	page := rows("issues", 10_000)
	e.insert(lease, page...)
	changed := slices.Clone(page)
	for i, r := range changed {
		changed[i] = next(r, `{"changed": true}`, r.Mark+1)
	}
	e.ok(e.put(lease, changed...))
	e.holds(alice, changed...)
	if got := e.heads(lease, ids(page)...); len(got) != len(page) || got[9999] != headOf(changed[9999]) {
		e.Errorf("got %d heads", len(got))
	}
}

func recordNothing(e *env) {
	lease, runID := e.open()
	e.update(lease, func(tx store.Tx) error {
		for _, err := range []error{
			tx.Insert(e.ctx, nil), tx.Put(e.ctx, nil), tx.Touch(e.ctx, nil), tx.Reject(e.ctx, nil), tx.Change(e.ctx, nil),
			tx.DropCursors(e.ctx, ""), tx.Progress(e.ctx, store.Progress{RunID: runID}),
		} {
			e.ok(err)
		}
		return nil
	})
	e.holds(alice)
}

func recordPrefix(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	e.apply(alice, bob)
	lease := e.acquire(alice)
	gone := row("pulls/1", `{}`, 1)
	gone.Deleted = true
	e.insert(lease, row("a_b/1", `{}`, 1), row("issues/1", `{}`, 1), row("issues2/1", `{}`, 1), gone)
	for _, c := range []struct {
		key    store.Key
		prefix string
		empty  bool
		live   []string
	}{
		{alice, "issues/", false, []string{"issues/1"}},
		{alice, "issues", false, []string{"issues/1", "issues2/1"}},
		{alice, "pulls/", false, nil}, // deleted ones count for Empty
		{alice, "a_b/", false, []string{"a_b/1"}},
		{alice, "axb/", true, nil}, {alice, "%", true, nil}, {alice, "_", true, nil}, {alice, "Issues/", true, nil}, {alice, "z", true, nil},
		{alice, "", false, []string{"a_b/1", "issues/1", "issues2/1"}},
		{alice, "\U0010ffff", true, nil},
		{bob, "", true, nil}, {bob, "issues/", true, nil},
	} {
		empty, err := e.s.Empty(e.ctx, c.key, c.prefix)
		e.ok(err)
		if empty != c.empty {
			e.Errorf("%s, prefix %q: empty %t, want %t", c.key, c.prefix, empty, c.empty)
		}
		live, err := e.s.Live(e.ctx, c.key, c.prefix, "", e.now().Add(time.Hour), 10)
		e.ok(err)
		var got []string
		for _, h := range live {
			got = append(got, h.ID)
		}
		e.same(fmt.Sprintf("%s, prefix %q", c.key, c.prefix), got, c.live)
	}
}

func recordLive(e *env) {
	lease, _ := e.open()
	stored := rows("issues", 25)
	e.insert(lease, stored...)
	e.insert(lease, rows("pulls", 3)...)
	began := e.tick()
	e.tick()
	e.ok(e.put(lease, next(stored[3], `{}`, 100)))
	e.insert(lease, row("issues/new", `{}`, 1))
	gone := next(stored[5], `{}`, 100)
	gone.Deleted = true
	e.ok(e.put(lease, gone))
	var want, got []store.Head
	for i, r := range stored {
		if i != 3 && i != 5 {
			want = append(want, headOf(r))
		}
	}
	for after := ""; ; after = got[len(got)-1].ID {
		page, err := e.s.Live(e.ctx, alice, "issues/", after, began, 10)
		e.ok(err)
		if got = append(got, page...); len(page) < 10 {
			break
		}
	}
	e.same("live", got, want)
	none, err := e.s.Live(e.ctx, alice, "issues/", "issues/000024", began, 10)
	e.ok(err)
	e.same("live after the last", none, []store.Head{})
}
