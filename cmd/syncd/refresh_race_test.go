package main

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/outside"
)

// How many processes use one account at the same time.
const (
	raceDaemons  = 3
	raceCommands = 17
)

// Twenty processes find at the same moment that the token which they share is
// refused. One of them asks the server for another, which all of them use.
func TestOneRefreshForAll(t *testing.T) {
	onEachStore(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, outside.GiteaConfig{})
		d.connect(d.gitea.LogIn(), d.gitea.Authorize())
		d.has(d.run(0, "sync", "alice", "desk"), "5 inserted")

		// A source is run by one daemon at a time, so one of the daemons asks with the
		// commands, and the other two wait for their turn.
		together := newMeeting(raceCommands + 1)
		d.toll.set(hooks{refusal: together.wait, refresh: func(pass func() answer) answer {
			got := pass()
			<-time.After(time.Second) // the others wait meanwhile, or would ask as well
			return got
		}})
		d.toll.refuseAll()
		var daemons, commands []*process
		for range raceDaemons {
			daemons = append(daemons, start(t, "run", "--config", d.config))
		}
		for range raceCommands {
			commands = append(commands, start(t, "connectors", "try", "alice", "desk", "--config", d.config))
		}
		for _, p := range commands {
			if code := p.ended(2 * time.Minute); code != 0 {
				t.Errorf("exit %d:\n%s", code, p.output())
			}
			d.has(p.output(), "repositories", "2 records")
		}
		look := open(t, d.dsn)
		before := len(runs(t, look))
		daemons[0].until(time.Minute, "the daemons go on", func() bool { return len(runs(t, look)) > before+2 })
		for _, p := range daemons {
			p.signal(os.Interrupt)
		}
		for _, p := range daemons {
			p.ended(30 * time.Second)
		}
		if got := d.toll.asked(); got != 1 {
			t.Errorf("the server was asked for a refresh %d times, want once", got)
		}
		t.Logf("%d of %d processes were refused at the same moment", together.came(), raceCommands+1)
		if got := together.came(); got < raceCommands/2 {
			t.Errorf("only %d processes were refused: the test proves too little", got)
		}
		if got := d.paused(); got != "" {
			t.Errorf("paused: %s", got)
		}
	})
}

// A meeting has those who come wait for each other, for a while.
type meeting struct {
	mu        sync.Mutex
	expected  int
	arrived   int
	complete  chan struct{}
	patience  time.Duration
	giveUpAll *time.Timer
}

func newMeeting(expected int) *meeting {
	return &meeting{expected: expected, complete: make(chan struct{}), patience: 15 * time.Second}
}

// wait returns when all have come, or some time after the first.
func (m *meeting) wait() {
	m.mu.Lock()
	m.arrived++
	switch {
	case m.arrived == m.expected && m.giveUpAll.Stop():
		close(m.complete)
	case m.arrived == 1:
		m.giveUpAll = time.AfterFunc(m.patience, func() { close(m.complete) })
	}
	m.mu.Unlock()
	<-m.complete
}

// came returns how many have.
func (m *meeting) came() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.arrived
}
