package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/store"
)

func (w *world) rejects() []rejectRow {
	w.Helper()
	var rows []rejectRow
	w.json(&rows, "rejects", "list", "--all")
	return rows
}

func TestRejects(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "rejects", "list"), "no reject")
	long := []byte(strings.Repeat("\x00x", 3000))
	first := w.ran(past{key: alice, outcome: done(), counts: store.Counters{Rejected: 3}, rejects: []store.Reject{
		{Stream: "customers", RecordID: "c7", Reason: "missing_external_id", Detail: "the record has no id", Place: "line 17", Raw: []byte("a;b\r\n\"Sjöberg\"\tc\r\n"), Digest: store.Hash{1}},
		{Stream: "tickets", Reason: "bad_json", Detail: "cut short", Raw: long, Digest: store.Hash{2}},
	}})
	w.ran(past{key: bob, outcome: done(), rejects: []store.Reject{{Stream: "orders", Reason: "bad_time", Raw: []byte("x"), Digest: store.Hash{3}}}})
	rows := w.rejects()
	if len(rows) != 3 || rows[0].Reason != "bad_time" || rows[2].Place != "line 17" || rows[2].Raw != nil {
		t.Fatalf("got %+v, want three, newest first, without bytes", rows)
	}
	text, binary, other := strconv.FormatInt(rows[2].ID, 10), strconv.FormatInt(rows[1].ID, 10), strconv.FormatInt(rows[0].ID, 10)

	contains(t, w.run(exitDone, "rejects", "list"), other, "bob", "bad_time", binary, "bad_json", text, "c7", "line 17", "missing_external_id", "no id")
	for args, want := range map[string]string{
		"alice": binary + " " + text, "--reason bad_time": other, "--stream tickets": binary, "--run " + first: binary + " " + text, "alice desk": "",
	} {
		var rows []rejectRow
		w.json(&rows, append([]string{"rejects", "list"}, strings.Fields(args)...)...)
		var ids []string
		for _, r := range rows {
			ids = append(ids, strconv.FormatInt(r.ID, 10))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("rejects list %s: got %q, want %q", args, got, want)
		}
	}

	contains(t, w.run(exitDone, "rejects", "show", text), "alice shop", "customers", "c7", "line 17", "missing_external_id", "the record has no id",
		first, "a;b\n\"Sjöberg\"\tc\n", "syncd rejects discard "+text)
	contains(t, w.run(exitDone, "rejects", "show", binary), "6000 bytes", "00000000  00 78 00 78", "1904 bytes more")
	if out, _, _ := w.try("rejects", "show", binary, "--raw"); out != string(long) {
		t.Errorf("--raw wrote %d bytes, want %d as they came", len(out), len(long))
	}
	var row rejectRow
	w.json(&row, "rejects", "show", binary)
	if string(row.Raw) != string(long) || row.RawSize != 6000 {
		t.Errorf("got %d bytes of %d", len(row.Raw), row.RawSize)
	}
	contains(t, w.run(exitFailed, "rejects", "show", "999"), "there is no reject 999")
}

func TestDiscard(t *testing.T) {
	w := filledWorld(t)
	for _, key := range []store.Key{alice, bob, carol} {
		w.ran(past{key: key, outcome: done(), rejects: []store.Reject{{Stream: "orders", Reason: "bad_time", Raw: []byte("x"), Digest: store.Hash{3}}}})
	}
	ids := map[store.Key]string{}
	for _, r := range w.rejects() {
		ids[store.Key{User: r.User, Provider: r.Provider}] = strconv.FormatInt(r.ID, 10)
	}
	// One that is not there: nothing is closed.
	w.run(exitFailed, "rejects", "discard", ids[alice], "999")
	w.open(3)
	contains(t, w.run(exitDone, "rejects", "discard", ids[alice], ids[bob]), "reject "+ids[alice]+" is discarded", "reject "+ids[bob]+" is discarded")
	w.open(1)
	contains(t, w.run(exitDone, "rejects", "discard", ids[alice]), "was discarded already")
	contains(t, w.run(exitDone, "rejects", "list", "--all"), "bad_time (discarded)")
	contains(t, w.run(exitDone, "rejects", "show", ids[alice]), "resolution  discarded")
	if row := w.source(alice); row.Owner != "" {
		t.Errorf("the lease was not given back: %+v", row)
	}
	w.ran(past{key: carol})
	contains(t, w.run(exitFailed, "rejects", "discard", ids[carol]), "is being run by daemon/1")
	w.open(1)
}

// open checks how many rejects are open.
func (w *world) open(want int64) {
	w.Helper()
	over, err := w.store.Overview(w.Context())
	w.must(err)
	if over.OpenRejects != want {
		w.Errorf("got %d open rejects, want %d", over.OpenRejects, want)
	}
}
