package csv

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/syncdhq/syncd"
)

// A feed fetches pages. What it holds between two of them (open files, a
// download) saves work and changes no result: any page can be asked for by its
// token alone.
type feed struct {
	plan *plan

	mu   sync.Mutex
	walk *walk
	kept *download // of a walk that had to start over, so that it is not downloaded twice
	rows *table    // what rejects of a URL are replayed by
}

// A walk is one reading of all inputs.
type walk struct {
	sync    string   // the request's
	last    memory   // what sync means
	all     []*input // every input there is
	inputs  []*input // those to read, in the order of their names
	sum     string
	content *download

	table *table // the input that was read last
	open  int    // its index
}

// fetch implements Stream.Fetch.
func (f *feed) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, w, err := f.begin(ctx, req)
	if err != nil {
		return syncd.Page{}, err
	}
	page, err := f.page(ctx, w, at)
	if err != nil || page.Next == "" {
		f.drop()
	}
	if errors.Is(err, errChanged) && f.plan.Listing {
		err = fmt.Errorf("%w: %w", err, syncd.ErrResync)
	}
	return page, err
}

// errChanged says that an input is no longer what its checksum was taken of. A
// listing is then read from the start (ErrResync). Increments are not, since
// that would forget which of them have been read: the run fails, and the next
// one reads those that are left.
var errChanged = errors.New("it changed while it was read")

// begin returns the walk of the request and the position in it.
func (f *feed) begin(ctx context.Context, req syncd.Request) (position, *walk, error) {
	var at position
	if req.Page != "" && json.Unmarshal([]byte(req.Page), &at) != nil {
		at = position{} // of no walk
	}
	if w := f.walk; w != nil && req.Page != "" && w.sync == req.Sync && at.in(w, f.plan) {
		return at, w, nil
	}
	f.drop()
	w, err := f.newWalk(ctx, req)
	if err != nil {
		return at, nil, err
	}
	f.walk = w
	switch {
	case req.Page != "" && at.in(w, f.plan):
		return at, w, nil
	case req.Page != "" && f.plan.Listing:
		f.kept, w.content = w.content, nil
		f.drop()
		return at, nil, fmt.Errorf("read %s: it changed since the walk began: %w", f.plan.display(), syncd.ErrResync)
	case w.unchanged():
		f.drop()
		return at, nil, syncd.ErrNotModified
	}
	return position{Reading: f.plan.reading}, w, nil
}

// newWalk takes the checksums of all inputs.
func (f *feed) newWalk(ctx context.Context, req syncd.Request) (*walk, error) {
	w := &walk{sync: req.Sync, last: recall(req.Sync, f.plan.reading)}
	if err := f.load(ctx, w, req.Page == ""); err != nil {
		w.drop()
		return nil, err
	}
	w.inputs = w.all
	if !f.plan.Listing {
		w.inputs = w.unread()
	}
	w.sum = total(w.inputs)
	return w, nil
}

func (f *feed) load(ctx context.Context, w *walk, first bool) error {
	var err error
	if isURL(f.plan.Path) {
		err = f.download(ctx, w, first)
	} else {
		w.all, err = list(f.plan.Path)
	}
	if err != nil {
		return err
	}
	if len(w.all) == 0 && (f.plan.Listing || !f.plan.AllowEmpty) {
		return fmt.Errorf("read %s: there is no file", f.plan.display())
	}
	for _, in := range w.all {
		if in.sum, in.info, err = in.digest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// download fetches the URL, unless a walk that started over has just done so.
func (f *feed) download(ctx context.Context, w *walk, first bool) error {
	var since validity
	if first {
		since = w.last.validity
	}
	w.content, f.kept = f.kept, nil
	if w.content == nil {
		var err error
		if w.content, err = fetchURL(ctx, f.plan.client, f.plan.Path, since); err != nil {
			return err
		}
	}
	w.all = []*input{{name: displayURL(f.plan.Path), temp: w.content}}
	return nil
}

// unread returns the inputs whose content no walk has read, each content once.
func (w *walk) unread() []*input {
	seen := map[digest]bool{}
	for _, d := range w.last.Read {
		seen[d] = true
	}
	var ins []*input
	for _, in := range w.all {
		if d := short(in.sum); !seen[d] {
			seen[d] = true
			ins = append(ins, in)
		}
	}
	return ins
}

// unchanged reports whether a finished walk has read all this.
func (w *walk) unchanged() bool {
	return len(w.inputs) == 0 || w.last.Sum == w.sum
}

// finish checks that what was read is what is there, and returns what the next
// walk is to know.
func (f *feed) finish(ctx context.Context, w *walk, at position) (string, error) {
	if !isURL(f.plan.Path) {
		if err := f.verify(ctx, w); err != nil {
			return "", err
		}
	}
	m := memory{Reading: f.plan.reading}
	// A file whose last line was held back has an end to come: then the next walk
	// reads all of it once more, whatever the checksum.
	whole := len(at.Held) == 0
	if whole && w.content != nil {
		m.validity = w.content.validity
	}
	if !f.plan.Listing {
		m.Read = w.remembered(at.Held)
	} else if whole {
		m.Sum = w.sum
	}
	return encode(m)
}

// remembered returns the checksums that the next walk need not read: those of
// before and of this walk, but for the inputs whose last line was held back.
func (w *walk) remembered(held []int) digests {
	read, present := map[digest]bool{}, map[digest]bool{}
	var order []digest
	for _, in := range w.all {
		present[short(in.sum)] = true
	}
	for _, in := range w.inputs {
		read[short(in.sum)] = true
		order = append(order, short(in.sum))
	}
	for _, i := range held {
		delete(read, short(w.inputs[i].sum))
	}
	return w.last.Read.remember(read, present, order)
}

// verify is errChanged where the inputs are not those that the walk began with.
func (f *feed) verify(ctx context.Context, w *walk) error {
	now, err := list(f.plan.Path)
	if err != nil {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	if f.plan.Listing && !slices.EqualFunc(now, w.all, func(a, b *input) bool { return a.path == b.path }) {
		return fmt.Errorf("read %s: %w: there are other files than before", f.plan.Path, errChanged)
	}
	for _, in := range w.inputs {
		var sum [sha256.Size]byte
		if sum, _, err = in.digest(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || sum != in.sum || in.touched() {
			return changed(in)
		}
	}
	return nil
}

func changed(in *input) error { return fmt.Errorf("read %s: %w", in.name, errChanged) }

func (f *feed) drop() {
	if f.walk != nil {
		f.walk.drop()
		f.walk = nil
	}
}

func (w *walk) drop() {
	if w.table != nil {
		w.table.close()
		w.table = nil
	}
	if w.content != nil {
		w.content.remove()
		w.content = nil
	}
}
