package schedule

import (
	"fmt"
	"testing"
	"time"
)

func TestOffset(t *testing.T) {
	// Written down once: a change of these is a change of everybody's schedule.
	for _, tt := range []struct {
		user, provider string
		window, want   time.Duration
	}{
		{"alice", "github", 10 * time.Minute, 165614551 * time.Microsecond},
		{"alice", "stripe", 10 * time.Minute, 30974695 * time.Microsecond},
		{"", "", time.Hour, 2465630927 * time.Microsecond},
		{"alice", "github", 0, 0},
		{"alice", "github", -time.Minute, 0},
		{"alice", "github", 1, 0},
	} {
		if got := Offset(tt.user, tt.provider, tt.window); got != tt.want {
			t.Errorf("Offset(%q, %q, %v) = %v, want %v", tt.user, tt.provider, tt.window, int64(got), tt.want)
		}
	}
}

func TestOffsetKeepsPartsApart(t *testing.T) {
	seen := map[time.Duration]string{}
	for _, source := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", "abc"}, {"a/b", "c"}, {"a", "b/c"}, {"a\x00b", "c"}, {"a", "\x00bc"}, {"a", "b\x00c"}} {
		got := Offset(source[0], source[1], 1<<62)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %s have the same offset", source, other)
		}
		seen[got] = fmt.Sprintf("%q", source)
	}
}

func TestOffsetSpreads(t *testing.T) {
	const (
		sources = 5000
		window  = time.Minute
		parts   = 60
	)
	var counts [parts]int
	for i := range sources {
		got := Offset(fmt.Sprintf("user-%d", i), "github", window)
		if got < 0 || got >= window {
			t.Fatalf("got offset %v, want 0 to %v", got, window)
		}
		if got%time.Microsecond != 0 {
			t.Fatalf("got offset %d ns, want whole microseconds", got)
		}
		counts[got*parts/window]++
	}
	for i, got := range counts {
		if mean := sources / parts; got < mean/2 || got > mean*2 {
			t.Errorf("second %d has %d sources, want about %d", i, got, mean)
		}
	}
}
