package cursor

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// A process that dies between a walk's last page and its deletions reads
// everything once more, also where no full walk is asked for.
func TestUnsweptIsReadOnceMore(t *testing.T) {
	before := noon.Add(-time.Hour) // the last walk over everything whose deletions were done
	for _, tt := range []struct {
		name   string
		stream syncd.Stream
		from   State
		full   bool
	}{
		{"the first", unordered, State{}, false},
		{"full", descending, State{Watermark: at("09:00:00"), FullAt: before}, true},
		{"snapshot", snapshot, State{Sync: "etag-1", FullAt: before}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Begin(tt.from, tt.stream, Options{Full: tt.full, Now: noon})
			last := page("", "10:00:00")
			last.Sync = "etag-2"
			step := Advance(s, tt.stream, last, syncd.At(noon), false)
			if !step.Proved {
				t.Fatal("the walk does not prove what is gone")
			}
			stored := step.Unswept
			if !stored.FullAt.Equal(tt.from.FullAt) {
				t.Errorf("the last full walk is of %v, want %v", stored.FullAt, tt.from.FullAt)
			}
			if !stored.Walk.Began.Equal(noon) {
				t.Errorf("the walk began at %v, want %v", stored.Walk.Began, noon)
			}
			next := Begin(stored, tt.stream, Options{Now: noon.Add(time.Minute)})
			if w := next.Walk; !w.Full || w.Cut || w.Again {
				t.Errorf("the next walk is %+v, want a full one from its start", w)
			}
			if got := Next(next, ""); got != (syncd.Request{}) {
				t.Errorf("the next request is %+v, want one for everything", got)
			}
			if again := Advance(next, tt.stream, last, syncd.At(noon), false); !again.Proved || again.State.Walk != nil || again.State.Sync != "etag-2" {
				t.Errorf("the next walk ends as %+v, want it to prove and to end", again)
			}
		})
	}
}

// A provider that asks for everything to be read anew, and then says that
// nothing has changed (a calendar whose token is lost and which is away), has
// told nobody what it deleted: the next walk reads everything.
func TestUnchangedAfterResyncOwesDeletions(t *testing.T) {
	s := Begin(State{Watermark: at("09:00:00"), Sync: "token"}, unordered, Options{Now: noon})
	s = Unchanged(Resync(s))
	next := Begin(s, unordered, Options{Now: noon.Add(time.Hour)})
	if w := next.Walk; !w.Full || w.Cut || w.Again || Next(next, "") != (syncd.Request{}) {
		t.Errorf("the next walk is %+v, want a full one from its start", w)
	}
	if again := Unchanged(next); again.Walk == nil {
		t.Error("a walk that found nothing new either has ended what was owed")
	}
	if end := Advance(next, unordered, page("", "10:00:00"), syncd.At(noon), false); !end.Proved || end.State.Walk != nil {
		t.Errorf("the next walk ends as %+v, want it to prove what is gone", end)
	}
}
