package cursor

import (
	"github.com/syncdhq/syncd"
)

// A Step is what one page did to a walk.
type Step struct {
	State  State
	Done   bool // the walk has ended
	Proved bool // Done, and what the walk did not list is not there
	Owed   bool // Done, but deletions that the provider told nowhere else were not seen
	Broken bool // the stream just broke its promise of order
	Future int  // records dated later than the page was asked for

	// Unswept is what to store in the place of State where Proved, until what
	// the walk did not list is deleted: a process that dies in between has read
	// everything and deleted nothing. The next walk reads everything once more.
	Unswept State
}

// farFuture is how much later than its page was asked for a record must be
// dated to be worth a word: records change while they are read.
const farFuture = syncd.Mark(60e9)

// second is one of a mark that is a time.
const second = syncd.Mark(1e9)

// Advance returns the state after a page has been committed together with it.
// asked is when the page was asked for by the provider's clock, as a mark;
// rejected says that records of the page were set aside.
func Advance(s State, stream syncd.Stream, page syncd.Page, asked syncd.Mark, rejected bool) Step {
	w := *s.Walk
	s.Walk = &w
	if w.Cap == 0 {
		// Most providers' times are whole seconds: a change later in this very
		// second would lie before a watermark within it.
		w.Cap = asked - asked%second
	}
	w.Partial = w.Partial || rejected
	step := Step{}
	seen := look(&w, stream, page.Records, asked)
	step.Future = seen.future
	if seen.broken && !w.Unsorted {
		w.Unsorted, step.Broken = true, true
		if stream.Order == syncd.Ascending {
			// Pages were skipped on the strength of the promise. Go back to
			// where the walk began and follow the list by its tokens.
			s.Watermark = w.Base
			w.Since, w.Page, w.Last = start(s, stream), "", 0
			step.State = s
			return step
		}
	}
	switch {
	case page.Next == "":
		step.Done = true
	case stream.Order == syncd.Descending && !w.Unsorted && w.Since > 0 && seen.low > 0 && seen.low < w.Since:
		step.Done = true // the rest is older still
	case stream.Order == syncd.Ascending && !w.Unsorted:
		ascend(&s, stream, page.Next)
	default:
		w.Page = page.Next
	}
	if step.Done {
		step.Proved = w.proves(stream)
		step.Owed = w.Resync && !step.Proved
		step.State = finish(s, stream, page.Sync)
		if step.Proved {
			step.Unswept = step.State
			step.Unswept.FullAt = s.FullAt
			step.Unswept.Walk = w.owing()
		}
		return step
	}
	step.State = s
	return step
}

// ascend moves the watermark, and asks again from there instead of following
// the token: records that change while the list is read cannot shift others
// out of sight, and no token outlives a page. Only where the mark did not move,
// in a page full of ties, is the token followed.
func ascend(s *State, stream syncd.Stream, next string) {
	w := s.Walk
	if from := floor(w.High, stream); from > w.Since {
		s.Watermark = max(s.Watermark, w.High)
		w.Since, w.Page, w.Last = from, "", 0
		return
	}
	w.Page = next
}

func finish(s State, stream syncd.Stream, sync string) State {
	w := s.Walk
	s.Watermark = max(s.Watermark, w.High)
	switch {
	case stream.Snapshot && w.Cut:
		s.Sync = "" // the next walk reads all of it once more, and then it is proved
	case sync != "":
		s.Sync = sync
	}
	if w.Full || stream.Snapshot {
		s.FullAt = w.Began
	}
	s.Walk = nil
	return s
}

type sight struct {
	low    syncd.Mark // the lowest mark of the page
	future int
	broken bool
}

// look takes a page's marks into the walk and checks the promise of order.
func look(w *Walk, stream syncd.Stream, records []syncd.Record, asked syncd.Mark) sight {
	var s sight
	for _, r := range records {
		m := r.Mark
		if m == 0 {
			continue
		}
		if s.low == 0 || m < s.low {
			s.low = m
		}
		switch stream.Order {
		case syncd.Ascending:
			s.broken = s.broken || m < w.Last || m < w.Since
		case syncd.Descending:
			s.broken = s.broken || w.Last != 0 && m > w.Last
		}
		w.Last = m
		if !stream.Sequence && m > w.Cap {
			if m > max(w.Cap, asked)+farFuture {
				s.future++
			}
			m = w.Cap
		}
		w.High = max(w.High, m)
	}
	return s
}
