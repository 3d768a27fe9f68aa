package connectortest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store"
)

// sameAgain makes each call of Fetch once more, later, in another order and in
// another process: it must ask and answer the same.
func sameAgain(p *play) {
	p.populateAll()
	p.well(how{})
	calls := p.calls
	p.again(calls)
	if len(p.faults) > 0 {
		return
	}
	p.churn()
	p.well(how{})
	p.again(p.calls)
	p.settle()
}

func (p *play) again(calls []call) {
	wait(time.Hour)
	streams, _, err := p.of.open(p.wire)
	if err != nil {
		p.fail("the suite cannot go on", "%v", err)
		return
	}
	byName := map[string]syncd.Stream{}
	for _, x := range streams {
		byName[x.Name] = x
		if x.Parts == nil || p.only != "" && x.Name != p.only {
			continue
		}
		if _, err := x.Parts(context.Background()); err != nil {
			p.fail("Stream.Parts", "Parts, called once more: %v", err)
			return
		}
	}
	for i := len(calls) - 1; i >= 0; i-- {
		was := calls[i]
		p.wire.start()
		is := p.call(context.Background(), byName[was.stream], was.req)
		if was.err != nil || is.err != nil {
			if fmt.Sprint(was.err) != fmt.Sprint(is.err) {
				p.fail("what Fetch keeps in a variable from one call to the next", "%s: first it was %s, then %s", spellRequest(was), outcome(was), outcome(is))
				return
			}
			continue
		}
		if p.different(was, is) {
			return
		}
	}
}

// different reports what two calls with one request do not have in common.
func (p *play) different(was, is call) bool {
	const kept = "what Fetch keeps in a variable from one call to the next: all that it needs must be in the Request, and Page.Next is kept between processes"
	switch {
	case len(was.asked) > 0 && len(is.asked) > 0 && !slices.Equal(was.asked, is.asked):
		p.fail("whether Fetch uses the clock (time.Now) or keeps something in a variable from one call to the next: a request follows from its syncd.Request alone",
			"for the same %s, it first asked %s, and an hour later %s", spellRequest(was), was.asked, is.asked)
	case was.page.Next != is.page.Next || was.page.Sync != is.page.Sync:
		p.fail(kept, "for the same %s, it first went on with Next %q and Sync %q, and then with %q and %q", spellRequest(was), was.page.Next, was.page.Sync, is.page.Next, is.page.Sync)
	case !slices.EqualFunc(was.page.Records, is.page.Records, sameRecord):
		p.fail(kept+"; whether a mark or an id is made of the clock or at random", "for the same %s and the same answer, it returned other records: first %s, then %s",
			spellRequest(was), spellRecords(was.page.Records), spellRecords(is.page.Records))
	case is.took > time.Duration(len(is.asked))*latency || was.took > time.Duration(len(was.asked))*latency:
		p.fail("whether Fetch sleeps, paces or repeats requests itself: all of that is the engine's",
			"for %s, it took %s, of which the provider took %s", spellRequest(was), max(is.took, was.took), time.Duration(len(is.asked))*latency)
	default:
		return false
	}
	return true
}

func sameRecord(a, b syncd.Record) bool {
	return a.ID == b.ID && a.Mark == b.Mark && a.Deleted == b.Deleted && string(a.Data) == string(b.Data) && fmt.Sprint(a.Err) == fmt.Sprint(b.Err)
}

func spellRequest(c call) string {
	return fmt.Sprintf("Request{Part: %q, Since: %d, Sync: %q, Page: %q}", c.req.Part, c.req.Since, c.req.Sync, c.req.Page)
}

func spellRecords(records []syncd.Record) string {
	text := fmt.Sprintf("%d records", len(records))
	for i, r := range records {
		if i == 3 {
			return text + " ..."
		}
		text += fmt.Sprintf(", %s of %s", r.ID, r.Mark.Format(false))
	}
	return text
}

func outcome(c call) string {
	if c.err != nil {
		return short(c.err)
	}
	return spellRecords(c.page.Records)
}

// replay tries elements as if they had been set aside.
func replay(p *play) {
	p.populateAll()
	p.well(how{})
	calls := p.calls
	streams, _, err := p.of.open(p.wire)
	if err != nil {
		p.fail("the suite cannot go on", "%v", err)
		return
	}
	for _, x := range streams {
		if x.Name != p.name {
			continue
		}
		for _, c := range calls {
			for _, was := range c.page.Records {
				if c.stream != x.Name {
					continue
				}
				raw := []byte(was.Data)
				if was.Raw != nil {
					raw = was.Raw
				}
				is, err := x.Replay(context.Background(), raw)
				if err != nil || !sameRecord(was, is) {
					p.fail("Stream.Replay, which must make of an element what Fetch makes of it",
						"%s became record %q of %s by Fetch, and %q of %s (%v) by Replay", clip(raw), was.ID, was.Mark.Format(false), is.ID, is.Mark.Format(false), err)
					return
				}
			}
		}
	}
}

// crashes kills the process at each of its commits in turn.
func crashes(p *play) {
	p.populateAll()
	for _, after := range []bool{false, true} {
		for k := 1; k <= 15; k++ {
			p.nudge()
			res := p.goes(how{kill: k, after: after})
			if res.State == store.Failed {
				p.fail("the error, and the request before it", "a run that went on after a crash ended failed: %s; requests: %s", short(res.Err), p.requests())
				panic(stop{})
			}
			if res.State != store.Abandoned {
				break
			}
		}
		p.settle()
		p.churn()
	}
	p.settle()
}

// budgets ends each run after one page.
func budgets(p *play) {
	p.populateAll()
	for range 2 {
		for i := 0; p.goes(how{budget: 1}).State == store.Partial; i++ {
			if i > 400 {
				p.fail("how the walk ends", "%d runs of one page each did not come to the end of the lists", i)
				panic(stop{})
			}
			if i < 12 {
				p.nudge()
			}
		}
		if p.last.State != store.Done {
			p.fail("the error, and the request before it", "a run that went on with the page of the run before ended %s: %s; requests: %s", p.last.State, short(p.last.Err), p.requests())
			panic(stop{})
		}
		p.settle()
		p.churn()
	}
	p.settle()
}

// nudge changes one item of each list that was read, and creates one.
func (p *play) nudge() {
	for _, at := range p.lists() {
		if !p.finds(at.stream) {
			p.world.create(at)
			continue
		}
		for _, it := range Oldest(p.world.live(at)) {
			if p.world.seen(it).rev == it.Rev {
				p.world.edit(it.key())
				break
			}
		}
	}
}

// random changes items and breaks runs off at random.
func random(p *play) {
	p.populateAll()
	for range 3 + p.rnd.IntN(5) {
		for range p.rnd.IntN(8) {
			p.mutate()
		}
		p.wire.before = func(n int) {
			for i := 0; i < 4 && n < 100 && p.rnd.IntN(3) == 0; i++ {
				p.mutate()
			}
		}
		k := 1 + p.rnd.IntN(6)
		h := how{}
		switch p.rnd.IntN(7) {
		case 0:
			h.kill = k
		case 1:
			h.kill, h.after = k, true
		case 2:
			h.budget = k
		case 3:
			// What moves to the front of a list, newest first, after the front
			// was read is not listed by that walk: a full one takes it for gone.
			h.full = p.name != "" && p.stream.Order != syncd.Descending
		case 4:
			p.wire.answer = p.refuseFrom(k, 500, new(int))
		case 5:
			if p.tokens {
				p.world.forget()
			}
		}
		p.goes(h)
		p.calm()
	}
	p.settle()
}

// mutate changes one item of one list. Few items share a moment: more ties than
// a page holds, that change while they are read, are beyond anybody's means.
func (p *play) mutate() {
	lists := p.lists()
	at := lists[p.rnd.IntN(len(lists))]
	w := p.world
	if p.tied = !p.tied && p.size > 2 && p.rnd.IntN(4) == 0; !p.tied {
		wait(w.grain(at.stream))
	}
	facts := w.facts[at.stream]
	live := w.live(at)
	_, excepted := facts.Except["deletions while it is read"]
	switch n := p.rnd.IntN(6); {
	case n == 0 || len(live) < 3 || !p.finds(at.stream) || !p.editable(at.stream):
		w.create(at)
	case n == 1 && facts.Deletions != Never && !excepted:
		w.remove(live[p.rnd.IntN(len(live))].key())
	default:
		w.edit(live[p.rnd.IntN(len(live))].key())
	}
}
