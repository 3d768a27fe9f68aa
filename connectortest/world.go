package connectortest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/syncdhq/syncd"
)

// A World is what a provider has: lists of items by stream and part. The suite
// changes it, between two requests as well. Its methods may be called by
// several at once.
type World struct {
	mu      sync.Mutex
	facts   map[string]Facts
	streams map[string]syncd.Stream
	skew    time.Duration // the provider's clock is so much ahead of ours
	size    int           // of a page, at most
	version int64         // the number of the last change
	dead    int64         // sync tokens of versions up to it have died
	lists   map[list][]*Item
	count   int64 // items made so far

	shown    map[itemKey]sight  // as last rendered
	poisoned map[itemKey]string // elements that are given out in place of items
	bad      map[string]itemKey // those that were given out so far
	past     map[string]bool    // all texts of elements that were right
	hidden   map[itemKey]bool   // items that are on the provider's pages and that the user may not see
	deleted  map[itemKey]int    // how often the provider deleted it
	served   list               // of the page that was rendered last
	edge     itemKey            // the last item of that page
	longest  int                // elements on one page so far
	pages    int                // pages of elements in this run
	run      int                // number of this run
	turned   map[list]int       // pages of a list in this run

	// Set between runs only: infect may poison and hide items of the nth page
	// of the run before it is rendered, mix may change its elements.
	infect func(n int, page []Item, render func(Item) string)
	mix    func(page []Item, texts []string) []string
}

type list struct{ stream, part string }

type itemKey struct {
	list
	id string
}

// A sight is an element as a fake rendered it.
type sight struct {
	text string
	rev  int
	run  int // that it was rendered in last
}

// An Item is one thing at the provider in its present state.
type Item struct {
	Stream, Part string
	N            int64     // its number among all items, from 1
	ID           string    // by Facts.ID; else a whole number above 2^53 in plain digits
	Created      time.Time // by the provider's clock, to Facts.Grain
	Changed      time.Time // when this state came to be
	Seq          int64     // the number of the change that made this state, over all items
	Rev          int       // 1 when created, one more with each change: to be shown in the element
	Deleted      bool      // only where Facts.Deletions is Told
}

func (it Item) key() itemKey { return itemKey{list{it.Stream, it.Part}, it.ID} }

// Now is the provider's clock.
func (w *World) Now() time.Time {
	return time.Now().Add(w.skew).UTC()
}

// Parts returns the names of a stream's parts: {""} for one that has none.
func (w *World) Parts(stream string) []string {
	switch parts := w.facts[stream].Parts; {
	case w.streams[stream].Parts == nil:
		return []string{""}
	case len(parts) > 0:
		return parts
	}
	return []string{"7001", "7002"}
}

// Items returns the items of a list in the order in which they were created,
// as they are now. Deleted ones are among them where Facts.Deletions is Told.
func (w *World) Items(stream, part string) []Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Item
	for _, it := range w.lists[list{stream, part}] {
		if !it.Deleted || w.facts[stream].Deletions == Told {
			out = append(out, *it)
		}
	}
	return out
}

// SyncToken returns the token that a provider gives out for a list as it is
// now. A walk over the list gives out, on its last page, the token of its
// first page's time: a fake carries it along in its page tokens.
func (w *World) SyncToken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strconv.FormatInt(w.version, 10)
}

// ChangedSince returns the items of a list that changed after the sync token
// was given out, oldest change first; deleted ones are among them where
// Facts.Deletions is Told. ok is false for a token that the provider has
// forgotten: the fake answers as its provider does then, mostly with 410.
func (w *World) ChangedSince(stream, part, token string) (items []Item, ok bool) {
	version, err := strconv.ParseInt(token, 10, 64)
	w.mu.Lock()
	alive := err == nil && version > w.dead
	w.mu.Unlock()
	if !alive {
		return nil, false
	}
	items = slices.DeleteFunc(w.Items(stream, part), func(it Item) bool { return it.Seq <= version })
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return items, true
}

// forget makes all sync tokens that were given out so far dead ones.
func (w *World) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = w.version
	w.version++ // tokens given out from now on are others
}

// start begins a run.
func (w *World) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages = 0
	w.run++
	clear(w.turned)
}

// quiet ends all mischief inside of lists; what was hidden stays so.
func (w *World) quiet() {
	w.infect, w.mix = nil, nil
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.poisoned)
}

func (w *World) grain(stream string) time.Duration {
	return cmp.Or(w.facts[stream].Grain, time.Second)
}

// stamp is now as the provider writes it.
func (w *World) stamp(stream string) time.Time { return w.Now().Truncate(w.grain(stream)) }

// add creates an item that was created and changed at the given times.
func (w *World) add(at list, created, changed time.Time) Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.version++
	it := &Item{Stream: at.stream, Part: at.part, N: w.count, Created: created, Changed: changed, Seq: w.version, Rev: 1}
	if id := w.facts[at.stream].ID; id != nil {
		it.ID = id(it.N, created)
	} else {
		it.ID = strconv.FormatInt(1<<53+it.N, 10)
	}
	w.lists[at] = append(w.lists[at], it)
	return *it
}

// create creates an item now.
func (w *World) create(at list) Item {
	now := w.stamp(at.stream)
	return w.add(at, now, now)
}

// edit changes an item, now.
func (w *World) edit(k itemKey) { w.change(k, w.stamp(k.stream), func(*Item) {}) }

// remove deletes an item, now.
func (w *World) remove(k itemKey) {
	w.change(k, w.stamp(k.stream), func(it *Item) {
		it.Deleted = true
		w.deleted[k]++
	})
}

// change changes an item at a time.
func (w *World) change(k itemKey, at time.Time, f func(*Item)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.lists[k.list] {
		if it.ID == k.id && !it.Deleted {
			w.version++
			it.Changed, it.Seq, it.Rev = at, w.version, it.Rev+1
			f(it)
			return
		}
	}
}

// all returns the items of a list, whatever the provider shows of them.
func (w *World) all(at list) []Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Item
	for _, it := range w.lists[at] {
		out = append(out, *it)
	}
	return out
}

// live returns the items of a list that are there.
func (w *World) live(at list) []Item {
	return slices.DeleteFunc(w.all(at), func(it Item) bool { return it.Deleted })
}

// first reports whether an item is the first that its list ever had.
func (w *World) first(it Item) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists[list{it.Stream, it.Part}][0].N == it.N
}

// mark is the mark that an item's record should have.
func (w *World) mark(it Item) syncd.Mark {
	switch f := w.facts[it.Stream].Mark; {
	case f != nil:
		return f(it)
	case w.streams[it.Stream].Sequence:
		return syncd.Mark(it.Seq)
	}
	return syncd.At(it.Changed)
}

// name spells an item for people.
func (w *World) name(it Item) string {
	text := "record " + it.ID
	if it.Part != "" {
		text += " of part " + it.Part
	}
	if len(w.streams) > 1 {
		text += " of " + it.Stream
	}
	if it.Rev == 1 {
		return fmt.Sprintf("%s (created at %s)", text, clock(it.Changed))
	}
	return fmt.Sprintf("%s (changed at %s)", text, clock(it.Changed))
}

// clock spells a time of a scenario.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999999Z") }
