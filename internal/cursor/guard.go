package cursor

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/syncdhq/syncd"
)

// MaxEmpty is how many pages without a record may follow one another.
const MaxEmpty = 1000

// A Guard ends a walk that does not get anywhere: a request or token that
// repeats (A,A as well as A,B,A), a page that repeats, pages without end and
// without a record. It lives as long as the run and remembers sixteen bytes per
// page. Use NewGuard.
type Guard struct {
	seed  maphash.Seed
	asked map[uint64]struct{}
	came  map[uint64]struct{} // the pages, by their records and the bound they were asked with
	empty int
}

// NewGuard returns a guard for one walk.
func NewGuard() *Guard {
	return &Guard{seed: maphash.MakeSeed(), asked: map[uint64]struct{}{}, came: map[uint64]struct{}{}}
}

// A LoopError says how a walk went in circles.
type LoopError struct{ What string }

func (e *LoopError) Error() string { return e.What }

// Request refuses a request that this walk has made before.
func (g *Guard) Request(req syncd.Request) error {
	var h maphash.Hash
	h.SetSeed(g.seed)
	for _, text := range []string{req.Part, req.Sync, req.Page} {
		writePart(&h, text)
	}
	writeInt(&h, int64(req.Since))
	if _, ok := g.asked[h.Sum64()]; ok {
		if req.Page == "" {
			return &LoopError{"the same page was asked for twice: the list does not move on"}
		}
		return &LoopError{fmt.Sprintf("the provider gave the page token %s for the second time", clip(req.Page))}
	}
	g.asked[h.Sum64()] = struct{}{}
	return nil
}

// Page refuses a page that brings the records of one before under another
// token, in the same state (A,A as well as A,B,A, where pages have numbers that
// never repeat), and too many empty ones in a row.
func (g *Guard) Page(req syncd.Request, page syncd.Page) error {
	if len(page.Records) == 0 {
		if g.empty++; g.empty > MaxEmpty {
			return &LoopError{fmt.Sprintf("%d pages in a row had no record", g.empty)}
		}
		return nil
	}
	g.empty = 0
	var h maphash.Hash
	h.SetSeed(g.seed)
	writeInt(&h, int64(req.Since)) // a new bound may bring what the old one did
	for _, r := range page.Records {
		writePart(&h, r.ID)
		writeInt(&h, int64(r.Mark))
		writePart(&h, r.Place)
		if r.ID == "" {
			h.Write(r.Data)
			h.Write(r.Raw)
		}
	}
	_, same := g.came[h.Sum64()]
	g.came[h.Sum64()] = struct{}{}
	if same && req.Page != "" {
		return &LoopError{"the provider gave the same page again under another token"}
	}
	return nil
}

// Reset forgets what was asked: the walk starts over.
func (g *Guard) Reset() {
	clear(g.asked)
	clear(g.came)
}

func writePart(h *maphash.Hash, text string) {
	writeInt(h, int64(len(text)))
	h.WriteString(text)
}

func writeInt(h *maphash.Hash, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func clip(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%q...", s[:60])
	}
	return fmt.Sprintf("%q", s)
}
