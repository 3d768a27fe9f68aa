package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asMain makes a process of this test binary the program itself.
const asMain = "SYNCD_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A process is a running syncd.
type process struct {
	*exec.Cmd
	t    testing.TB
	done chan struct{} // closed when it has ended
	mu   sync.Mutex
	out  bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start starts syncd with arguments; it is killed at the test's end if it still runs.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self, args...), t: t, done: make(chan struct{})}
	p.Env = append(os.Environ(), asMain+"=1")
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	p.Process.Signal(syscall.SIGCONT)
	p.Process.Kill()
	<-p.done
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ended waits for the process to end by itself and returns its exit code.
func (p *process) ended(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("it still runs after %s; it said:\n%s", within, p.output())
		return -1
	}
}

// says waits until the process has written text.
func (p *process) says(text string, within time.Duration) {
	p.t.Helper()
	p.until(within, "it says "+text, func() bool { return strings.Contains(p.output(), text) })
}

func (p *process) until(within time.Duration, what string, ok func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-p.done:
			if !ok() {
				p.t.Fatalf("it ended before %s:\n%s", what, p.output())
			}
			return
		case <-ctx.Done():
			p.t.Fatalf("not within %s: %s; it said:\n%s", within, what, p.output())
		}
	}
}

// run runs a command to its end and returns what it wrote and its exit code.
func runCommand(t testing.TB, args ...string) (string, int) {
	t.Helper()
	p := start(t, args...)
	code := p.ended(2 * time.Minute)
	return p.output(), code
}

// writeFile writes a file into dir and returns its path.
func writeFile(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// feed is a CSV file of n rows.
func feed(n int) string {
	var b strings.Builder
	b.WriteString("id,name,note\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,name %d,%s\n", i, i, strings.Repeat("x", 60))
	}
	return b.String()
}
