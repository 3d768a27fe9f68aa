package outside

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patienceToStart is how long a server may take until it answers.
const patienceToStart = time.Minute

// errPortTaken says that somebody was faster to take the port that was free.
var errPortTaken = errors.New("its port was taken")

// A service is how to run a server.
type service struct {
	name    string
	dir     string // a temporary folder: its working directory, its home, its log
	command func(address string) *exec.Cmd
	health  string // a path that is answered, with any status below 500, when it is ready
}

// A process is a server that runs.
type process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has
	err   error         // how it ended
}

// serve runs the server at a free port of loopback until the test ends, waits
// until it answers, and returns its address, such as 127.0.0.1:8090.
func serve(tb testing.TB, s service) (address string) {
	tb.Helper()
	for range 5 {
		address = FreeAddress(tb)
		p, err := s.start(address)
		if err != nil {
			tb.Fatalf("start %s: %v", s.name, err)
		}
		tb.Cleanup(func() {
			p.stop()
			if tb.Failed() {
				tb.Logf("the end of the log of %s:\n%s", s.name, p.logTail())
			}
		})
		err = p.answers(tb.Context(), "http://"+address+s.health)
		if err == nil {
			return address
		}
		if !errors.Is(err, errPortTaken) {
			tb.Fatalf("wait for %s at %s: %v", s.name, address, err)
		}
	}
	tb.Fatalf("start %s: others took five free ports in a row", s.name)
	return ""
}

// start runs the command, with nothing of our environment but the path.
func (s service) start(address string) (*process, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: s.command(address), log: filepath.Join(s.dir, s.name+"-"+port+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir = s.dir
	p.cmd.Env = append(environment(s.dir), p.cmd.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log // files, so no goroutine copies
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// environment is what a program of others sees of ours. Programs that are asked
// to stay on loopback are told of no proxy, and of no account or setting of the user.
func environment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C", "TZ=UTC"}
}

// run starts the process and waits for its end. The thread stays this
// goroutine's: were it to end before, the kernel would end the process.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	killGroup(p.cmd.Process) // what it started, should it have gone alone
	close(p.ended)
}

// stop kills the process and all that it started, and waits for its end.
func (p *process) stop() {
	select {
	case <-p.ended:
	default:
		killGroup(p.cmd.Process)
		<-p.ended
	}
}

// answers waits until the URL is answered.
func (p *process) answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patienceToStart)
	defer cancel()
	go func() { // nobody waits for an answer of a process that has ended
		defer cancel()
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := get(ctx, client, url)
		over := ctx.Err() != nil // the end of the process makes it so too, and is seen below
		select {
		case <-p.ended: // so whoever answered, if anybody did, was somebody else
			return p.early()
		default:
		}
		switch {
		case err == nil:
			return nil
		case over:
			return fmt.Errorf("no answer: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// get asks once.
func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return errors.New(resp.Status)
	}
	return nil
}

// early is the error of a process that ended before it answered.
func (p *process) early() error {
	if strings.Contains(strings.ToLower(string(p.logTail())), "address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("it ended at once (%v)", p.err)
}

// logTail returns the last lines that the process printed.
func (p *process) logTail() []byte {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return lastLines(content)
}

// FreeAddress returns an address of loopback that nobody used a moment ago. Its
// port is below those that the system hands out, so that no client and no
// listener on port 0 takes it before the server does.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	const first, ports, tries = 20000, 10000, 100
	var err error
	for range tries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports)))
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	tb.Fatalf("find a free port: %v", err)
	return ""
}
