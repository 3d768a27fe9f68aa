package run

import (
	"context"
	"fmt"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
)

// A list that is newest change first moves while it is read: what changes comes
// to its top, and is not met further down any more. A walk that goes on to
// delete by absence looks at the top again first, down to when it began.

// maxLooks is how often the top is looked at, where even that takes so long
// that more changes meanwhile.
const maxLooks = 5

// lookAtTop lists what has come to the top since the walk began. It is false
// where the list changes faster than it can be read.
func (w *walk) lookAtTop(ctx context.Context) (settled bool, err error) {
	since := w.cap
	for range maxLooks {
		if since == 0 {
			return true, nil // the walk was one page: nothing could move under it
		}
		asked := syncd.At(w.providerTime(w.Now()))
		pages, err := w.top(ctx, since)
		if err != nil {
			return false, fmt.Errorf("look at the top again before anything is deleted: %w", err)
		}
		if pages <= 1 {
			return true, nil
		}
		since = asked - asked%syncd.Mark(1e9)
	}
	return false, nil
}

// top lists the records that changed at or after a time, and returns how many
// pages they took. What it reads is for the next walk to ingest.
func (w *walk) top(ctx context.Context, since syncd.Mark) (pages int, err error) {
	guard := cursor.NewGuard()
	for req := (syncd.Request{Part: w.at.part, Since: since}); ; {
		if err := guard.Request(req); err != nil {
			return pages, err
		}
		var page syncd.Page
		if err := guarded(func() (err error) { page, err = w.stream.Fetch(ctx, req); return err }); err != nil {
			return pages, err
		}
		if err := guard.Page(req, page); err != nil {
			return pages, err
		}
		pages++
		w.listing.Add(ingest.Prepare(w.stream, w.at.part, page.Records, nil, w.Now()))
		if page.Next == "" || reaches(page, since) {
			return pages, nil
		}
		req.Page = page.Next
	}
}

// reaches reports whether a page goes down to before a time.
func reaches(page syncd.Page, since syncd.Mark) bool {
	for _, r := range page.Records {
		if r.Err == nil && r.Mark > 0 && r.Mark < since {
			return true
		}
	}
	return false
}
