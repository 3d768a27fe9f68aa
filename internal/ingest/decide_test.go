package ingest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/syncdhq/syncd/internal/store"
)

func live(mark int64, data string) store.Head {
	return store.Head{Found: true, Mark: mark, Version: 1, Hash: hash([]byte(data))}
}

func gone(mark int64, absent bool) store.Head {
	return store.Head{Found: true, Mark: mark, Version: 2, Deleted: true, Absent: absent, Hash: hash([]byte("a"))}
}

func in(mark int64, data string) Incoming {
	return Incoming{ID: "s/1", Mark: mark, Data: []byte(data), Hash: hash([]byte(data))}
}

func tombstone(mark int64) Incoming {
	return Incoming{ID: "s/1", Mark: mark, Deleted: true}
}

func TestDecide(t *testing.T) {
	none := store.Head{}
	tests := []struct {
		name     string
		head     store.Head
		in       Incoming
		append   bool
		same     bool
		replayed bool
		want     Action
		mark     int64 // of the row that is written; 0 where none is
		touch    bool
	}{
		{name: "new", head: none, in: in(5, "a"), want: Insert, mark: 5},
		{name: "newer", head: live(5, "a"), in: in(6, "b"), want: Update, mark: 6},
		{name: "older", head: live(5, "a"), in: in(4, "b"), want: Stale},
		{name: "older with the same content", head: live(5, "a"), in: in(4, "a"), want: Stale},
		{name: "equal", head: live(5, "a"), in: in(5, "a"), want: Unchanged},
		{name: "equal but newer", head: live(5, "a"), in: in(6, "a"), want: Unchanged, mark: 6, touch: true},
		{name: "equal in meaning", head: live(5, "a"), in: in(5, "b"), same: true, want: Unchanged},
		{name: "a tie with other content goes to the provider's last word", head: live(5, "a"), in: in(5, "b"), want: Update, mark: 5},
		{name: "without a mark the last to arrive wins", head: live(0, "a"), in: in(0, "b"), want: Update},
		{name: "without a mark over a mark, which stays", head: live(5, "a"), in: in(0, "b"), want: Update, mark: 5},
		{name: "append keeps the first copy", head: live(5, "a"), in: in(6, "b"), append: true, want: Unchanged},
		{name: "deleted", head: live(5, "a"), in: tombstone(6), want: Delete, mark: 6},
		{name: "deleted at the same mark", head: live(5, "a"), in: tombstone(5), want: Delete, mark: 5},
		{name: "an old deletion", head: live(5, "a"), in: tombstone(4), want: Stale},
		{name: "deleted before it was ever seen", head: none, in: tombstone(3), want: Delete, mark: 3},
		{name: "an update older than the deletion", head: gone(8, false), in: in(7, "b"), want: Stale},
		{name: "an update at the mark of the deletion", head: gone(8, false), in: in(8, "a"), want: Stale},
		{name: "an update newer than the deletion", head: gone(8, false), in: in(9, "b"), want: Restore, mark: 9},
		{name: "back in the listing unchanged", head: gone(8, true), in: in(8, "a"), want: Restore, mark: 8},
		{name: "back in the listing, no marks", head: gone(0, true), in: in(0, "a"), want: Restore},
		{name: "deleted again", head: gone(8, false), in: tombstone(8), want: Unchanged},
		{name: "deleted again, later", head: gone(8, false), in: tombstone(9), want: Unchanged, mark: 9, touch: true},
		{name: "a replay does not win a tie", head: live(5, "a"), in: in(5, "b"), replayed: true, want: Stale},
		{name: "a replay without marks does not win", head: live(0, "a"), in: in(0, "b"), replayed: true, want: Stale},
		{name: "a newer replay wins", head: live(5, "a"), in: in(6, "b"), replayed: true, want: Update, mark: 6},
		{name: "a replay of what was never stored", head: none, in: in(5, "b"), replayed: true, want: Insert, mark: 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.head, tt.in, tt.append, tt.same, tt.replayed)
			if d.Action != tt.want || d.Touch != tt.touch {
				t.Fatalf("action %d touch %v, want %d %v", d.Action, d.Touch, tt.want, tt.touch)
			}
			writes := d.Touch || d.Action != Unchanged && d.Action != Stale
			if writes && (d.Row.Mark != tt.mark || d.Row.Version != tt.head.Version+1) {
				t.Errorf("row mark %d version %d, want %d %d", d.Row.Mark, d.Row.Version, tt.mark, tt.head.Version+1)
			}
		})
	}
}

// apply is what a store does with a decision.
func apply(h store.Head, i Incoming, d Decision) store.Head {
	switch {
	case d.Touch:
		h.Mark = d.Row.Mark
	case d.Action == Unchanged || d.Action == Stale:
	default:
		keep := h.Hash
		h = store.Head{Found: true, Mark: d.Row.Mark, Version: d.Row.Version, Hash: d.Row.Hash, Deleted: d.Row.Deleted, Absent: d.Row.Absent}
		if d.Row.Data == nil {
			h.Hash = keep
		}
	}
	return h
}

// States with marks of their own give the same row in any order and however
// often they come.
func TestAnyOrderGivesTheSameRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var states []Incoming
		for m := range rapid.IntRange(1, 6).Draw(t, "states") {
			if rapid.IntRange(0, 3).Draw(t, "deleted") == 0 {
				states = append(states, tombstone(int64(m+1)))
				continue
			}
			states = append(states, in(int64(m+1), fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, "content"))))
		}
		run := func(order []Incoming) (deleted bool, mark int64, content store.Hash) {
			var h store.Head
			for _, i := range order {
				h = apply(h, i, Decide(h, i, false, false, false))
			}
			if h.Deleted {
				return true, h.Mark, store.Hash{}
			}
			return false, h.Mark, h.Hash
		}
		var shuffled []Incoming
		for range 2 {
			shuffled = append(shuffled, rapid.Permutation(states).Draw(t, "order")...)
		}
		d1, m1, c1 := run(states)
		d2, m2, c2 := run(shuffled)
		if d1 != d2 || m1 != m2 || c1 != c2 {
			t.Fatalf("in order: deleted %v mark %d; shuffled: deleted %v mark %d", d1, m1, d2, m2)
		}
	})
}
