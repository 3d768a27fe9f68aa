package scheduler

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/store"
)

var alice = store.Key{User: "alice", Provider: "github"}

func clock(s string) time.Time {
	t, err := time.Parse("15:04:05", s)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 6, 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func hourly(t *testing.T) Timetable {
	t.Helper()
	s, err := schedule.Parse("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return Timetable{Schedule: s, CatchUp: true}
}

func TestPlan(t *testing.T) {
	tests := []struct {
		name    string
		next    string // the tick that the store has
		now     string
		started string // when the daemon started
		resume  string
		none    bool // catch_up: none
		want    Plan
	}{
		{name: "on time", next: "10:00:00", now: "10:00:00", started: "09:00:00",
			want: Plan{Trigger: "schedule", Tick: clock("10:00:00"), NextAt: clock("11:00:00")}},
		{name: "a busy hour late is still that tick", next: "10:00:00", now: "10:59:59", started: "09:00:00",
			want: Plan{Trigger: "schedule", Tick: clock("10:00:00"), NextAt: clock("11:00:00")}},
		{name: "ticks during a long run become one", next: "10:00:00", now: "13:10:00", started: "09:00:00",
			want: Plan{Trigger: "schedule", Tick: clock("13:00:00"), Folded: 3, NextAt: clock("14:00:00")}},
		{name: "missed while no daemon ran", next: "10:00:00", now: "13:10:00", started: "13:09:00",
			want: Plan{Trigger: "catch-up", Tick: clock("13:00:00"), Folded: 3, NextAt: clock("14:00:00")}},
		{name: "missed and not wanted", next: "10:00:00", now: "13:10:00", started: "13:09:00", none: true,
			want: Plan{Skip: true, NextAt: clock("14:00:00")}},
		{name: "not wanted, but the last tick came while it ran", next: "10:00:00", now: "13:00:00", started: "12:30:00", none: true,
			want: Plan{Trigger: "catch-up", Tick: clock("13:00:00"), Folded: 3, NextAt: clock("14:00:00")}},
		{name: "new", next: "10:00:00", now: "09:10:00", started: "09:09:00", resume: store.ResumeNew,
			want: Plan{Trigger: "schedule", NextAt: clock("10:00:00")}},
		{name: "goes on before its tick", next: "10:00:00", now: "09:10:00", started: "08:00:00", resume: store.ResumePartial,
			want: Plan{Trigger: "resume", NextAt: clock("10:00:00")}},
		{name: "parked past its tick takes the tick with it", next: "10:00:00", now: "10:10:00", started: "08:00:00", resume: store.ResumeParked,
			want: Plan{Trigger: "resume", Tick: clock("10:00:00"), NextAt: clock("11:00:00")}},
		{name: "abandoned, with catching up not wanted, goes on all the same", next: "10:00:00", now: "12:10:00", started: "12:09:00",
			resume: store.ResumeAbandoned, none: true,
			want: Plan{Trigger: "resume", Tick: clock("12:00:00"), Folded: 2, NextAt: clock("13:00:00")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := hourly(t)
			table.CatchUp = !tt.none
			c := store.Claim{Lease: store.Lease{Key: alice}, Now: clock(tt.now), NextAt: clock(tt.next), Resume: tt.resume}
			tt.want.DueAt = tt.want.NextAt
			if got := table.Plan(c, clock(tt.started)); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	table := hourly(t)
	table.Spread = 10 * time.Minute
	due := table.Due(alice, clock("10:00:00"))
	if again := table.Due(alice, clock("10:00:00")); again != due {
		t.Errorf("due at %s, then at %s", due, again)
	}
	if share := due.Sub(clock("10:00:00")); share < 0 || share >= 10*time.Minute {
		t.Errorf("share %s of a spread of 10m", share)
	}
	if got, want := table.Due(alice, clock("11:00:00")).Sub(clock("11:00:00")), due.Sub(clock("10:00:00")); got != want {
		t.Errorf("share %s at one tick and %s at the next", want, got)
	}
	c := store.Claim{Lease: store.Lease{Key: alice}, Now: due, NextAt: clock("10:00:00")}
	if p := table.Plan(c, clock("09:00:00")); !p.Tick.Equal(clock("10:00:00")) || p.Folded != 0 {
		t.Errorf("claimed at its share of the spread: %+v, want the nominal tick", p)
	}
	minute := max(0, due.Sub(clock("10:00:00"))-time.Second)
	c.Now = clock("10:00:00").Add(minute)
	if p := table.Plan(c, clock("09:00:00")); due.After(c.Now) && !p.Tick.IsZero() {
		t.Errorf("claimed before its share of the spread: %+v, want no tick", p)
	}
	each, err := schedule.Parse("@every 10s", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	table.Schedule = each
	if share := table.Due(alice, clock("10:00:00")).Sub(clock("10:00:00")); share >= 5*time.Second {
		t.Errorf("share %s of an interval of 10s, want less than half", share)
	}
}

func TestFullWalksHaveAScheduleOfTheirOwn(t *testing.T) {
	table := hourly(t)
	weekly, err := schedule.Parse("@weekly", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	table.Full = &weekly
	c := store.Claim{Lease: store.Lease{Key: alice}, Now: clock("10:00:00"), NextAt: clock("10:00:00"), FullAt: clock("09:30:00")}
	p := table.Plan(c, clock("09:00:00"))
	if !p.Full {
		t.Fatalf("a full walk is due, yet the plan is %+v", p)
	}
	for state, want := range map[string]time.Time{store.Done: weekly.Next(c.Now), store.Partial: {}, store.Failed: {}} {
		if o := table.Outcome(c, p, Result{State: state}, c.Now); !o.FullAt.Equal(want) {
			t.Errorf("%s: next full walk at %s, want %s", state, o.FullAt, want)
		}
	}
	c.FullAt = clock("10:30:00")
	if table.Plan(c, clock("09:00:00")).Full {
		t.Error("a full walk before its time")
	}
}

func TestOutcome(t *testing.T) {
	table := hourly(t)
	c := store.Claim{Lease: store.Lease{Key: alice}, Failures: 3, Resume: store.ResumeFailed, DueAt: clock("10:30:00")}
	p := Plan{DueAt: clock("11:00:00")}
	now := clock("10:05:00")
	tests := []struct {
		state    string
		plan     Plan
		due      time.Time
		resume   string
		failures int
	}{
		{store.Done, p, time.Time{}, "", 0}, // as Begin set it, or a reload since
		{store.Partial, p, now, store.ResumePartial, 3},
		{store.Lost, p, now, store.ResumePartial, 3},
		{store.Parked, p, clock("10:40:00"), store.ResumeParked, 3},
		{store.Done, Plan{Keep: true}, time.Time{}, store.ResumeFailed, 3},
	}
	for _, tt := range tests {
		o := table.Outcome(c, tt.plan, Result{State: tt.state, Wait: 35 * time.Minute}, now)
		if !o.DueAt.Equal(tt.due) || o.Resume != tt.resume || o.Failures != tt.failures {
			t.Errorf("%s: due %s, resume %q, %d failures; want %s, %q, %d", tt.state, o.DueAt, o.Resume, o.Failures, tt.due, tt.resume, tt.failures)
		}
	}
	table.GiveUp = GiveUp{30, 7 * 24 * time.Hour}
	for _, tt := range []struct {
		failures int
		well     time.Duration
		want     string
	}{{28, 8 * 24 * time.Hour, ""}, {29, 8 * 24 * time.Hour, store.PausedFailing}, {29, 6 * 24 * time.Hour, ""}, {500, 7 * 24 * time.Hour, store.PausedFailing}} {
		c.Failures, c.WellAt = tt.failures, now.Add(-tt.well)
		if o := table.Outcome(c, p, Result{State: store.Failed}, now); o.Pause != tt.want {
			t.Errorf("%d failures before, well %s ago: paused for %q, want %q", tt.failures, tt.well, o.Pause, tt.want)
		}
	}
	if o := table.Outcome(c, p, Result{State: store.Done}, now); o.Pause != "" || o.Lift != store.PausedFailing {
		t.Errorf("done: %+v", o)
	}
	last := time.Duration(0)
	for c.Failures = 0; c.Failures < 40; c.Failures++ {
		o := table.Outcome(c, p, Result{State: store.Failed}, now)
		wait := o.DueAt.Sub(now)
		if o.Failures != c.Failures+1 || wait < firstRetry*3/4 || wait > lastRetry*5/4 || wait < last/2 {
			t.Fatalf("after %d failures: %d, wait %s (before: %s)", c.Failures, o.Failures, wait, last)
		}
		last = wait
	}
}
