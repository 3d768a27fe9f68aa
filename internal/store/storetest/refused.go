package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/syncdhq/syncd/internal/store"
)

var refusedCases = []testCase{
	{"a row that is refused takes its transaction along", refusedRows},
	{"a row that is refused in Try is undone alone", refusedInTry},
	{"keys of sources", refusedKeys},
	{"cursors", refusedCursors},
}

// badRows are rows that every store refuses.
func badRows() map[string]store.Row {
	bad := map[string]store.Row{}
	for name, text := range map[string]string{
		"empty data": ``, "white space": ` `, "cut off": `{"a":`, "bytes after the end": `{} x`, "two values": `{}{}`,
		"not JSON": `<html>`, "NaN": `{"n":NaN}`, "trailing comma": `[1,]`, "single quotes": `{'a':1}`, "leading zero": `{"a":01}`,
		"plus": `+1`, "bare escape": `"\x41"`, "bad escape": `"\u12"`, "control character": "\"a\nb\"", "NUL byte": "\"a\x00b\"",
		"NUL after the end": "{}\x00", "byte order mark": "\ufeff{}", "invalid UTF-8": "{\"a\":\"\xff\"}",
		"overlong": "\"\xc0\x80\"", "surrogate in UTF-8": "\"\xed\xa0\x80\"", "cut rune": "\"\xe2\x82\"", "invalid UTF-8 in a key": "{\"\xff\":1}",
		"a hundred thousand levels": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	} {
		bad["data: "+name] = row("issues/5", text, 1)
	}
	for name, id := range map[string]string{
		"empty": "", "NUL": "issues/a\x00b", "invalid UTF-8": "issues/\xff", "too long": "issues/" + strings.Repeat("x", 1194),
		"too long in bytes": "issues/" + strings.Repeat("é", 600),
	} {
		r := row(id, `{}`, 1)
		r.Stream = "issues"
		bad["id: "+name] = r
	}
	for name, stream := range map[string]string{
		"empty": "", "NUL": "a\x00b", "invalid UTF-8": "\xff", "too long": strings.Repeat("x", 256),
	} {
		r := row("issues/5", `{}`, 1)
		r.Stream = stream
		bad["stream: "+name] = r
	}
	return bad
}

// writes are the ways in which rows are written.
var writes = map[string]func(ctx context.Context, tx store.Tx, rows []store.Row) error{
	"insert": func(ctx context.Context, tx store.Tx, rows []store.Row) error { return tx.Insert(ctx, rows) },
	"put":    func(ctx context.Context, tx store.Tx, rows []store.Row) error { return tx.Put(ctx, rows) },
}

func refusedRows(e *env) {
	lease, _ := e.open()
	for name, bad := range badRows() {
		for how, write := range writes {
			err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
				return write(ctx, tx, []store.Row{bad, row("issues/6", `{}`, 1)})
			})
			e.refused(how+", "+name, err)
		}
	}
	e.holds(alice)
	e.insert(lease, row("issues/1", `{}`, 1))
}

func refusedInTry(e *env) {
	lease, runID := e.open()
	var want []store.Row
	for name, bad := range badRows() {
		good := row(fmt.Sprintf("issues/good %s", name), `{}`, 1)
		want = append(want, good)
		e.update(lease, func(tx store.Tx) error {
			for how, write := range writes {
				e.refused(how+", "+name, tx.Try(e.ctx, func() error {
					return write(e.ctx, tx, []store.Row{row("issues/4", `{}`, 1), bad})
				}))
			}
			e.ok(tx.Try(e.ctx, func() error { return tx.Insert(e.ctx, []store.Row{good}) }))
			return tx.Progress(e.ctx, store.Progress{RunID: runID, Counters: store.Counters{Inserted: 1, Rejected: 1}})
		})
	}
	n := int64(len(want))
	e.same("counters", e.run(runID).Counters, store.Counters{Inserted: n, Rejected: n})
	if got := int64(len(e.Records(e.T, alice))); got != n {
		e.Errorf("got %d records, want %d", got, n)
	}
}

func refusedKeys(e *env) {
	e.apply(alice)
	for name, key := range map[string]store.Key{
		"no user": {Provider: "github"}, "no provider": {User: "bob"},
		"long user": {User: strings.Repeat("u", 256), Provider: "github"}, "long provider": {User: "bob", Provider: strings.Repeat("p", 129)},
		"user in bytes": {User: strings.Repeat("é", 128), Provider: "github"},
		"NUL":           {User: "b\x00b", Provider: "github"}, "NUL in provider": {User: "bob", Provider: "\x00"},
		"invalid UTF-8": {User: "\xff", Provider: "github"}, "invalid UTF-8 in provider": {User: "bob", Provider: "g\xe2\x82"},
	} {
		carol := e.spec(store.Key{User: "carol", Provider: "github"})
		_, err := e.s.Apply(e.ctx, []store.Spec{e.spec(alice), e.spec(key), carol})
		e.refused(name, err)
		sources, err := e.s.Sources(e.ctx, store.SourceFilter{})
		e.ok(err)
		if len(sources) != 1 || len(sources[0].Paused) != 0 {
			e.Errorf("%s: got sources %+v, want alice's alone", name, sources)
		}
	}
}

func refusedCursors(e *env) {
	lease, _ := e.open()
	for name, c := range map[string]store.Cursor{
		"no stream": {State: "{}"}, "long stream": {Stream: strings.Repeat("x", 256)}, "long part": {Stream: "s", Part: strings.Repeat("x", 1201)},
		"NUL in state": {Stream: "s", State: "\x00"}, "invalid UTF-8 in state": {Stream: "s", State: "\xff"},
		"NUL in part": {Stream: "s", Part: "\x00"}, "invalid UTF-8 in stream": {Stream: "\xff"},
	} {
		err := e.s.Update(e.ctx, lease, func(ctx context.Context, tx store.Tx) error {
			e.ok(tx.Insert(ctx, []store.Row{row("issues/1", `{}`, 1)}))
			return tx.SaveCursor(ctx, c)
		})
		e.refused(name, err)
	}
	e.holds(alice)
}
