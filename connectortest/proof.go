package connectortest

import (
	"fmt"
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
	// disorder says that the fake's promise of order is broken on purpose.
	disorder bool
}

// A proof is what is known of the stream to be proved.
type proof struct {
	subject Subject
	name    string // "" is all streams at once
	streams []syncd.Stream
	stream  syncd.Stream
	facts   Facts
	size    int  // elements on a page
	pages   int  // of the fake: how many elements it gives out at once, at most
	count   int  // items of each part that make several pages
	tokens  bool // the provider has sync tokens
	marked  bool // records have marks
	edits   bool // a walk that is not a full one finds what has changed
	broken  bool // not even a quiet list can be read
}

// limit is how many elements World.Limit allows on a page.
const limit = 4

// newProof reads quiet lists until they are long enough for several pages.
func newProof(t *testing.T, s Subject, stream string) *proof {
	t.Helper()
	p := &proof{subject: s, name: stream, facts: s.Streams[stream], size: limit, count: 11}
	var err error
	if p.streams, err = s.streams(); err != nil {
		t.Fatal(err)
	}
	for _, x := range p.streams {
		if x.Name == stream {
			p.stream = x
		}
	}
	for _, n := range []int{11, 260, 3100} {
		if p.learn(t, n) || p.facts.OnePage {
			break
		}
	}
	return p
}

// learn reads a list of n items in each part and returns whether it has taken
// several pages.
func (p *proof) learn(t *testing.T, n int) bool {
	several := false
	look := scenario{do: func(pl *play) {
		for _, at := range pl.lists() {
			pl.populate(at, n)
		}
		res, err := pl.run(how{})
		p.broken = err != nil || res.State != store.Done
		several = pl.world.longest < n
		if p.size = pl.world.longest; several {
			p.count = 2*p.size + p.size/2 + 1
		}
		for _, c := range pl.calls {
			p.tokens = p.tokens || c.page.Sync != ""
			for _, r := range c.page.Records {
				p.marked = p.marked || r.Mark != 0
			}
		}
	}}
	p.play(t, look)
	a := Item{Stream: p.name, Created: epoch, Changed: epoch, Seq: 1, Rev: 1}
	b := Item{Stream: p.name, Created: epoch, Changed: epoch.Add(time.Hour), Seq: 2, Rev: 2}
	w := &World{facts: p.subject.Streams, streams: map[string]syncd.Stream{p.name: p.stream}}
	moves := w.mark(a) != w.mark(b)
	p.edits = !p.stream.Append && (moves || p.stream.Snapshot || p.tokens || !p.marked)
	return several || p.broken
}

// scenarios are those that fit, in the order in which they tell most.
func (p *proof) scenarios() []scenario {
	if p.broken {
		return all[:1]
	}
	var out []scenario
	for _, sc := range all {
		if sc.fits == nil || sc.fits(p) == "" {
			out = append(out, sc)
		}
	}
	return out
}

// left says which scenarios do not fit, and why.
func (p *proof) left() []string {
	var out []string
	for _, sc := range all {
		if sc.fits == nil {
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
	sc       scenario
	findings []string
	last     run.Result
}

// stop ends a play whose further findings would say nothing.
type stop struct{}

// mostFindings are told of one scenario.
const mostFindings = 4

// play takes the stream through a scenario, in a bubble, and returns what it found.
func (p *proof) play(t *testing.T, sc scenario) (findings []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := newRig(p.subject, p.streams, p.name, limit)
		if err != nil {
			t.Fatal(err)
		}
		pl := &play{rig: r, proof: p, sc: sc}
		defer func() {
			if x := recover(); x != nil {
				if _, ok := x.(stop); !ok {
					panic(x)
				}
			}
			if text := r.wire.panicked; text != "" {
				pl.findings = append([]string{"the fake panicked: " + text}, pl.findings...)
			}
			findings = pl.findings
		}()
		sc.do(pl)
	})
	return p.excuse(sc, findings)
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

// fail notes what is wrong, and what to look at.
func (p *play) fail(look, format string, args ...any) {
	text := fmt.Sprintf("the provider: %s\n\twhat is wrong: %s\n\tlook at: %s", p.sc.story, fmt.Sprintf(format, args...), look)
	switch n := len(p.findings); {
	case n < mostFindings:
		p.findings = append(p.findings, text)
	case n == mostFindings:
		p.findings = append(p.findings, "and more of that kind")
	}
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
	p.promise()
	return p.last
}

// promise checks that the stream came in the order that it promises.
func (p *play) promise() {
	if p.sc.disorder {
		return
	}
	for _, note := range p.last.Notes {
		if strings.Contains(note, "order as the connector promises") {
			p.fail("Stream.Order: which order the request asks for, and whether the list is in that order by the very times that become marks, over all pages; "+
				"Ascending also promises that what is older than req.Since is left out. Promise Unordered if the provider does not",
				"the records did not come in the order %q that the stream promises; requests: %s", p.stream.Order, p.requests())
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

func short(err error) string {
	text := fmt.Sprint(err)
	if len(text) > 600 {
		text = text[:600] + "..."
	}
	return text
}

// settle lets the provider be quiet, runs twice and holds the table against
// the world; then once more after a full walk.
func (p *play) settle() {
	p.wire.quiet()
	p.well(how{})
	p.well(how{})
	p.compare(false)
	p.well(how{full: true})
	p.compare(true)
}

// populate makes n items of a list that are hours old, and changed in another
// order than they were created in.
func (p *play) populate(at list, n int) []Item {
	w := p.world
	grain := w.grain(at.stream)
	start := w.stamp(at.stream).Add(-time.Duration(3*n+7200) * max(grain, time.Second))
	for i := range n {
		t := start.Add(time.Duration(i) * grain)
		w.add(at, t, t)
	}
	if !p.editable(at.stream) {
		return w.live(at)
	}
	items := w.live(at)
	for i := range n {
		it := items[scatter(i, n)]
		w.change(it.key(), start.Add(time.Duration(n+i)*grain), func(*Item) {})
	}
	return w.live(at)
}

// editable reports whether items of the stream change.
func (p *play) editable(stream string) bool {
	for _, x := range p.streams {
		if x.Name == stream {
			return !x.Append
		}
	}
	return false
}

// scatter is a permutation of 0 to n-1 that keeps few neighbours.
func scatter(i, n int) int {
	step := n*5/8 + 1
	for gcd(step, n) != 1 {
		step++
	}
	return (i*step + n/3) % n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
