package connectortest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// A scenario is something that happens to lists in practice.
type scenario struct {
	name  string
	story string // what the provider did
	look  string // what to look at in the connector where something was lost
	fits  func(*proof) string
	do    func(*play)
	seeds uint64 // it is played so often, each time with another seed

	first    bool // where it fails, the others have nothing more to say
	together bool // it is played with all streams at once as well
	disorder bool // the provider breaks a promise of order that the stream makes
}

// A proof is what is known of the stream to be proved.
type proof struct {
	subject Subject
	name    string // "" is all streams at once
	streams []syncd.Stream
	stream  syncd.Stream
	facts   Facts
	trait   // of the stream
	traits  map[string]trait

	size    int  // elements on a page
	longest int  // of the lists that were tried
	several bool // that took several pages
	count   int  // items of each list that make several pages
	broken  bool // not even a quiet list can be read
}

// A trait is what a stream is seen to do.
type trait struct {
	tokens  bool // it has sync tokens
	marked  bool // its records have marks
	edits   bool // a walk that is not a full one finds what has changed
	objects bool // its elements are JSON objects
}

// limit is how many elements World.Limit allows on a page.
const limit = 4

// newProof reads quiet lists until they are long enough for several pages.
func newProof(t *testing.T, s Subject, stream string) *proof {
	t.Helper()
	p := &proof{subject: s, name: stream, facts: s.Streams[stream], size: limit, count: 14, traits: map[string]trait{}}
	var err error
	if p.streams, err = s.streams(); err != nil {
		t.Fatal(err)
	}
	for _, x := range p.streams {
		if x.Name == stream {
			p.stream = x
		}
	}
	for _, n := range []int{14, 260, 3100} {
		if p.learn(t, n); p.several || p.broken || p.facts.OnePage || stream == "" {
			break
		}
	}
	p.trait = p.traits[stream]
	return p
}

// learn reads lists of n items each, and looks at what comes.
func (p *proof) learn(t *testing.T, n int) {
	look := scenario{do: func(pl *play) {
		for _, at := range pl.lists() {
			pl.populate(at, n)
		}
		res, err := pl.run(how{})
		p.broken = err != nil || res.State != store.Done
		p.size, p.longest, p.several = pl.world.longest, n, pl.world.longest < n
		if p.count = 14; p.several {
			p.count = 3*p.size + p.size/2
		}
		for _, x := range p.streams {
			p.traits[x.Name] = pl.look(x)
		}
	}}
	p.play(t, look)
}

// look returns what the calls of Fetch in a run tell of a stream.
func (p *play) look(x syncd.Stream) trait {
	out := trait{objects: true}
	for _, c := range p.calls {
		if c.stream != x.Name {
			continue
		}
		out.tokens = out.tokens || c.page.Sync != ""
		for _, r := range c.page.Records {
			out.marked = out.marked || r.Mark != 0
		}
	}
	for k, seen := range p.world.shown {
		if k.stream == x.Name && !strings.HasPrefix(strings.TrimSpace(seen.text), "{") {
			out.objects = false
		}
	}
	a := Item{Stream: x.Name, Created: epoch, Changed: epoch, Seq: 1, Rev: 1}
	b := Item{Stream: x.Name, Created: epoch, Changed: epoch.Add(time.Hour), Seq: 2, Rev: 2}
	moves := p.world.mark(a) != p.world.mark(b)
	out.edits = !x.Append && (moves || x.Snapshot || out.tokens || !out.marked)
	return out
}

// scenarios are those that fit, in the order in which they tell most.
func (p *proof) scenarios() []scenario {
	if p.broken {
		return all[:1]
	}
	var out []scenario
	for _, sc := range all {
		if p.name == "" && (!sc.together || p.excepted(sc.name)) || sc.fits != nil && sc.fits(p) != "" {
			continue
		}
		out = append(out, sc)
	}
	return out
}

// excepted reports whether a scenario is an exception of any stream.
func (p *proof) excepted(name string) bool {
	for _, facts := range p.subject.Streams {
		if _, ok := facts.Except[name]; ok {
			return true
		}
	}
	return false
}

// left says which scenarios do not fit, and why.
func (p *proof) left() []string {
	var out []string
	for _, sc := range all {
		if sc.fits == nil || p.name == "" {
			continue
		}
		if why := sc.fits(p); why != "" {
			out = append(out, sc.name+": "+why)
		}
	}
	return out
}

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

// play takes the stream through a scenario and returns what it found.
func (p *proof) play(t *testing.T, sc scenario) (findings []string) {
	t.Helper()
	if sc.seeds == 0 {
		return p.excuse(sc, p.once(t, sc, 0))
	}
	from, to := uint64(1), sc.seeds
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q is not a number", seedVariable, text)
		}
		from, to = seed, seed
	}
	for seed := from; seed <= to; seed++ {
		for _, f := range p.once(t, sc, seed) {
			findings = append(findings, fmt.Sprintf("%s\nto play this again: %s=%d go test -run '%s'", f, seedVariable, seed, t.Name()))
		}
		if len(findings) > 0 {
			break
		}
	}
	return p.excuse(sc, findings)
}

// seedVariable chooses the one seed of the scenarios that are random.
const seedVariable = "CONNECTORTEST_SEED"

// once plays a scenario in a bubble.
func (p *proof) once(t *testing.T, sc scenario, seed uint64) (findings []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := newRig(p.subject, p.streams, p.name, limit)
		if err != nil {
			t.Fatal(err)
		}
		pl := &play{rig: r, proof: p, sc: sc, rnd: rand.New(rand.NewPCG(seed, 0))}
		defer func() {
			if x := recover(); x != nil {
				if _, ok := x.(stop); !ok {
					panic(x)
				}
			}
			if text := r.wire.panicked; text != "" {
				findings = append(findings, "the fake panicked: "+text)
			}
			findings = append(findings, pl.findings()...)
		}()
		sc.do(pl)
	})
	return findings
}

// excuse holds the findings against the exceptions of the subject.
func (p *proof) excuse(sc scenario, findings []string) []string {
	why, excepted := p.facts.Except[sc.name]
	switch {
	case !excepted:
		return findings
	case why == "":
		return append(findings, fmt.Sprintf("the exception of %q has no reason", sc.name))
	case len(findings) == 0:
		return []string{fmt.Sprintf("the connector passes %q: take it out of Facts.Except", sc.name)}
	}
	return nil
}

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
			panic(stop{})
		}
	}
	if p.wire.total > mostRequests {
		p.fail("how the walk ends: Page.Next is \"\" on the last page, and no token is given twice",
			"the walk does not end: %d requests, the last of them %s", p.wire.total, p.requests())
		panic(stop{})
	}
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
