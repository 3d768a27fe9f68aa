package connectortest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// What follows is for fakes.

// Oldest sorts items by their last change, oldest first; ties by creation.
func Oldest(items []Item) []Item {
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.N, b.N)) })
	return items
}

// Newest sorts items by their last change, newest first; ties by creation,
// newest first.
func Newest(items []Item) []Item {
	slices.Reverse(Oldest(items))
	return items
}

// Since leaves the items that changed at or after a time in RFC 3339; "" is all.
func Since(items []Item, since string) []Item {
	if since == "" {
		return items
	}
	m, err := syncd.ParseTime(since, time.UTC)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(items, func(it Item) bool { return syncd.At(it.Changed) < m })
}

// After leaves the items that follow the one with the id; "" is all. ok is
// false where there is none with that id: most providers answer 400 then.
func After(items []Item, id string) (rest []Item, ok bool) {
	if id == "" {
		return items, true
	}
	i := slices.IndexFunc(items, func(it Item) bool { return it.ID == id })
	return items[i+1:], i >= 0
}

// Place returns a token for an item's place in a list sorted by Oldest or
// Newest. It stays the same place when the item changes or goes.
func Place(it Item) string { return fmt.Sprintf("%d.%d", it.Changed.UnixNano(), it.N) }

// Behind sorts items by order, which is Oldest or Newest, and leaves those
// behind a place; "" is all. ok is false for what is no place.
func Behind(order func([]Item) []Item, items []Item, place string) (rest []Item, ok bool) {
	if place == "" {
		return order(items), true
	}
	nanos, number, _ := strings.Cut(place, ".")
	at, err1 := strconv.ParseInt(nanos, 10, 64)
	n, err2 := strconv.ParseInt(number, 10, 64)
	if err1 != nil || err2 != nil {
		return nil, false
	}
	mark := Item{Changed: time.Unix(0, at).UTC(), N: n, Stream: "a place"}
	items = slices.DeleteFunc(items, func(it Item) bool { return it.N == n && it.Changed.Equal(mark.Changed) })
	items = order(append(items, mark))
	i := slices.IndexFunc(items, func(it Item) bool { return it.Stream == mark.Stream })
	return items[i+1:], true
}

// Cut returns the page of at most size items that begins with the item number
// from, and the number that the next page begins with: 0 if there is none.
func Cut(items []Item, from, size int) (page []Item, next int) {
	lo := min(max(from, 0), len(items))
	hi := min(lo+max(size, 1), len(items))
	if hi < len(items) {
		next = hi
	}
	return items[lo:hi], next
}

// Limit returns how many elements a page may have: what the request asks for,
// or fewer, as providers that name a maximum may give. It keeps the suite fast.
// A provider that always gives as many as it was asked for is faked with the
// number from the request, and a small one in the connector's options.
func (w *World) Limit(asked string) int {
	n, err := strconv.Atoi(asked)
	if err != nil || n < 1 {
		return w.size
	}
	return min(n, w.size)
}

// Elements renders a page as a JSON array. render returns one item as the
// provider's JSON; it is called again for the same item, and must say the same.
// Here the suite slips in what goes wrong inside of a list. The first item of a
// list is never spoilt, so that a fake can hang others on it, as replies on a
// message: what hangs on a bad element cannot be found.
func (w *World) Elements(page []Item, render func(Item) string) string {
	return "[" + strings.Join(w.Each(page, render), ",") + "]"
}

// Each is Elements for lists that are no JSON arrays: it returns the elements,
// which are then not always as many as the page has items.
func (w *World) Each(page []Item, render func(Item) string) []string {
	w.mu.Lock()
	infect := w.infect
	w.pages++
	n := w.pages
	w.longest = max(w.longest, len(page))
	if len(page) > 0 {
		w.served = list{page[0].Stream, page[0].Part}
		w.turned[w.served]++
		w.edge = page[len(page)-1].key()
	}
	w.mu.Unlock()
	if infect != nil && len(page) > 0 {
		infect(n, page, render)
	}
	texts := make([]string, 0, len(page))
	for _, it := range page {
		if text, ok := w.element(it, render(it)); ok {
			texts = append(texts, text)
		}
	}
	if w.mix != nil && len(page) > 0 {
		texts = w.mix(page, texts)
	}
	return texts
}

// element returns an item as it is given out.
func (w *World) element(it Item, text string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := it.key()
	switch spoiled, ok := w.poisoned[k]; {
	case w.hidden[k]:
		return "", false
	case ok:
		w.bad[spoiled] = k
		return spoiled, true
	}
	w.shown[k] = sight{text, it.Rev, w.run}
	w.past[text] = true
	return text, true
}
