package cursor

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// A process that dies between a walk's last page and its deletions reads
// everything once more, also where it was not asked for a full walk.
func TestUnsweptIsReadOnceMore(t *testing.T) {
	full := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, stream := range []syncd.Stream{{Name: "rows", Snapshot: true}, {Name: "issues"}} {
		done := State{Sync: "etag-2", Watermark: 42, FullAt: full.AddDate(0, 0, 1)}
		if stream.Snapshot {
			done.Watermark = 0
		}
		stored := Unswept(done, stream, full)
		if !stored.FullAt.Equal(full) {
			t.Errorf("%s: the time of the last full walk is %v, want %v", stream.Name, stored.FullAt, full)
		}
		if stream.Snapshot && stored.Sync != "" {
			t.Errorf("%s: a snapshot kept the mark %q, by which the provider answers that nothing changed", stream.Name, stored.Sync)
		}
		next := Begin(stored, stream, Options{Now: full.AddDate(0, 0, 2)})
		if w := next.Walk; w == nil || !w.Full || w.Cut || w.Again {
			t.Errorf("%s: the next walk is %+v, want a full one from its start", stream.Name, next.Walk)
		}
	}
}
