package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// many is a stream of n parts with one record in each.
func many(n int, fetch func(part string) error) syncd.Stream {
	return syncd.Stream{
		Name: "items",
		Parts: func(context.Context) ([]string, error) {
			var parts []string
			for i := range n {
				parts = append(parts, fmt.Sprintf("%02d", i))
			}
			return parts, nil
		},
		Fetch: func(_ context.Context, req syncd.Request) (syncd.Page, error) {
			if err := fetch(req.Part); err != nil {
				return syncd.Page{}, err
			}
			return syncd.Page{Records: []syncd.Record{{ID: "1", Mark: syncd.At(noon), Data: []byte("1")}}}, nil
		},
	}
}

// A budget that is used up goes on with what it did not reach, and does not
// begin at the beginning again.
func TestABudgetReachesEveryPartAndStream(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(2)
		r := newRig(t, open(t), many(7, func(string) error { return nil }), l.stream(syncd.Stream{Name: "rest"}))
		r.source.Budget = run.Budget{Pages: 2}
		for range 4 {
			r.run()
		}
		r.want("records after four runs of two pages", len(r.heads()), 9)
	})
}

// A round, one pass over all of a source, takes as many runs as its budget
// needs and then ends: the source is not read without pause.
func TestARoundEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		asked := map[string]int{}
		broken := false
		fetch := func(part string) error {
			if broken && part == "03" {
				return &syncd.HTTPError{Method: "GET", Status: 403}
			}
			asked[part]++
			return nil
		}
		r := newRig(t, open(t), many(7, fetch))
		r.source.Budget = run.Budget{Pages: 2}
		round := func(end string) {
			t.Helper()
			for runs := 1; ; runs++ {
				res := r.run()
				if res.State == end {
					return
				}
				if res.State != store.Partial || runs > 5 {
					t.Fatalf("run %d of the round: %s %v, want it to end as %s", runs, res.State, res.Err, end)
				}
			}
		}
		for i := 1; i <= 2; i++ {
			round(store.Done)
			for part, n := range asked {
				r.want(fmt.Sprintf("pages of part %s after round %d", part, i), n, i)
			}
		}
		broken = true
		round(store.Failed) // what failed is tried again until the round's end, which says so
		r.want("pages of a part that did not fail", asked["05"], 3)
	})
}

// A full walk that falls due within a round is walked in that round.
func TestAFullWalkFallsDueWithinARound(t *testing.T) {
	asked := 0
	r := newRig(t, newStore(t), many(4, func(string) error { asked++; return nil }))
	r.source.Budget = run.Budget{Pages: 2}
	r.want("first run", r.run().State, store.Partial)
	r.source.Budget = run.Budget{}
	r.job = func(j *run.Job) { j.Full, j.FullDue = true, j.At }
	r.want("second run", r.run().State, store.Done)
	r.want("pages", asked, 6)
}

// What waits for quota goes on behind what it has read.
func TestAParkedRunGoesOnBehind(t *testing.T) {
	r := newRig(t, newStore(t))
	left := 0
	r.source.Streams = []syncd.Stream{many(7, func(string) error {
		if left--; left < 0 {
			return parkError{}
		}
		return nil
	})}
	for _, want := range []string{store.Parked, store.Parked, store.Parked, store.Done} {
		left = 2
		if res := r.run(); res.State != want {
			t.Errorf("%s, %v; want %s", res.State, res.Err, want)
		}
	}
	r.want("records after four runs of two requests", len(r.heads()), 7)
}

type parkError struct{}

func (parkError) Error() string        { return "no quota" }
func (parkError) ParkUntil() time.Time { return noon.Add(time.Hour) }

// Parts that are refused leave the rest alone, however many there are.
func TestRefusedPartsDoNotStopTheOthers(t *testing.T) {
	r := newRig(t, newStore(t), many(9, func(part string) error {
		if part >= "01" && part <= "05" {
			return &syncd.HTTPError{Method: "GET", Status: 403}
		}
		return nil
	}))
	res := r.run()
	r.want("state", res.State, store.Failed)
	r.want("parts that are there", r.ids(), "00/1 06/1 07/1 08/1")
	for _, part := range []string{"items/01", "items/05"} {
		if !strings.Contains(res.Err.Error(), part) {
			t.Errorf("error %v, want it to name %s", res.Err, part)
		}
	}
}

// A provider that is down is not asked for every part, and the parts that fail
// every time do not keep the others from their turn.
func TestBrokenPartsTakeTheirTurn(t *testing.T) {
	asked := 0
	r := newRig(t, newStore(t), many(9, func(part string) error {
		asked++
		if part <= "03" {
			return errors.New("broken")
		}
		return nil
	}))
	r.want("state", r.run().State, store.Failed)
	if asked > 3 {
		t.Errorf("%d parts of a provider that is down were asked for, want 3", asked)
	}
	for range 2 {
		r.want("state", r.run().State, store.Failed)
	}
	r.want("parts that are there after three runs", len(r.heads()), 5)
}

// A run that ends early tells what had failed before.
func TestAnEarlyEndTellsWhatFailed(t *testing.T) {
	stop := make(chan struct{})
	for _, c := range []struct {
		name  string
		then  func() error
		state string
	}{
		{"stopped", func() error { close(stop); return nil }, store.Partial},
		{"parked", func() error { return parkError{} }, store.Parked},
		{"refused", func() error { return &syncd.HTTPError{Method: "GET", Status: 401} }, store.Failed},
	} {
		r := newRig(t, newStore(t), many(3, func(part string) error {
			if part == "00" {
				return errors.New("broken")
			}
			return c.then()
		}))
		r.job = func(j *run.Job) { j.Stop = stop }
		res := r.run()
		r.want(c.name, res.State, c.state)
		said := strings.Join(res.Notes, "\n")
		if res.Err != nil {
			said += res.Err.Error()
		}
		if !strings.Contains(said, "items/00: broken") {
			t.Errorf("%s: it said %q, nothing of what failed", c.name, said)
		}
		stop = make(chan struct{})
	}
}

// Records that changed since a walk was cut are not of the future.
func TestWhatChangedSinceACutIsNotOfTheFuture(t *testing.T) {
	for _, kind := range kinds[:3] {
		l := numbered(9)
		r := newRig(t, newStore(t), l.stream(kind))
		stop := make(chan struct{})
		l.before = func(n int) {
			if n == 2 {
				close(stop)
			}
		}
		r.job = func(j *run.Job) { j.Stop = stop }
		r.want("state", r.run().State, store.Partial)
		for i := range l.records {
			l.records[i].Mark += syncd.Mark(24 * time.Hour)
		}
		r.job, l.before = nil, nil
		r.now = func() time.Time { return noon.AddDate(0, 0, 1) }
		res := r.run()
		r.want("state", res.State, store.Done)
		if said := strings.Join(res.Notes, "\n"); strings.Contains(said, "future") {
			t.Errorf("%s: it said %q", kind.Order, said)
		}
	}
}

// A page token is given up once in a run, and the second time is a failure
// that leaves no token behind.
func TestTwoRefusedTokensFailTheRun(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		r := newRig(t, open(t))
		asked := 0
		r.source.Streams = []syncd.Stream{{Name: "items", Fetch: func(_ context.Context, req syncd.Request) (syncd.Page, error) {
			asked++
			if req.Page != "" {
				return syncd.Page{}, &syncd.HTTPError{Method: "GET", Status: 410}
			}
			return syncd.Page{Records: []syncd.Record{{ID: "1", Data: []byte("1")}}, Next: "dead"}, nil
		}}}
		r.setCursor(cursor.State{Watermark: syncd.At(noon), Walk: &cursor.Walk{Page: "old"}})
		r.want("state", r.run().State, store.Failed)
		r.want("requests", asked, 3)
		r.want("watermark", r.cursor("items", "").Watermark, syncd.At(noon))
	})
}

// A walk that was cut and whose token has died meanwhile is read anew as a
// whole: what that does not list is gone.
func TestAResyncOfACutWalkDeletesByAbsence(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(9)
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items"}))
		r.source.MarkMissing = true
		r.want("inserted", r.run().Counters.Inserted, int64(9))
		l.records = l.records[1:]
		stream, dead := l.stream(syncd.Stream{Name: "items"}), true
		fetch := stream.Fetch
		stream.Fetch = func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			if dead {
				dead = false
				return syncd.Page{}, syncd.ErrResync
			}
			return fetch(ctx, req)
		}
		r.source.Streams = []syncd.Stream{stream}
		r.setCursor(cursor.State{Watermark: syncd.At(noon), Sync: "old", Walk: &cursor.Walk{Page: "05"}})
		r.want("deleted", r.run().Counters.Deleted, int64(1))
	})
}

func TestTimeIsABudget(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		l := numbered(60) // more pages than are fetched ahead
		r := newRig(t, open(t), l.stream(syncd.Stream{Name: "items"}))
		var minutes atomic.Int64
		r.now = func() time.Time { return noon.Add(time.Duration(minutes.Load()) * time.Minute) }
		l.before = func(int) { minutes.Add(1) }
		r.source.Budget.Time = 2 * time.Minute
		r.want("state", r.run().State, store.Partial)
		for runs := 1; r.run().State != store.Done; runs++ {
			if runs > 20 {
				t.Fatal("it does not end")
			}
		}
		r.want("records", len(r.heads()), 60)
	})
}
