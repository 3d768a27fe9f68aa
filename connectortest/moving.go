package connectortest

import (
	"time"

	"github.com/syncdhq/syncd"
)

// populateAll makes the items of several pages in each list.
func (p *play) populateAll() {
	for _, at := range p.lists() {
		p.populate(at, p.count)
	}
}

func wholeList(p *play) {
	if p.stream.Order == syncd.Ascending {
		p.sc.look += ". " + orderLook + ". Also " + bound
	}
	p.populateAll()
	p.well(how{})
	p.compare(false)
	p.unmarked()
	if res := p.well(how{}); res.Counters.Inserted+res.Counters.Updated+res.Counters.Deleted > 0 {
		p.fail("what changes in a record without a change at the provider", "a second run over the same lists wrote records: %+v", res.Counters)
	}
	if !p.several && !p.facts.OnePage && p.name != "" {
		p.fail("the fake: how large is a page when the connector asks? World.Limit makes it small. A provider that gives everything at once is Facts.OnePage",
			"a list of %d items came on one page: what happens between two pages cannot be tried", p.longest)
	}
	p.settle()
}

// unmarked reports a stream of which no record has the mark that it should
// have: what is played with marks would be left out.
func (p *play) unmarked() {
	for _, at := range p.lists() {
		it := p.world.live(at)[0]
		if want := p.world.mark(it); want != 0 && !p.traits[at.stream].marked {
			p.wrongMark(it, 0, want)
			panic(stop{})
		}
	}
}

func nothingThere(p *play) {
	p.well(how{})
	p.well(how{})
	p.compare(true)
	for _, at := range p.lists() {
		p.world.create(at)
	}
	p.settle()
}

func ties(p *play) {
	p.populateAll()
	for range 2 {
		now := map[list]time.Time{}
		for _, at := range p.lists() {
			now[at] = p.world.create(at).Changed
		}
		p.well(how{})
		for _, at := range p.lists() {
			p.world.add(at, now[at], now[at])
			if p.finds(at.stream) {
				p.world.change(p.world.live(at)[0].key(), now[at], func(*Item) {})
			}
		}
		p.well(how{})
		p.compare(false)
	}
	p.settle()
}

func manyTies(p *play) {
	p.populateAll()
	now := map[list]time.Time{}
	for _, at := range p.lists() {
		for i := range 2*p.size + 1 {
			if i == 0 {
				now[at] = p.world.create(at).Changed
				continue
			}
			p.world.add(at, now[at], now[at])
		}
	}
	p.well(how{})
	p.compare(false)
	for _, at := range p.lists() {
		p.world.add(at, now[at], now[at])
	}
	p.well(how{})
	p.compare(false)
	p.settle()
}

func late(p *play) {
	p.populateAll()
	for _, at := range p.lists() {
		p.world.create(at)
	}
	p.well(how{})
	grain := p.world.grain(p.name)
	ago := max(p.stream.Overlap-2*time.Second, p.stream.Overlap/2) // behind the watermark, which is 2 s old
	for _, at := range p.lists() {
		cursors, err := p.cursors(at.stream)
		if err != nil {
			p.fail("the suite cannot go on", "%v", err)
			return
		}
		t := cursors[at.part].Watermark.Time().Add(-ago).Truncate(grain)
		if least := cursors[at.part].Watermark.Time().Add(-p.stream.Overlap); t.Before(least) {
			t = t.Add(grain)
		}
		p.world.add(at, t, t)
	}
	p.well(how{})
	p.compare(false)
	p.settle()
}

func changes(p *play) {
	p.populateAll()
	p.well(how{})
	for range 2 {
		p.churn()
		moved := map[itemKey]int{}
		p.wire.before = func(n int) {
			if n < 2 || n > 60 {
				return
			}
			p.shift(moved, func(read, _ []Item) []Item { return Oldest(read) })
			if n%3 == 0 {
				p.shift(moved, func(_, unread []Item) []Item { return Newest(unread) })
			}
			if n%2 == 0 && n < 8 {
				p.shift(moved, func(_, _ []Item) []Item { return nil })
			}
		}
		p.well(how{})
		p.settle()
	}
}

// shift changes an item of each list between two requests: the first that
// choose returns of those that were read already and of those that were not. If
// there is none, or changes are not found, it creates one.
func (p *play) shift(moved map[itemKey]int, choose func(read, unread []Item) []Item) {
	p.tick()
	w := p.world
	for _, at := range p.lists() {
		if !p.finds(at.stream) {
			w.create(at)
			continue
		}
		var read, unread []Item
		for _, it := range w.live(at) {
			switch {
			case moved[it.key()] > 1:
			case p.read(it):
				read = append(read, it)
			default:
				unread = append(unread, it)
			}
		}
		if chosen := choose(read, unread); len(chosen) > 0 {
			moved[chosen[0].key()]++
			w.edit(chosen[0].key())
		} else if len(moved) < 3*p.count {
			moved[w.create(at).key()]++
		}
	}
}

// read reports whether an item as it is now was listed in this run.
func (p *play) read(it Item) bool {
	seen := p.world.seen(it)
	return seen.rev == it.Rev && seen.run == p.world.run
}

// churn makes the next walk one of several pages.
func (p *play) churn() {
	for _, at := range p.lists() {
		p.churnList(at)
	}
	wait(2 * time.Second)
}

func (p *play) churnList(at list) {
	w := p.world
	step := p.step(at.stream)
	n := 3 * p.size
	live := w.live(at)
	wait(time.Duration(n) * step)
	end := w.stamp(at.stream)
	for i := range n {
		t := end.Add(time.Duration(i-n+1) * step)
		if p.finds(at.stream) && len(live) >= n {
			w.change(live[scatter(i, len(live))].key(), t, func(*Item) {})
			continue
		}
		w.add(at, t, t)
	}
}

func deletions(p *play) {
	p.populateAll()
	p.well(how{})
	from := 2
	if !p.several {
		from = 1
	}
	for round := range 2 {
		p.churn()
		p.wire.before = func(int) {
			for _, at := range p.lists() {
				if p.world.facts[at.stream].Deletions == Never || !p.editable(at.stream) {
					continue
				}
				// What slips to the first page is found again by chance, so more than that is read.
				if k := p.turned(at); k == from || k == from+1 {
					p.removeRead(at, round == 1 && k == from)
				}
			}
		}
		p.well(how{})
		p.settle()
	}
}

// turned is how many pages of a list were given out in this run.
func (p *play) turned(at list) int {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.world.turned[at]
}

// removeRead deletes an item that was read in this run: the last one of a
// page, by whose id some lists are followed, or an early one.
func (p *play) removeRead(at list, last bool) {
	p.world.mu.Lock()
	edge := p.world.edge
	p.world.mu.Unlock()
	for _, it := range Oldest(p.world.live(at)) {
		if p.read(it) && last == (it.key() == edge) {
			p.world.remove(it.key())
			return
		}
	}
}

func deleted(p *play) {
	p.populateAll()
	p.well(how{})
	for range 2 {
		for _, at := range p.lists() {
			if p.world.facts[at.stream].Deletions == Never || !p.editable(at.stream) {
				continue
			}
			live := p.world.live(at)
			p.world.remove(live[0].key())
			p.world.remove(live[len(live)/2].key())
		}
		p.settle()
	}
}

func future(p *play) {
	p.populateAll()
	p.well(how{})
	for _, at := range p.lists() {
		t := p.world.stamp(at.stream).AddDate(1, 0, 0)
		p.world.add(at, t, t)
	}
	p.well(how{})
	for range 2 {
		for _, at := range p.lists() {
			p.world.create(at)
			if p.finds(at.stream) {
				p.world.edit(p.world.live(at)[1].key())
			}
		}
		p.well(how{})
		p.compare(false)
	}
	p.settle()
}

func clocksApart(p *play) {
	p.world.skew = time.Hour
	p.populateAll()
	p.well(how{})
	p.churn()
	p.well(how{})
	p.compare(false)
	p.settle()
	wait(3 * time.Hour) // no time comes twice
	p.world.skew = -time.Hour
	p.churn()
	p.well(how{})
	p.compare(false)
	p.settle()
}
