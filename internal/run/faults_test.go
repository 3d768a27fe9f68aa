package run_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/transport"
)

// A fault is what a scripted provider does, and what must come of it.
type fault struct {
	protocol protocol
	stream   syncd.Stream
	before   int          // records 1 to n are there already, from a complete listing
	cursor   cursor.State // to begin with
	mark     bool         // on_missing: mark
	runs     []outcome
	rows     string // the ids of all live records in the end
	requests int    // at most; 0 is as many as the script has
	attempts int    // of a request; 0 is 10
	changes  int64  // rows of the outbox in the end
	check    func(t *testing.T, r *rig, s *script)
}

type outcome struct {
	state     string
	counters  store.Counters
	watermark string // of the stream, in the end; "-" is not looked at
	said      string // part of the error or of the notes
}

var (
	asc  = syncd.Stream{Order: syncd.Ascending}
	desc = syncd.Stream{Order: syncd.Descending}
	any1 = syncd.Stream{}
)

func moment(text string) syncd.Mark {
	m, err := syncd.ParseTime(text, nil)
	if err != nil {
		panic(err)
	}
	return m
}

func old(watermark string) cursor.State { return cursor.State{Watermark: moment(watermark)} }

func one(state string, c store.Counters) []outcome { return []outcome{{state, c, "-", ""}} }

// faults has what is right for each script of the shared cases.
var faults = map[string]fault{
	// The bound is inclusive: what shares the mark and came later is found.
	"CUR-01": {stream: asc, changes: 3, rows: "1 2 3", runs: []outcome{
		{"done", store.Counters{Inserted: 2}, "2026-06-01T10:00:00Z", ""},
		{"done", store.Counters{Inserted: 1, Unchanged: 2}, "2026-06-01T10:00:00Z", ""}}},
	// What shows up late is found by the overlap.
	"CUR-02": {stream: syncd.Stream{Order: syncd.Ascending, Overlap: 5 * time.Minute}, changes: 2, rows: "1 9", runs: []outcome{
		{"done", store.Counters{Inserted: 1}, "2026-06-01T10:04:59Z", ""},
		{"done", store.Counters{Inserted: 1, Unchanged: 1}, "2026-06-01T10:04:59Z", ""}},
		check: func(t *testing.T, r *rig, s *script) {
			r.want("since of the second run", s.asked[1].Get("since"), "2026-06-01T09:59:59Z")
		}},
	// A record of the future is kept and does not move the watermark there.
	"CUR-09": {stream: any1, changes: 3, rows: "1 2 3", runs: []outcome{
		{"done", store.Counters{Inserted: 2}, "2026-06-01T12:00:00Z", "1 records are dated in the future"},
		{"done", store.Counters{Inserted: 1}, "-", ""}}},
	// Newest first: the watermark waits for the end of the list.
	"CUR-13": {stream: desc, cursor: old("2026-06-01T10:00:00Z"), changes: 5, rows: "1 2 3 4 5", runs: []outcome{
		{"failed", store.Counters{Inserted: 2}, "2026-06-01T10:00:00Z", "connection reset"},
		{"done", store.Counters{Inserted: 3}, "2026-06-01T10:05:00Z", ""}}},
	// A list that was promised in order and is not.
	"CUR-14": {stream: asc, changes: 4, rows: "1 2 3 4", runs: []outcome{
		{"failed", store.Counters{Inserted: 3}, "", "did not come in ascending order"},
		{"done", store.Counters{Inserted: 1}, "2020-05-21T00:00:00Z", ""}}},
	// Records without a mark are kept and move nothing.
	"CUR-16": {stream: any1, changes: 4, rows: "1 2 3 4", runs: []outcome{
		{"done", store.Counters{Inserted: 4}, "2026-06-01T10:00:00Z", ""}}},
	// A stored page token that is refused is dropped once.
	"CUR-20": {stream: any1, changes: 2, rows: "1 2", requests: 2,
		cursor: cursor.State{Watermark: moment("2026-06-01T09:59:00Z"), Walk: &cursor.Walk{Page: "DEAD", Since: moment("2026-06-01T09:59:00Z")}},
		runs:   []outcome{{"done", store.Counters{Inserted: 2}, "2026-06-01T10:00:01Z", "no longer accepts the page token"}}},
	// The record that the list was to go on from is gone.
	"CUR-21": {protocol: protocol{keyset: true, created: true}, stream: any1, changes: 3, rows: "sub_1 sub_2 sub_3",
		runs: []outcome{{"done", store.Counters{Inserted: 3, Unchanged: 1}, "1970-01-01T00:01:41Z", "no longer accepts the page token"}}},
	// More ties than a page holds, and nothing but the time to page by.
	"CUR-22": {protocol: protocol{byTime: true}, stream: any1, changes: 2, rows: "1 2", requests: 2,
		runs: one("failed", store.Counters{Inserted: 2})},

	"PAG-01":   {stream: any1, changes: 2, rows: "1 2", requests: 3, runs: []outcome{{"failed", store.Counters{Inserted: 2}, "", "for the second time"}}},
	"PAG-02":   {stream: any1, changes: 3, rows: "1 2 3", requests: 3, runs: []outcome{{"failed", store.Counters{Inserted: 3}, "", "for the second time"}}},
	"PAG-04-1": {stream: any1, changes: 1, rows: "1", requests: 1, runs: one("done", store.Counters{Inserted: 1})},
	"PAG-04-2": {stream: any1, changes: 1, rows: "1", requests: 1, runs: one("done", store.Counters{Inserted: 1})},
	"PAG-04-3": {stream: any1, changes: 1, rows: "1", requests: 1, runs: one("done", store.Counters{Inserted: 1})},
	"PAG-04-4": {stream: any1, changes: 1, rows: "1", requests: 1, runs: one("done", store.Counters{Inserted: 1})},
	"PAG-05":   {stream: any1, changes: 2, rows: "1 2", requests: 3, runs: one("done", store.Counters{Inserted: 2})},
	"PAG-06":   {protocol: protocol{numbers: true}, stream: any1, changes: 8, rows: "1 2 3 4 5 6 7 8", requests: 4, runs: one("done", store.Counters{Inserted: 8})},
	"PAG-08":   {stream: any1, changes: 3, rows: "1 2 3", runs: one("done", store.Counters{Inserted: 3, Duplicate: 1})},
	"PAG-10":   {protocol: protocol{token: "next_url", nextURL: true}, stream: any1, changes: 1, rows: "1", requests: 1, runs: one("done", store.Counters{Inserted: 1})},
	"PAG-13":   {stream: any1, changes: 2, rows: "1 2", requests: 3, runs: []outcome{{"failed", store.Counters{Inserted: 2}, "", "the same page again"}}},
	"PAG-14":   {protocol: protocol{keyset: true}, stream: any1, requests: 1, runs: []outcome{{"failed", store.Counters{}, "", "no record to go on from"}}},

	"IDM-01": {stream: any1, changes: 2, rows: "1 2", runs: one("done", store.Counters{Inserted: 2, Duplicate: 1}),
		check: func(t *testing.T, r *rig, _ *script) {
			r.want("record 1", string(r.data("items/1")), `{"id":1,"v":2}`)
		}},
	"IDM-02": {protocol: protocol{version: true}, stream: any1, changes: 3, rows: "1 2 3", runs: one("done", store.Counters{Inserted: 3, Duplicate: 3}),
		check: func(t *testing.T, r *rig, _ *script) {
			for id, want := range map[string]string{"items/1": "new", "items/2": "new", "items/3": "second"} {
				if data := string(r.data(id)); !strings.Contains(data, want) {
					t.Errorf("%s is %s, want %s", id, data, want)
				}
			}
		}},
	"IDM-18": {stream: any1, changes: 1, rows: "7", runs: one("done", store.Counters{Inserted: 1, Rejected: 5}),
		check: func(t *testing.T, r *rig, _ *script) {
			rejects, err := r.store.Rejects(t.Context(), store.RejectFilter{})
			if err != nil || len(rejects) != 5 {
				t.Errorf("%d rejects, %v; want 5", len(rejects), err)
			}
		}},

	// A listing of nothing, and one that breaks off, delete nothing.
	"DEL-01": {stream: syncd.Stream{Snapshot: true}, before: 1000, mark: true, changes: 1000, runs: []outcome{{"done", store.Counters{}, "-", "nothing was deleted"}},
		check: func(t *testing.T, r *rig, _ *script) { r.want("live records", len(r.heads()), 1000) }},
	"DEL-02": {stream: syncd.Stream{Snapshot: true}, before: 5, mark: true, changes: 5, rows: "1 2 3 4 5", requests: 12,
		runs: one("failed", store.Counters{Unchanged: 2})},

	// A body that is cut, or longer than it says, is asked for again, and nothing of it is taken.
	"HTP-01": {stream: any1, changes: 2, rows: "1 2", requests: 2, runs: one("done", store.Counters{Inserted: 2})},
	"HTP-02": {stream: any1, changes: 2, rows: "1 2", requests: 2, runs: one("done", store.Counters{Inserted: 2})},
	"HTP-04": {stream: any1, changes: 1, rows: "1", requests: 2, runs: one("done", store.Counters{Inserted: 1})},
	"HTP-05": {stream: any1, changes: 2, rows: "1 2", requests: 2, runs: one("done", store.Counters{Inserted: 2})},
	// A redirect to another origin is not followed.
	"HTP-08": {stream: any1, requests: 1, runs: []outcome{{"failed", store.Counters{}, "", "another origin"}},
		check: func(t *testing.T, _ *rig, s *script) {
			if len(s.strayed) > 0 {
				t.Errorf("connections to %q", s.strayed)
			}
		}},
	// A body that stops coming is given up.
	"HTP-16": {stream: any1, requests: 2, attempts: 2, runs: []outcome{{"failed", store.Counters{}, "", "no byte of the answer for 200ms"}}},

	"HTP-12-304": {stream: syncd.Stream{Snapshot: true}, before: 2, mark: true, changes: 2, rows: "1 2", requests: 1, runs: one("done", store.Counters{})},
	"HTP-12-204": {stream: syncd.Stream{Snapshot: true}, before: 2, mark: true, changes: 2, rows: "1 2", runs: []outcome{{"failed", store.Counters{}, "-", "empty"}}},
	"HTP-14":     {stream: any1, runs: []outcome{{"failed", store.Counters{}, "", "unexpected content type"}}},

	"RAT-04": {stream: any1, requests: 1, runs: []outcome{{"parked", store.Counters{}, "", ""}}},
	"RAT-05": {stream: any1, changes: 1, rows: "1", requests: 4, runs: one("done", store.Counters{Inserted: 1})},
	"RAT-06-secondary": {stream: any1, changes: 1, rows: "1", requests: 2, runs: one("done", store.Counters{Inserted: 1}),
		check: func(t *testing.T, r *rig, _ *script) {
			if waited := r.now().Sub(noon); waited < time.Minute {
				t.Errorf("it came back after %s, want a minute at least", waited)
			}
		}},
	"RAT-06-permission": {stream: any1, requests: 1, runs: []outcome{{"failed", store.Counters{}, "", "403"}}},
	"RAT-16":            {protocol: protocol{list: "data.items", token: "data.next"}, stream: any1, changes: 1, rows: "1", requests: 2, runs: one("done", store.Counters{Inserted: 1})},
}

// elsewhere are the scripts that are played by tests of their own.
var elsewhere = map[string]string{
	"OAU-02": "TestTokensAreRefreshedOnce", "OAU-12": "TestADeadTokenIsLeftAlone",
}

// Every script is played to a connector in Go and to the connector rest, on
// every store.
func TestScripts(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		for name, f := range faults {
			for reader, make := range map[string]maker{"go": protocol.stream, "rest": protocol.described} {
				t.Run(name+"/"+reader, func(t *testing.T) {
					sc := readScript(t, name)
					switch base := http.RoundTripper(sc); {
					case sc.stalls():
						f.play(t, open, make, sc, sc.listen(t))
					case sc.needsSocket():
						base = sc.listen(t)
						fallthrough
					default:
						synctest.Test(t, func(t *testing.T) { f.play(t, open, make, sc, base) })
					}
				})
			}
		}
	})
}

// A maker makes a stream that reads a protocol.
type maker func(protocol, *syncd.Client, syncd.Stream) syncd.Stream

// play runs a fault on an empty store and compares what came of it.
func (f fault) play(t *testing.T, open opener, make maker, sc *script, base http.RoundTripper) {
	sc.t = t
	stack, err := transport.New(transport.Config{
		Base: base, Attempts: cmp.Or(f.attempts, 10), MaxInlineWait: 70 * time.Second, IdleTimeout: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := stack.Client("http://provider.test")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, open(t))
	empty(t, r)
	r.source.MarkMissing, r.source.Wire = f.mark, stack
	if f.before > 0 {
		r.source.Streams = []syncd.Stream{items(f.before).stream(syncd.Stream{Name: "items", Snapshot: f.stream.Snapshot})}
		r.want("the listing before", r.run().Counters.Inserted, int64(f.before))
	}
	if f.cursor != (cursor.State{}) {
		r.setCursor(f.cursor)
	}
	r.source.Streams = []syncd.Stream{make(f.protocol, client, f.stream)}
	for i, want := range f.runs {
		stack.Reset()
		time.Sleep(time.Second) // in the bubble: what was written before is older than the walk
		res := r.run()
		f.compare(t, r, fmt.Sprintf("run %d", i+1), want, res)
	}
	if f.rows != "" {
		r.want("live records", r.ids(), f.rows)
	}
	if f.requests > 0 && len(sc.asked) > f.requests {
		t.Errorf("%d requests, want at most %d", len(sc.asked), f.requests)
	}
	if f.check != nil {
		f.check(t, r, sc)
	}
	f.countChanges(t, r)
}

func (f fault) compare(t *testing.T, r *rig, name string, want outcome, res run.Result) {
	t.Helper()
	said := strings.Join(res.Notes, "\n")
	if res.Err != nil {
		said += res.Err.Error()
	}
	if res.State != want.state || res.Counters != want.counters {
		t.Errorf("%s: %s, %+v (%s); want %s, %+v", name, res.State, res.Counters, said, want.state, want.counters)
	}
	if !strings.Contains(said, want.said) {
		t.Errorf("%s said %q, want %q", name, said, want.said)
	}
	if got := r.cursor("items", "").Watermark.Format(false); want.watermark != "-" && got != want.watermark {
		t.Errorf("%s: watermark %q, want %q", name, got, want.watermark)
	}
	if res.State == store.Parked {
		if wait := time.Until(res.Until); wait < 23*time.Hour || wait > 25*time.Hour {
			t.Errorf("%s is parked for %s, want about a day", name, wait)
		}
	}
}

// countChanges compares the outbox: one row for each record that was inserted,
// updated, deleted or restored.
func (f fault) countChanges(t *testing.T, r *rig) {
	t.Helper()
	if n := int64(len(r.changes())); n != f.changes {
		t.Errorf("%d changes, want %d", n, f.changes)
	}
	r.checkChanges()
}

// empty makes a store empty that another case has used.
func empty(t *testing.T, r *rig) {
	t.Helper()
	if err := r.store.Remove(t.Context(), alice, true); err != nil {
		t.Fatal(err)
	}
	fresh := newRig(t, r.store)
	*r = *fresh
}

// No script of the shared cases is forgotten.
func TestEveryScriptIsPlayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casebook.Shared(t, "faults", "cases"), "*.http.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".http.json")
		_, played := faults[name]
		if _, ok := elsewhere[name]; played == ok {
			t.Errorf("%s: played here %v, listed as tested elsewhere %v", name, played, ok)
		}
	}
	for name := range faults {
		if _, err := os.Stat(casebook.Shared(t, "faults", "cases", name+".http.json")); err != nil {
			t.Error(err)
		}
	}
}
