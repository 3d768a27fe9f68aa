package connectortest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// A play is one scenario on one stream.
type play struct {
	*rig
	*proof
	sc     scenario
	rnd    *rand.Rand
	tied   bool // the last random change was in the moment of the one before
	faults []fault
	last   run.Result
}

// stop ends a play whose further findings would say nothing.
type stop struct{}

// A fault is one thing that is wrong, and where it may come from.
type fault struct{ wrong, look string }

// fail notes what is wrong, and what to look at.
func (p *play) fail(look, format string, args ...any) {
	p.faults = append(p.faults, fault{fmt.Sprintf(format, args...), look})
}

// mostAlike are told of faults with the same cause.
const mostAlike = 3

// findings spells the faults, those with the same cause together.
func (p *play) findings() []string {
	var out []string
	told := map[string]bool{}
	for _, f := range p.faults {
		if told[f.look] {
			continue
		}
		told[f.look] = true
		text, n := fmt.Sprintf("the provider: %s", p.sc.story), 0
		for _, other := range p.faults {
			if other.look != f.look {
				continue
			}
			if n++; n <= mostAlike {
				text += "\nwhat is wrong: " + other.wrong
			}
		}
		if n > mostAlike {
			text += fmt.Sprintf("\nand %d more of that kind", n-mostAlike)
		}
		out = append(out, text+"\nlook at: "+f.look)
	}
	return out
}

// lists are the lists that the play is about.
func (p *play) lists() []list {
	var out []list
	for _, x := range p.streams {
		if p.name != "" && x.Name != p.name {
			continue
		}
		for _, part := range p.world.Parts(x.Name) {
			out = append(out, list{x.Name, part})
		}
	}
	return out
}

// requests spells the last requests of the run.
func (p *play) requests() string {
	asked := p.wire.asked()
	const most = 4
	text := ""
	if len(asked) > most {
		text = fmt.Sprintf("... (%d more) ", len(asked)-most)
		asked = asked[len(asked)-most:]
	}
	return text + strings.Join(asked, ", ")
}

// goes runs the source once and ends the play where the suite itself is at its end.
func (p *play) goes(h how) run.Result {
	res, err := p.run(h)
	if err != nil {
		p.fail("the suite cannot go on", "the run could not be made: %v", err)
		panic(stop{})
	}
	begun := p.last.State == "" || p.last.State == store.Done
	p.last = res
	for p.last.State == store.Parked && p.wire.answer == nil {
		wait(time.Until(p.last.Until))
		if p.last, err = p.run(h); err != nil {
			p.fail("the suite cannot go on", "the run after a wait could not be made: %v", err)
			panic(stop{})
		}
	}
	if p.wire.total > mostRequests {
		p.fail("how the walk ends: Page.Next is \"\" on the last page, and no token is given twice",
			"the walk does not end: %d requests, the last of them %s", p.wire.total, p.requests())
		panic(stop{})
	}
	p.secrets()
	if begun && p.wire.before == nil && !p.sc.disorder {
		p.promise()
	}
	return p.last
}

// promise checks that a list that keeps still came in the order that its stream promises.
func (p *play) promise() {
	for _, note := range p.last.Notes {
		if strings.Contains(note, "order as the connector promises") {
			p.fail(orderLook, "the records did not come in the order %q that the stream promises; requests: %s", p.stream.Order, p.requests())
			panic(stop{})
		}
	}
}

// well runs the source once; it must end well.
func (p *play) well(h how) run.Result {
	res := p.goes(h)
	if res.State != store.Done {
		p.fail("the error, and the request before it", "the run ended %s (%v) though the provider answered well; requests: %s", res.State, short(res.Err), p.requests())
		panic(stop{})
	}
	return res
}

// settle lets the provider be quiet, runs twice and holds the table against
// the world; then once more after a full walk.
func (p *play) settle() {
	p.calm()
	p.well(how{})
	p.well(how{})
	p.compare(false)
	p.well(how{full: true})
	p.compare(true)
}

// calm ends all mischief.
func (p *play) calm() {
	p.wire.quiet()
	p.world.quiet()
	p.fetching = nil
}

// populate makes n items of a list that are hours old, and changed in another
// order than they were created in.
func (p *play) populate(at list, n int) []Item {
	w := p.world
	step := p.step(at.stream)
	start := w.stamp(at.stream).Add(-time.Duration(3*n)*step - 2*time.Hour).Truncate(w.grain(at.stream))
	for i := range n {
		t := start.Add(time.Duration(i) * step)
		w.add(at, t, t)
	}
	if !p.editable(at.stream) {
		return w.live(at)
	}
	items := w.live(at)
	for i := range n {
		it := items[scatter(i, n)]
		w.change(it.key(), start.Add(time.Duration(n+i)*step), func(*Item) {})
	}
	return w.live(at)
}

// step is the time between two changes of a list, so long that the first page
// reaches beyond the stream's overlap: what is read again must not mend what was lost.
func (p *play) step(stream string) time.Duration {
	grain := p.world.grain(stream)
	return (p.world.streams[stream].Overlap/2 + grain).Truncate(grain)
}

// editable reports whether items of the stream change.
func (p *play) editable(stream string) bool { return !p.world.streams[stream].Append }

// finds reports whether a walk that is not a full one finds changed items.
func (p *play) finds(stream string) bool { return p.traits[stream].edits }

// scatter is a permutation of 0 to n-1 that keeps few neighbours.
func scatter(i, n int) int {
	step := n*5/8 + 1
	for gcd(step, n) != 1 {
		step++
	}
	return (i*step + n/3) % n
}

// tick lets time pass until what changes next is of another moment, at any
// stream's grain.
func (p *play) tick() {
	grain := time.Millisecond
	for _, at := range p.lists() {
		grain = max(grain, p.world.grain(at.stream))
	}
	wait(grain)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
