package run_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// A world is a provider whose records change while they are read.
type world struct {
	mu        sync.Mutex
	rnd       *rand.Rand
	time      time.Time
	date      time.Time // of the first answer of the run
	grain     time.Duration
	things    map[string]thing
	deletions map[string]int
	quiet     bool
	calls     int
	fails     int // the call that fails; 0 is none
	stop      func()
	stops     int  // the call that stops the run
	grown     bool // things are only added
	gone      bool // what is deleted is not listed, not even as deleted
}

type thing struct {
	id      string
	mark    syncd.Mark
	body    string
	deleted bool
}

func (w *world) Date() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.date }
func (w *world) Requests() int64 { return 0 }

func (w *world) now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.time }

// change changes one thing.
func (w *world) change() {
	w.time = w.time.Add(time.Duration(1+w.rnd.IntN(400)) * time.Millisecond)
	id := strconv.Itoa(w.rnd.IntN(40))
	old, found := w.things[id]
	if w.grown && found {
		return
	}
	t := thing{id: id, mark: syncd.At(w.time.Truncate(w.grain)), body: fmt.Sprintf(`{"at":%d}`, w.time.UnixNano())}
	switch {
	case found && !old.deleted && w.rnd.IntN(3) == 0 && !w.grown:
		w.deletions[id]++
		if t.deleted = true; w.gone {
			delete(w.things, id)
			return
		}
	case found && old.deleted && old.mark == t.mark:
		return // a tie with a deletion has no right answer
	}
	w.things[id] = t
}

// fetch answers a request: the things that wanted chooses, in the order of
// less, three at a time, with the key of the last as the token.
func (w *world) fetch(req syncd.Request, wanted func(thing) bool, order func(x, y thing) int) (syncd.Page, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(time.Duration(w.rnd.IntN(300)) * time.Millisecond)
	if w.date.IsZero() {
		w.date = w.time.Truncate(time.Second)
	}
	for range 5 {
		if !w.quiet && w.rnd.IntN(4) == 0 {
			w.change()
		}
	}
	if w.calls++; w.calls == w.stops {
		w.stop()
	}
	if w.calls == w.fails {
		return syncd.Page{}, errors.New("broken")
	}
	var all []thing
	after := parseThing(req.Page)
	for _, t := range w.things {
		if wanted(t) && (req.Page == "" || order(t, after) > 0) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, order)
	n := min(3, len(all))
	var p syncd.Page
	for _, t := range all[:n] {
		r := syncd.Record{ID: t.id, Mark: t.mark, Deleted: t.deleted}
		if !t.deleted {
			r.Data = []byte(t.body)
		}
		p.Records = append(p.Records, r)
	}
	if n < len(all) {
		p.Next = fmt.Sprintf("%d %s", all[n-1].mark, all[n-1].id)
	}
	return p, nil
}

// delta answers a request with a sync token: what changed since it was given
// out. Page tokens carry when the walk began, which the next sync token says.
func (w *world) delta(req syncd.Request) (syncd.Page, error) {
	w.mu.Lock()
	forgotten := !w.quiet && req.Page+req.Sync != "" && w.rnd.IntN(12) == 0
	began := strconv.FormatInt(int64(syncd.At(w.time)), 10)
	w.mu.Unlock()
	if forgotten {
		return syncd.Page{}, syncd.ErrResync
	}
	if req.Page != "" {
		began, req.Page, _ = strings.Cut(req.Page, " ")
	}
	since, _ := strconv.ParseInt(req.Sync, 10, 64)
	since -= since % int64(w.grain)
	p, err := w.fetch(req, func(t thing) bool { return int64(t.mark) >= since && (since > 0 || !t.deleted) }, byID)
	if p.Next == "" {
		p.Sync = began
	} else {
		p.Next = began + " " + p.Next
	}
	return p, err
}

func parseThing(token string) (t thing) {
	mark, id, _ := strings.Cut(token, " ")
	n, _ := strconv.ParseInt(mark, 10, 64)
	return thing{id: id, mark: syncd.Mark(n)}
}

func byID(x, y thing) int   { return strings.Compare(x.id, y.id) }
func oldest(x, y thing) int { return cmp.Or(cmp.Compare(x.mark, y.mark), byID(x, y)) }
func newest(x, y thing) int { return cmp.Or(-cmp.Compare(x.mark, y.mark), byID(x, y)) }

// A habit is a way in which providers list.
type habit struct {
	name   string
	stream syncd.Stream
	order  func(x, y thing) int
	since  bool // it honours Since
	grown  bool
	gone   bool
	parts  bool
	tokens bool // it lists what changed since a token, with deletions; without one, what is there
}

var habits = []habit{
	{"ascending", syncd.Stream{Order: syncd.Ascending}, oldest, true, false, false, false, false},
	{"ascending in parts", syncd.Stream{Order: syncd.Ascending}, oldest, true, false, false, true, false},
	// One that honours Since as well cannot be told from one in order where each page happens to be.
	{"ascending, but not in order", syncd.Stream{Order: syncd.Ascending}, byID, false, false, false, false, false},
	{"descending", syncd.Stream{Order: syncd.Descending}, newest, false, false, false, false, false},
	{"descending with since", syncd.Stream{Order: syncd.Descending}, newest, true, false, false, false, false},
	{"descending, but not in order", syncd.Stream{Order: syncd.Descending}, byID, true, false, false, false, false},
	{"unordered", syncd.Stream{}, byID, true, false, false, false, false},
	{"unordered without since", syncd.Stream{}, byID, false, false, false, false, false},
	{"snapshot", syncd.Stream{Snapshot: true}, byID, false, false, true, false, false},
	{"snapshot in parts", syncd.Stream{Snapshot: true}, byID, false, false, true, true, false},
	{"append", syncd.Stream{Order: syncd.Ascending, Append: true}, oldest, true, true, false, false, false},
	{"sync tokens", syncd.Stream{}, byID, false, false, false, false, true},
}

func (h habit) serve(w *world) syncd.Stream {
	s := h.stream
	s.Name, s.Overlap = "items", w.grain
	if h.parts {
		s.Parts = func(context.Context) ([]string, error) { return []string{"even", "odd"}, nil }
	}
	if h.tokens {
		s.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) { return w.delta(req) }
		return s
	}
	s.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) {
		return w.fetch(req, func(t thing) bool {
			return (!h.since || t.mark >= req.Since) && (!h.parts || t.part() == req.Part)
		}, h.order)
	}
	return s
}

func (t thing) part() string {
	if n, _ := strconv.Atoi(t.id); n%2 == 0 {
		return "even"
	}
	return "odd"
}

// Whatever changes while a source is read, and wherever its runs are broken
// off, it ends as the provider is, once that keeps still.
func TestAWorldThatMoves(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		s := open(t)
		rounds := uint64(3)
		if strings.HasSuffix(t.Name(), "memory") {
			rounds = 100
		}
		for _, h := range habits {
			t.Run(h.name, func(t *testing.T) {
				for seed := range rounds {
					h.live(t, s, seed)
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
				}
			})
		}
	})
}

func (h habit) live(t *testing.T, s store.Store, seed uint64) {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 1)), time: noon, things: map[string]thing{}, deletions: map[string]int{}, grown: h.grown, gone: h.gone}
	w.grain = []time.Duration{time.Microsecond, time.Second}[seed%2]
	r := newRig(t, s)
	empty(t, r)
	r.source.Streams = []syncd.Stream{h.serve(w)}
	r.source.MarkMissing, r.source.MaxMissing, r.source.Wire = h.gone || h.tokens, 100, w
	skew := time.Duration(w.rnd.IntN(3)-1) * time.Hour
	r.now = func() time.Time { return w.now().Add(skew) }
	for range 30 {
		w.change()
	}
	for range 3 + w.rnd.IntN(8) {
		h.disturbed(r, w)
	}
	w.quiet = true
	if h.tokens { // what was deleted while a dead token was made good for is found by a full walk
		r.job = func(j *run.Job) { j.Full, j.FullDue = true, j.At }
	}
	for range 4 {
		w.time = w.time.Add(time.Second)
		for runs := 0; h.run(r, w).State != store.Done; runs++ {
			if runs > 20 {
				t.Fatal("it does not end")
			}
		}
	}
	h.compare(r, w)
}

// run runs the source with the provider's date not known yet.
func (h habit) run(r *rig, w *world) run.Result {
	w.mu.Lock()
	w.calls, w.date = 0, time.Time{}
	w.mu.Unlock()
	return r.run()
}

// disturbed runs the source and breaks the run off, or not.
func (h habit) disturbed(r *rig, w *world) {
	for range w.rnd.IntN(6) {
		w.change()
	}
	n := 1 + w.rnd.IntN(8)
	r.source.Budget, r.job, w.fails, w.stops = run.Budget{}, nil, 0, 0
	how := w.rnd.IntN(7)
	switch how {
	case 0, 1:
		w.calls, w.date = 0, time.Time{}
		r.cut(n, how == 0)
		return
	case 2:
		r.source.Budget.Pages = n
	case 3:
		w.fails = n
	case 4:
		stop := make(chan struct{})
		w.stop, w.stops = func() { close(stop) }, n
		r.job = func(j *run.Job) { j.Stop = stop }
	case 5:
		r.job = func(j *run.Job) { j.Full, j.FullDue = true, j.At }
	}
	res := h.run(r, w)
	if w.calls < n && res.State != store.Done && !errors.Is(res.Err, syncd.ErrResync) {
		r.t.Errorf("%s, %v", res.State, res.Err)
	}
	r.source.Budget, r.job, w.fails, w.stops = run.Budget{}, nil, 0, 0
}

// compare holds the table against the world.
func (h habit) compare(r *rig, w *world) {
	r.t.Helper()
	live := map[string]bool{}
	for _, head := range r.heads() {
		id := head.ID[strings.LastIndexByte(head.ID, '/')+1:]
		live[id] = true
		t, found := w.things[id]
		if !found || t.deleted {
			r.t.Errorf("%s is stored live, the provider has %+v", head.ID, t)
			continue
		}
		if data := string(r.data(head.ID)); data != t.body || head.Mark != int64(t.mark) {
			r.t.Errorf("%s is %s of %s, want %s of %s", head.ID, data, syncd.Mark(head.Mark).Time(), t.body, t.mark.Time())
		}
	}
	for id, t := range w.things {
		if !t.deleted && !live[id] {
			r.t.Errorf("%s of %s is not there", id, t.mark.Time())
		}
	}
	if c := r.counted(); int(c.Inserted+c.Updated+c.Deleted+c.Restored) != len(r.changes()) {
		r.t.Errorf("%d changes, counted %+v", len(r.changes()), c)
	}
	r.checkChanges()
	deleted := map[string]int{}
	for _, c := range r.changes() {
		id := c.ID[strings.LastIndexByte(c.ID, '/')+1:]
		if c.Kind != "deleted" {
			continue
		}
		if deleted[id]++; deleted[id] > w.deletions[id] {
			r.t.Errorf("%s was deleted %d times, by the provider %d times", c.ID, deleted[id], w.deletions[id])
		}
	}
	for _, stream := range []string{"", "even", "odd"} {
		if c := r.cursor("items", stream); c.Watermark.Time().After(w.time) {
			r.t.Errorf("watermark %s, the provider's clock is at %s", c.Watermark.Time(), w.time)
		}
	}
}
