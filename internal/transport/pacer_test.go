package transport

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
)

func TestCheckLimit(t *testing.T) {
	good := []syncd.Limit{{}, {Requests: 1, Per: time.Second}, {Requests: 100, Per: time.Hour, Burst: 100}}
	bad := []syncd.Limit{{Per: time.Second}, {Requests: 5}, {Requests: -1, Per: time.Second}, {Requests: 5, Per: -time.Second}, {Burst: 1}, {Requests: 5, Per: time.Second, Burst: 6}, {Requests: 5, Per: time.Second, Burst: -1}}
	for _, l := range good {
		if err := CheckLimit(l); err != nil {
			t.Errorf("%+v: got %v", l, err)
		}
	}
	for _, l := range bad {
		if CheckLimit(l) == nil {
			t.Errorf("%+v: got no error", l)
		}
		if err := NewPacer(l).Wait(t.Context(), time.Minute); err == nil {
			t.Errorf("%+v: something passed", l)
		}
	}
}

// passes sends as many as it can for a time and returns when each passed.
func passes(t *testing.T, p *Pacer, workers int, over time.Duration) []time.Duration {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for time.Since(start) < over {
				if err := p.Wait(t.Context(), 24*time.Hour); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, time.Since(start))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	return all
}

// most returns the largest number of passes within any time of length per.
func most(all []time.Duration, per time.Duration) int {
	n, first := 0, 0
	for i := range all {
		for all[i]-all[first] >= per {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

func TestPacerNeverExceedsTheLimit(t *testing.T) {
	limits := []syncd.Limit{
		{Requests: 10, Per: time.Second},
		{Requests: 7, Per: time.Second}, // does not divide
		{Requests: 100, Per: 15 * time.Minute, Burst: 100},
		{Requests: 100, Per: 15 * time.Minute, Burst: 10},
		{Requests: 3, Per: time.Minute, Burst: 2},
		{Requests: 1, Per: time.Hour},
	}
	for _, l := range limits {
		synctest.Test(t, func(t *testing.T) {
			all := passes(t, NewPacer(l), 3, 4*l.Per)
			if got := most(all, l.Per); got > l.Requests {
				t.Errorf("%+v: %d passed within %s", l, got, l.Per)
			}
			if got, least := len(all), 4*l.Requests-l.Requests/10; got < least {
				t.Errorf("%+v: %d passed in four times %s, want at least %d", l, got, l.Per, least)
			}
			if burst := most(all[:min(l.Requests, len(all))], time.Microsecond); burst != max(l.Burst, 1) {
				t.Errorf("%+v: %d passed at once", l, burst)
			}
		})
	}
}

// Fifty users of one app, one of whom has no end of requests.
func TestPacerIsSharedFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(syncd.Limit{Requests: 10, Per: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var big sync.WaitGroup
		sent := 0
		big.Go(func() {
			for p.Wait(ctx, time.Minute) == nil {
				sent++
			}
		})
		synctest.Wait()
		start := time.Now()
		var small sync.WaitGroup
		for range 49 {
			small.Go(func() {
				if err := p.Wait(ctx, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		small.Wait()
		if got := time.Since(start); got > 5100*time.Millisecond {
			t.Errorf("the last of 49 small users waited %s, want 5s", got)
		}
		cancel()
		big.Wait()
		if sent == 0 {
			t.Error("the big user was starved")
		}
	})
}

func TestPacerParksRatherThanFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(syncd.Limit{Requests: 1, Per: 10 * time.Minute})
		if err := p.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for range 3 { // refused waiters take nothing from the limit
			err := p.Wait(ctx, time.Hour)
			wait, ok := errors.AsType[*WaitError](err)
			if !ok {
				t.Fatalf("got %v, want a *WaitError", err)
			}
			if got := wait.Until.Sub(start).Round(time.Millisecond); got != 10*time.Minute {
				t.Errorf("got a wait of %s, want 10m", got)
			}
		}
		if _, ok := errors.AsType[*WaitError](p.Wait(t.Context(), 9*time.Minute)); !ok {
			t.Error("a wait longer than allowed was not refused")
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("the refusals took %s", got)
		}
		if err := p.Wait(t.Context(), 11*time.Minute); err != nil || time.Since(start).Round(time.Second) != 10*time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestPacerQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(syncd.Limit{Requests: 1, Per: time.Second})
		start := time.Now()
		var passed []time.Duration
		var mu sync.Mutex
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if err := p.Wait(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				passed = append(passed, time.Since(start).Round(time.Millisecond))
			})
		}
		time.Sleep(1500 * time.Millisecond)
		p.Quiet(start.Add(30*time.Second), "429 Too Many Requests")
		p.Quiet(start.Add(20*time.Second), "does not shorten it")
		if err, ok := errors.AsType[*WaitError](p.Wait(t.Context(), time.Second)); !ok || err.Why != "429 Too Many Requests" || !err.Until.Equal(start.Add(30*time.Second)) {
			t.Errorf("got %v", err)
		}
		group.Wait()
		want := []time.Duration{0, time.Second, 30 * time.Second, 31 * time.Second, 32 * time.Second}
		if !slices.Equal(passed, want) {
			t.Errorf("got %v, want %v", passed, want)
		}
	})
}

func TestPacerSetLimitReachesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(syncd.Limit{Requests: 1, Per: time.Hour})
		if err := p.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := p.Wait(t.Context(), 24*time.Hour); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		p.SetLimit(syncd.Limit{Requests: 1, Per: time.Minute})
		group.Wait()
		if got := time.Since(start).Round(time.Second); got != 3*time.Minute {
			t.Errorf("three waiters passed after %s, want 3m", got)
		}
		p.SetLimit(syncd.Limit{})
		if got := len(passes(t, p, 1, 0)); got != 0 || p.Limited() {
			t.Error("the limit was not lifted")
		}
		for range 1000 {
			if err := p.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestPacerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(syncd.Limit{Requests: 2, Per: time.Hour, Burst: 2})
		for range 2 {
			if err := p.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := p.Wait(ctx, 24*time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(start); got != time.Minute {
			t.Errorf("the cancelled waiter came back after %s", got)
		}
		if err := p.Wait(t.Context(), 24*time.Hour); err != nil || time.Since(start).Round(time.Second) != time.Hour {
			t.Errorf("got %v after %s: the turn that was given back is lost", err, time.Since(start))
		}
	})
}
