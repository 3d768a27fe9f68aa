package cursor

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

var (
	ascending  = syncd.Stream{Name: "s", Order: syncd.Ascending}
	descending = syncd.Stream{Name: "s", Order: syncd.Descending}
	unordered  = syncd.Stream{Name: "s"}
	snapshot   = syncd.Stream{Name: "s", Snapshot: true}
)

// noon is the moment at which the walks of these tests begin.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func at(clock string) syncd.Mark {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return syncd.At(time.Date(2026, 6, 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC))
}

func page(next string, clocks ...string) syncd.Page {
	p := syncd.Page{Next: next}
	for _, c := range clocks {
		var m syncd.Mark
		if c != "" {
			m = at(c)
		}
		p.Records = append(p.Records, syncd.Record{ID: c, Mark: m})
	}
	return p
}

func TestWatermark(t *testing.T) {
	tests := []struct {
		name   string
		stream syncd.Stream
		from   string // the watermark before the walk
		pages  []syncd.Page
		want   string // the watermark after the pages
		next   syncd.Request
		done   bool
	}{
		{name: "ascending moves with each page and asks again from the mark",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("2", "09:10:00", "09:20:00")},
			want: "09:20:00", next: syncd.Request{Since: at("09:20:00")}},
		{name: "ascending follows the token through a page of ties",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("2", "09:10:00"), page("3", "09:10:00", "09:10:00")},
			want: "09:10:00", next: syncd.Request{Since: at("09:10:00"), Page: "3"}},
		{name: "ascending ends where the list does",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("2", "09:10:00"), page("", "09:10:00", "09:30:00")},
			want: "09:30:00", done: true},
		{name: "descending keeps the watermark until the walk ends",
			stream: descending, from: "09:00:00", pages: []syncd.Page{page("2", "10:05:00", "10:04:00")},
			want: "09:00:00", next: syncd.Request{Since: at("09:00:00"), Page: "2"}},
		{name: "descending ends below the watermark",
			stream: descending, from: "09:00:00", pages: []syncd.Page{page("2", "10:05:00"), page("3", "09:01:00", "08:59:00")},
			want: "10:05:00", done: true},
		{name: "descending goes on through ties at the watermark",
			stream: descending, from: "09:00:00", pages: []syncd.Page{page("2", "10:05:00", "09:00:00")},
			want: "09:00:00", next: syncd.Request{Since: at("09:00:00"), Page: "2"}},
		{name: "unordered moves at the end",
			stream: unordered, from: "09:00:00", pages: []syncd.Page{page("2", "10:05:00"), page("", "09:30:00")},
			want: "10:05:00", done: true},
		{name: "an empty page with a token goes on",
			stream: unordered, from: "09:00:00", pages: []syncd.Page{page("2")},
			want: "09:00:00", next: syncd.Request{Since: at("09:00:00"), Page: "2"}},
		{name: "an empty list leaves the watermark",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("")}, want: "09:00:00", done: true},
		{name: "records without a mark move nothing",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("", "09:10:00", "", "")}, want: "09:10:00", done: true},
		{name: "the future is capped at the walk's beginning",
			stream: unordered, from: "09:00:00", pages: []syncd.Page{page("", "23:00:00", "09:10:00")}, want: "12:00:00", done: true},
		{name: "a page of the future is followed by its token",
			stream: ascending, from: "09:00:00", pages: []syncd.Page{page("2", "22:00:00"), page("3", "23:00:00")},
			want: "12:00:00", next: syncd.Request{Since: at("12:00:00"), Page: "3"}},
		{name: "a snapshot always asks for everything",
			stream: snapshot, from: "09:00:00", pages: []syncd.Page{page("2", "09:10:00")}, want: "09:00:00",
			next: syncd.Request{Page: "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Begin(State{Watermark: at(tt.from)}, tt.stream, Options{Now: noon})
			var step Step
			for _, p := range tt.pages {
				step = Advance(s, tt.stream, p, syncd.At(noon), false)
				s = step.State
			}
			if s.Watermark != at(tt.want) {
				t.Errorf("watermark %s, want %s", s.Watermark.Time(), tt.want)
			}
			if step.Done != tt.done {
				t.Fatalf("done %v, want %v", step.Done, tt.done)
			}
			if !tt.done && Next(s, "") != tt.next {
				t.Errorf("next request %+v, want %+v", Next(s, ""), tt.next)
			}
		})
	}
}

func TestBrokenOrderGoesBackToWhereTheWalkBegan(t *testing.T) {
	s := Begin(State{Watermark: at("08:00:00")}, ascending, Options{Now: noon})
	step := Advance(s, ascending, page("b2", "09:00:00"), syncd.At(noon), false)
	step = Advance(step.State, ascending, page("b3", "08:30:00"), syncd.At(noon), false)
	if !step.Broken || step.State.Watermark != at("08:00:00") {
		t.Fatalf("broken %v, watermark %s: want the watermark back at 08:00", step.Broken, step.State.Watermark.Time())
	}
	if got, want := Next(step.State, ""), (syncd.Request{Since: at("08:00:00")}); got != want {
		t.Errorf("next request %+v, want %+v", got, want)
	}
	step = Advance(step.State, ascending, page("b2", "09:00:00"), syncd.At(noon), false)
	if step.Broken || Next(step.State, "").Page != "b2" {
		t.Errorf("the list is not followed by its tokens: %+v", Next(step.State, ""))
	}
	step = Advance(step.State, ascending, page("", "08:30:00"), syncd.At(noon), false)
	if !step.Done || step.State.Watermark != at("09:00:00") {
		t.Errorf("done %v, watermark %s, want 09:00", step.Done, step.State.Watermark.Time())
	}
}

func TestBegin(t *testing.T) {
	overlapping := syncd.Stream{Name: "s", Order: syncd.Ascending, Overlap: 5 * time.Minute, Precision: time.Hour}
	sequence := syncd.Stream{Name: "s", Sequence: true}
	tests := []struct {
		name   string
		state  State
		stream syncd.Stream
		o      Options
		since  syncd.Mark
		full   bool
		cut    bool
	}{
		{"first walk", State{}, ascending, Options{}, 0, true, false},
		{"overlap, rounded to the past", State{Watermark: at("09:02:00")}, overlapping, Options{}, at("08:00:00"), false, false},
		{"sequence numbers are not times", State{Watermark: 41}, sequence, Options{}, 41, false, false},
		{"full", State{Watermark: at("09:00:00")}, ascending, Options{Full: true}, 0, true, false},
		{"cut", State{Watermark: at("09:00:00"), Walk: &Walk{Since: at("08:30:00"), Page: "7"}}, descending, Options{}, at("08:30:00"), false, true},
		{"full over a cut one", State{Watermark: at("09:00:00"), Walk: &Walk{Since: at("08:30:00"), Page: "7"}}, descending, Options{Full: true}, 0, true, false},
		{"other settings", State{Watermark: at("09:00:00"), Settings: "old"}, ascending, Options{Settings: "new"}, 0, true, false},
		{"new version", State{Watermark: at("09:00:00"), Version: 1}, syncd.Stream{Name: "s", Version: 2}, Options{}, 0, true, false},
		{"sync token only", State{Sync: "t", FullAt: noon}, unordered, Options{}, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Begin(tt.state, tt.stream, tt.o).Walk
			if w.Since != tt.since || w.Full != tt.full || w.Cut != tt.cut {
				t.Errorf("since %d full %v cut %v, want %d %v %v", w.Since, w.Full, w.Cut, tt.since, tt.full, tt.cut)
			}
		})
	}
}

func TestWhatProvesAbsence(t *testing.T) {
	whole := page("", "09:00:00")
	tests := []struct {
		name     string
		stream   syncd.Stream
		state    State
		o        Options
		rejected bool
		want     bool
	}{
		{"a snapshot read to its end", snapshot, State{}, Options{}, false, true},
		{"a full walk", ascending, State{Watermark: at("08:00:00")}, Options{Full: true}, false, true},
		{"a walk from a watermark", ascending, State{Watermark: at("08:00:00")}, Options{}, false, false},
		{"a record was set aside", snapshot, State{}, Options{}, true, false},
		{"the walk was cut", snapshot, State{Walk: &Walk{Page: "2"}}, Options{}, false, false},
		{"the settings changed", snapshot, State{Settings: "a", Watermark: 1}, Options{Settings: "b"}, false, false},
		{"an append stream", syncd.Stream{Name: "s", Append: true}, State{}, Options{Full: true}, false, false},
		{"a stream of increments", syncd.Stream{Name: "s", Increments: true}, State{}, Options{Full: true}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Now = noon
			s := Begin(tt.state, tt.stream, tt.o)
			if got := Advance(s, tt.stream, whole, syncd.At(noon), tt.rejected).Proved; got != tt.want {
				t.Errorf("proved %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSyncToken(t *testing.T) {
	s := Begin(State{Sync: "t1", FullAt: noon}, unordered, Options{Now: noon})
	if got := Next(s, "p"); got.Sync != "t1" || got.Part != "p" {
		t.Fatalf("request %+v, want the sync token t1 for part p", got)
	}
	done := Advance(s, unordered, syncd.Page{Sync: "t2"}, syncd.At(noon), false).State
	if done.Sync != "t2" || done.Walk != nil {
		t.Errorf("after the walk: %+v, want sync t2 and no walk", done)
	}
	dead := Resync(s)
	if got := Next(dead, ""); got.Sync != "" || got.Since != 0 || !dead.Walk.Full {
		t.Errorf("after the token died: %+v, want a request for everything", got)
	}
	// Cut or with rejects before, it is whole again, but not where the settings changed.
	s.Walk.Cut, s.Walk.Partial = true, true
	if step := Advance(Resync(s), unordered, syncd.Page{}, syncd.At(noon), false); !step.Proved {
		t.Errorf("a walk that reads everything anew proves nothing: %+v", step)
	}
	s.Walk.Changed = true
	if step := Advance(Resync(s), unordered, syncd.Page{}, syncd.At(noon), false); step.Proved {
		t.Errorf("a walk under other settings proves absence: %+v", step)
	}
	s.Walk.Cut, s.Walk.Partial, s.Walk.Changed = false, false, false
	if none := Advance(s, unordered, syncd.Page{}, syncd.At(noon), false).State; none.Sync != "t1" {
		t.Errorf("a walk without a new token lost the old one: %+v", none)
	}
}

func TestWhatIsOfTheFuture(t *testing.T) {
	s := Begin(State{}, unordered, Options{Now: noon})
	later := syncd.At(noon.Add(24 * time.Hour))
	first := Advance(s, unordered, page("2", "11:00:00"), syncd.At(noon), false)
	for _, c := range []struct {
		after time.Duration // of noon, when it is dated
		asked syncd.Mark
		want  int
	}{
		{time.Hour, syncd.At(noon), 1}, {30 * time.Second, syncd.At(noon), 0},
		{time.Hour, later, 0}, {25 * time.Hour, later, 1},
	} {
		p := syncd.Page{Records: []syncd.Record{{ID: "x", Mark: syncd.At(noon.Add(c.after))}}}
		step := Advance(first.State, unordered, p, c.asked, false)
		if step.Future != c.want {
			t.Errorf("dated %s after noon, asked for at %s: %d of the future, want %d", c.after, c.asked.Time(), step.Future, c.want)
		}
		if got := step.State.Watermark; got > syncd.At(noon) {
			t.Errorf("watermark %s, later than the walk's beginning", got.Time())
		}
	}
}

// A record of the future moves the watermark to the second that the walk began
// in and no further: what changes later in that second is of it, for providers
// that tell times to the second.
func TestTheCapIsAWholeSecond(t *testing.T) {
	asked := syncd.At(time.Date(2026, 6, 1, 12, 0, 4, 40_000_000, time.UTC))
	s := Begin(State{}, unordered, Options{Now: noon})
	step := Advance(s, unordered, syncd.Page{Records: []syncd.Record{{ID: "1", Mark: asked + syncd.Mark(time.Hour)}}}, asked, false)
	if want := syncd.At(time.Date(2026, 6, 1, 12, 0, 4, 0, time.UTC)); step.State.Watermark != want {
		t.Errorf("watermark %s, want %s", step.State.Watermark.Format(false), want.Format(false))
	}
}

// A new read that was cut does not know what the provider deleted meanwhile,
// and no later walk will be told.
func TestACutNewReadOwesAFullOne(t *testing.T) {
	s := Resync(Begin(State{Sync: "t1", FullAt: noon}, unordered, Options{Now: noon}))
	if step := Advance(s, unordered, syncd.Page{Sync: "t2"}, syncd.At(noon), false); step.Owed || !step.Proved {
		t.Errorf("a whole new read: owed %v, proved %v", step.Owed, step.Proved)
	}
	s = Begin(s, unordered, Options{Now: noon})
	if step := Advance(s, unordered, syncd.Page{Sync: "t2"}, syncd.At(noon), false); !step.Owed || step.Proved {
		t.Errorf("a new read that was cut: owed %v, proved %v", step.Owed, step.Proved)
	}
}

func TestStateRoundTrip(t *testing.T) {
	s := State{
		Watermark: 1<<62 + 1, Sync: "a\u2028\"é\\", Version: 3, Settings: "x", FullAt: noon.Add(123456789),
		Walk: &Walk{Began: noon, Cap: 9007199254740993, Page: "\u0000 <&>", High: 1, Cut: true},
	}
	got, err := Parse(s.String())
	if err != nil || got.String() != s.String() || *got.Walk != *s.Walk {
		t.Errorf("got %v %v, want %v", got, err, s)
	}
	if empty, err := Parse(""); err != nil || empty != (State{}) {
		t.Errorf("the empty text is %v %v, want the zero state", empty, err)
	}
	if _, err := Parse("{"); err == nil {
		t.Error("half a state was read without an error")
	}
}

func TestGuard(t *testing.T) {
	req := func(token string) syncd.Request { return syncd.Request{Page: token} }
	tests := []struct {
		name  string
		reqs  []syncd.Request
		loops bool
	}{
		{"A,A", []syncd.Request{req(""), req("A"), req("A")}, true},
		{"A,B,A", []syncd.Request{req(""), req("A"), req("B"), req("A")}, true},
		{"A,B,C", []syncd.Request{req(""), req("A"), req("B"), req("C")}, false},
		{"the same token under another bound", []syncd.Request{req("2"), {Since: 5, Page: "2"}}, false},
		{"the same bound twice", []syncd.Request{{Since: 5}, {Since: 5}}, true},
		{"parts that run together", []syncd.Request{{Part: "ab", Page: "c"}, {Part: "a", Page: "bc"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGuard()
			var err error
			for _, r := range tt.reqs {
				if err = g.Request(r); err != nil {
					break
				}
			}
			if (err != nil) != tt.loops {
				t.Errorf("error %v, want a loop: %v", err, tt.loops)
			}
		})
	}
}

func TestGuardPages(t *testing.T) {
	g := NewGuard()
	if err := g.Page(syncd.Request{}, page("T1", "09:00:00", "09:01:00")); err != nil {
		t.Fatal(err)
	}
	if err := g.Page(syncd.Request{Page: "T1"}, page("T2", "09:00:00", "09:01:00")); err == nil {
		t.Error("the same page under another token was taken for progress")
	}
	g = NewGuard()
	for i, token := range []string{"", "2", "3", "4"} { // by turns, under numbers that never repeat
		p := page("", "09:00:00", "09:01:00")
		if i%2 == 1 {
			p = page("", "10:00:00", "10:01:00")
		}
		if err := g.Page(syncd.Request{Page: token}, p); (err != nil) != (i >= 2) {
			t.Errorf("page %q: %v", token, err)
		}
		if err := g.Page(syncd.Request{Since: 5, Page: token}, p); (err != nil) != (i >= 2) {
			t.Errorf("page %q from a new bound: %v", token, err)
		}
	}
	g = NewGuard()
	for range MaxEmpty {
		if err := g.Page(syncd.Request{Page: "x"}, syncd.Page{Next: "y"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Page(syncd.Request{Page: "x"}, syncd.Page{Next: "y"}); err == nil {
		t.Errorf("more than %d empty pages in a row were taken for progress", MaxEmpty)
	}
}
