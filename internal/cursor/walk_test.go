package cursor

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/syncdhq/syncd"
)

// A moving is a provider whose records change while they are listed.
type moving struct {
	now     syncd.Mark
	marks   map[string]syncd.Mark
	order   syncd.Order
	size    int
	offsets bool // page tokens are offsets, which shift under the reader
}

func (m *moving) change(id string) {
	m.now++
	m.marks[id] = m.now
}

// fetch lists what changed at or after since, in the promised order.
func (m *moving) fetch(req syncd.Request) syncd.Page {
	var all []syncd.Record
	for id, mark := range m.marks {
		if m.order == syncd.Descending || mark >= req.Since {
			all = append(all, syncd.Record{ID: id, Mark: mark})
		}
	}
	slices.SortFunc(all, func(a, b syncd.Record) int {
		c := int(a.Mark - b.Mark)
		if c == 0 {
			c, _ = strconv.Atoi(a.ID)
			d, _ := strconv.Atoi(b.ID)
			c -= d
		}
		if m.order == syncd.Descending {
			return -c
		}
		return c
	})
	from, _ := strconv.Atoi(req.Page)
	if !m.offsets && req.Page != "" {
		// A token that names the last record: stable while others move.
		from = len(all)
		mark, id, _ := cut(req.Page)
		for i, r := range all {
			n, _ := strconv.Atoi(r.ID)
			after := r.Mark > mark || r.Mark == mark && n > id
			if m.order == syncd.Descending {
				after = r.Mark < mark || r.Mark == mark && n < id
			}
			if after {
				from = i
				break
			}
		}
	}
	from = min(from, len(all))
	to := min(from+m.size, len(all))
	p := syncd.Page{Records: all[from:to]}
	if to < len(all) {
		p.Next = strconv.Itoa(to)
		if !m.offsets {
			last := all[to-1]
			p.Next = strconv.FormatInt(int64(last.Mark), 10) + "," + last.ID
		}
	}
	return p
}

func cut(token string) (mark syncd.Mark, id int, ok bool) {
	i := slices.Index([]byte(token), ',')
	n, _ := strconv.ParseInt(token[:i], 10, 64)
	id, _ = strconv.Atoi(token[i+1:])
	return syncd.Mark(n), id, true
}

// Whatever changes while a list is read, and wherever the walk is cut and taken
// up again from its stored text, the walks together see every record's last
// state once the provider has come to rest.
func TestNoChangeIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]syncd.Order{syncd.Ascending, syncd.Descending}).Draw(t, "order")
		stream := syncd.Stream{Name: "s", Order: order, Sequence: rapid.Bool().Draw(t, "sequence")}
		m := &moving{marks: map[string]syncd.Mark{}, order: order, size: rapid.IntRange(1, 5).Draw(t, "size"), now: syncd.At(noon)}
		// Offsets are only safe where the list is asked for anew from the mark:
		// in ascending order, and where no page is full of ties. A list of ties
		// that is paged by offsets while it moves cannot be read safely by anyone.
		m.offsets = order == syncd.Ascending && rapid.Bool().Draw(t, "offsets")
		for i := range rapid.IntRange(0, 25).Draw(t, "records") {
			m.marks[strconv.Itoa(i)] = m.now + syncd.Mark(rapid.IntRange(0, 8).Draw(t, "mark"))
			if m.offsets {
				m.marks[strconv.Itoa(i)] = m.now + syncd.Mark(i)
			}
		}
		m.now += 30
		if m.offsets {
			m.size++ // the record at the mark must not fill the page by itself
		}
		edit := func() {
			for range rapid.IntRange(0, 2).Draw(t, "edits") {
				m.change(strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "id")))
			}
		}
		got := map[string]syncd.Mark{}
		var stored State
		for round := range 7 {
			// At last the provider is at rest: one walk ends what was cut, one more
			// sees what changed meanwhile.
			rest := round >= 5
			if stored = walkOnce(t, stream, m, stored, got, edit, rest); rest && stored.Walk != nil {
				t.Fatal("a walk over a provider at rest did not end")
			}
		}
		for id, mark := range m.marks {
			if got[id] != mark {
				t.Fatalf("record %s was last seen at %d, the provider has %d", id, got[id], mark)
			}
		}
	})
}

// walkOnce walks until the end or until the walk is cut.
func walkOnce(t *rapid.T, stream syncd.Stream, m *moving, s State, got map[string]syncd.Mark, edit func(), rest bool) State {
	s = Begin(s, stream, Options{Now: m.now.Time()})
	g := NewGuard()
	for pages := 0; ; pages++ {
		if pages > 500 {
			t.Fatal("the walk does not end")
		}
		if !rest && rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
			text := s.String()
			parsed, err := Parse(text)
			if err != nil || parsed.String() != text {
				t.Fatalf("state %s does not survive storage: %v", text, err)
			}
			return parsed
		}
		req := Next(s, "")
		if err := g.Request(req); err != nil {
			t.Fatal(err)
		}
		asked := m.now
		p := m.fetch(req)
		for _, r := range p.Records {
			got[r.ID] = max(got[r.ID], r.Mark)
		}
		before := s.Watermark
		step := Advance(s, stream, p, asked, false)
		if s = step.State; s.Watermark < before && !step.Broken {
			t.Fatalf("the watermark went back from %d to %d", before, s.Watermark)
		}
		if step.Broken {
			t.Fatalf("the provider keeps its promise, yet the order was found broken: %+v", p)
		}
		if step.Done {
			return s
		}
		if !rest {
			edit()
		}
	}
}

// A walk that is fed nonsense ends, in one way or the other.
func FuzzAdvance(f *testing.F) {
	f.Add([]byte{1, 2, 3}, int64(5), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, mark int64, order uint8) {
		stream := syncd.Stream{Name: "s", Order: syncd.Order(order % 3), Snapshot: order%5 == 0, Sequence: order%7 == 0, Precision: time.Duration(order) * time.Second}
		s := Begin(State{Watermark: syncd.Mark(max(mark, 0))}, stream, Options{Now: noon})
		g := NewGuard()
		for i, b := range raw {
			req := Next(s, "")
			if g.Request(req) != nil {
				return
			}
			p := syncd.Page{Next: string(raw[i:])}
			for n := range int(b % 4) {
				p.Records = append(p.Records, syncd.Record{ID: strconv.Itoa(n), Mark: syncd.Mark(mark >> (b % 63))})
			}
			high := s.Watermark
			step := Advance(s, stream, p, syncd.At(noon), b%2 == 0)
			if step.State.Watermark < high && !step.Broken {
				t.Fatalf("the watermark went back from %d to %d", high, step.State.Watermark)
			}
			if !stream.Sequence && step.State.Watermark > max(high, syncd.At(noon)) {
				t.Fatalf("the watermark %d passed the walk's beginning", step.State.Watermark)
			}
			if step.Done {
				return
			}
			s = step.State
		}
	})
}
