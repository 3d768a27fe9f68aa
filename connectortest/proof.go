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
	paged   bool // pages are asked for by tokens
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
	p.broken = true // until the lists were read
	look := scenario{disorder: true, do: func(pl *play) {
		for _, at := range pl.lists() {
			pl.populate(at, n)
		}
		p.broken = pl.goes(how{}).State != store.Done
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
		out.paged = out.paged || c.req.Page != ""
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
