package connectortest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
)

// compare holds the table against the world, after a full walk as well if full
// is set: what only such a walk can find is not asked for before.
func (p *play) compare(full bool) {
	stored := map[string]memory.Record{}
	for _, r := range p.store.Records(owner) {
		stored[r.ID] = r
	}
	known := map[string]Item{}
	for _, at := range p.lists() {
		for _, it := range p.world.all(at) {
			if !p.world.is(p.world.hidden, it) {
				known[p.externalID(it)] = it
			}
		}
	}
	p.strangers(stored, known)
	for _, at := range p.lists() {
		for _, it := range p.world.all(at) {
			rec, found := stored[p.externalID(it)]
			switch {
			case p.world.is(p.world.hidden, it), p.world.spoiled(it):
			case it.Deleted:
				p.gone(it, rec, found, full)
			default:
				p.there(it, rec, found, full)
			}
		}
	}
	p.rejects()
	p.deletions(known)
	p.watermarks()
	if len(p.faults) > 0 {
		panic(stop{})
	}
}

func (p *play) externalID(it Item) string {
	id := it.ID
	if f := p.subject.Streams[it.Stream].RecordID; f != nil {
		id = f(it)
	}
	return ingest.Prefix(it.Stream, it.Part) + id
}

func (w *World) is(set map[itemKey]bool, it Item) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return set[it.key()]
}

func (w *World) spoiled(it Item) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.poisoned[it.key()]
	return ok
}

func (w *World) seen(it Item) sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown[it.key()]
}

// there checks a record that the provider has.
func (p *play) there(it Item, rec memory.Record, found, full bool) {
	w := p.world
	seen := w.seen(it)
	finds := p.finds(it.Stream) || full
	switch {
	case !found && seen.rev == 0:
		p.fail(p.sc.look, "%s was never listed to the connector, and is lost; the last run asked: %s", w.name(it), p.requests())
	case !found:
		p.fail("whether Fetch hands on every element of each answer, and under the provider's own id. Else: "+p.sc.look,
			"%s was listed by the provider and is not in the table", w.name(it))
	case rec.Deleted:
		p.fail("Record.Deleted, and whether a walk that lists everything can miss what is there",
			"%s is stored as deleted, and the provider has it", w.name(it))
	case finds && seen.rev != it.Rev:
		p.fail(p.sc.look, "%s was not listed to the connector since it changed, so that the table has an old state of it; the last run asked: %s", w.name(it), p.requests())
	default:
		p.state(it, rec, seen, finds)
	}
}

// state checks a record's data and mark.
func (p *play) state(it Item, rec memory.Record, seen sight, finds bool) {
	w := p.world
	if p.append(it.Stream) && p.given(string(rec.Data)) {
		return // the first copy stays, as it was then
	}
	want := seen.text
	if f := p.subject.Streams[it.Stream].Data; f != nil {
		want = f(want)
	}
	if string(rec.Data) != want && p.earlier(rec.Data) {
		p.fail("whether Fetch hands on every element of each answer; and Record.Mark, by which a later state wins over an earlier one. Else: "+p.sc.look,
			"%s was listed by the provider as it is now, and the table has an earlier state of it: %s", w.name(it), clip(rec.Data))
		return
	}
	if string(rec.Data) != want {
		p.fail("Record.Data, which is the provider's bytes, untouched; if it is a part of the element on purpose, say so in Facts.Data",
			"%s is stored as %s, and the provider listed it as %s", w.name(it), clip(rec.Data), clip([]byte(want)))
		return
	}
	mark := w.mark(it)
	if got := syncd.Mark(rec.Mark); finds && got != mark && !(got == 0 && p.free(it.Stream)) {
		p.wrongMark(it, got, mark)
	}
}

// earlier reports whether data is an element as it was listed before.
func (p *play) earlier(data []byte) bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.world.past[string(data)]
}

// given reports whether a text was given out as an element that was spoilt.
func (p *play) given(text string) bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	_, ok := p.world.bad[text]
	return ok
}

// free reports whether records of the stream may go without a mark.
func (p *play) free(stream string) bool {
	x := p.world.streams[stream]
	return x.Order == syncd.Unordered
}

func (p *play) append(stream string) bool { return p.world.streams[stream].Append }

func (p *play) wrongMark(it Item, got, want syncd.Mark) {
	sequence := p.world.streams[it.Stream].Sequence
	look := "which field becomes the mark, and how it is parsed; if marks are of something else on purpose, say so in Facts.Mark"
	switch d := want - got; {
	case !sequence && got > 0 && d > 0 && d < 1e9:
		look = "whether the mark is cut off to whole seconds: marks are exact, only the bound of a request is rounded, and towards the past"
	case !sequence && got > 0 && (d%(15*60*1e9) == 0 && d != 0):
		look = "the time zone that the provider's time is read in"
	case got == 0:
		look = "why the record has no mark: the field's name in the struct, its type"
	}
	p.fail(look, "%s has the mark %s, want %s", p.world.name(it), spellMark(got, sequence), spellMark(want, sequence))
}

func spellMark(m syncd.Mark, sequence bool) string {
	if m == 0 {
		return "0 (none)"
	}
	return m.Format(sequence)
}

// gone checks a record that the provider has deleted.
func (p *play) gone(it Item, rec memory.Record, found, full bool) {
	x := p.world.streams[it.Stream]
	if !found || rec.Deleted || x.Append {
		return
	}
	told := p.subject.Streams[it.Stream].Deletions == Told
	switch {
	case told && (p.finds(it.Stream) || full):
		p.fail("Record.Deleted: by which field does the provider say that a record is gone?",
			"%s was deleted, the provider says so, and the table still has it live; the last run asked: %s", p.world.name(it), p.requests())
	case (full || x.Snapshot) && !x.Increments:
		p.fail("whether a walk from Since 0 lists everything there is and nothing else, and comes to its end without an error",
			"%s was deleted, a complete walk did not list it, and the table still has it live", p.world.name(it))
	}
}

// strangers reports records that the provider does not have. They say more
// than the lack of others does.
func (p *play) strangers(stored map[string]memory.Record, known map[string]Item) {
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		if _, ok := known[id]; ok || stored[id].Deleted {
			continue
		}
		for other, it := range known {
			if tail := lastPart(id); sameFloat(lastPart(other), tail) {
				p.fail("how ids are decoded: one above 2^53 does not survive a float64. Decode into syncd.ID, never into any or float64",
					"record %s came out as %s", it.ID, tail)
				panic(stop{})
			}
		}
		p.fail("what becomes the record's id, and from which part of the answer; if ids are other than Item.ID on purpose, say so in Facts.RecordID",
			"the table has %s, which the provider does not have: %s", id, clip(stored[id].Data))
	}
	if len(p.faults) > 0 {
		panic(stop{})
	}
}

func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// sameFloat reports whether two spellings of large numbers are one float64.
func sameFloat(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && a != b && x == y
}

// setAside returns the rejects, with their bytes.
func (p *play) setAside() []store.Reject {
	all, err := p.store.Rejects(context.Background(), store.RejectFilter{Resolved: true})
	for i := range all {
		if err == nil {
			all[i], err = p.store.Reject(context.Background(), all[i].ID)
		}
	}
	if err != nil {
		p.fail("the suite cannot go on", "rejects: %v", err)
		panic(stop{})
	}
	return all
}

// rejects checks that only poisoned elements were set aside.
func (p *play) rejects() {
	all := p.setAside()
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, r := range all {
		if _, ok := p.world.bad[string(r.Raw)]; !ok {
			p.fail("why the record was refused: the types of the struct that elements are decoded into, and Record.Err",
				"an element with nothing wrong in it was set aside (%s: %s): %s", r.Reason, r.Detail, clip(r.Raw))
			return
		}
	}
}

// deletions checks that nothing was deleted that the provider had not deleted.
func (p *play) deletions(known map[string]Item) {
	times := map[string]int{}
	for _, c := range p.store.Changes(owner) {
		if c.Kind == "deleted" {
			times[c.ID]++
		}
	}
	for id, n := range times {
		it, ok := known[id]
		p.world.mu.Lock()
		by := p.world.deleted[it.key()]
		p.world.mu.Unlock()
		if ok && n > by {
			p.fail("whether a walk over everything can come to its end without having listed everything: pages that move while they are read, an error taken for the end",
				"%s was deleted in the table %d times, by the provider %d times", p.world.name(it), n, by)
		}
	}
}

// secrets checks that a run handed out the source's credentials nowhere: what
// Fetch returns is stored, or shown.
func (p *play) secrets() {
	texts := append([]string{fmt.Sprint(p.last.Err)}, p.last.Notes...)
	for _, c := range p.calls {
		texts = append(texts, fmt.Sprint(c.err), c.page.Next, c.page.Sync, c.page.Fingerprint)
		texts = append(texts, c.page.Notes...)
		for _, r := range c.page.Records {
			texts = append(texts, r.ID, string(r.Data), string(r.Raw), fmt.Sprint(r.Err))
		}
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			p.fail("page tokens and errors, which are stored: neither may hold what signs a request",
				"the credentials are in %s", strings.ReplaceAll(clip([]byte(text)), secret, "[token]"))
			panic(stop{})
		}
	}
}

// watermarks checks that no cursor is ahead of the provider's clock.
func (p *play) watermarks() {
	for _, at := range p.lists() {
		cursors, err := p.cursors(at.stream)
		if err != nil {
			p.fail("the suite cannot go on", "%v", err)
			return
		}
		c := cursors[at.part]
		if now := p.world.Now(); !p.world.streams[at.stream].Sequence && c.Watermark.Time().After(now) {
			p.fail("Record.Mark", "the watermark is at %s, the provider's clock at %s", clock(c.Watermark.Time()), clock(now))
		}
	}
}

func clip(b []byte) string {
	if b = bytes.TrimSpace(b); len(b) > 200 {
		return string(b[:200]) + "..."
	}
	return string(b)
}
