package outside

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A verdict records how a test was ended.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper()           {}
func (v *verdict) Skip(args ...any)  { v.skipped = fmt.Sprint(args...); panic(v) }
func (v *verdict) Fatal(args ...any) { v.failed = fmt.Sprint(args...); panic(v) }

func TestGiveUp(t *testing.T) {
	for _, test := range []struct {
		name     string
		require  string
		err      error
		wantSkip bool
	}{
		{"not here", "", fmt.Errorf("build it: %w", errNotHere), true},
		{"not here but required", "1", fmt.Errorf("build it: %w", errNotHere), false},
		{"something else", "", errors.New("disk full"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SYNCD_REQUIRE_OUTSIDE", test.require)
			v := &verdict{TB: t}
			func() {
				defer func() { _ = recover() }()
				giveUp(v, test.err)
			}()
			if got := v.skipped != ""; got != test.wantSkip {
				t.Errorf("skipped: got %v, want %v", got, test.wantSkip)
			}
			if got, want := v.skipped+v.failed, test.err.Error(); got != want {
				t.Errorf("message: got %q, want %q", got, want)
			}
		})
	}
}

// TestInstalled has every program built, and those of the system's packages
// found: scripts/outside.sh runs it to install them.
func TestInstalled(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if path := p.need(t); !exists(path) {
				t.Errorf("%s is no file", path)
			}
		})
	}
	for name, find := range map[string]func() (string, error){"nginx": nginx, "chromium": chromium} {
		t.Run(name, func(t *testing.T) {
			path, err := find()
			if err != nil {
				giveUp(t, err)
			}
			if !exists(path) {
				t.Errorf("%s is no file", path)
			}
		})
	}
}

func sh(script string) func(string) *exec.Cmd {
	return func(address string) *exec.Cmd { return exec.Command("sh", "-c", script, "sh", address) }
}

func TestServerThatEndsAtOnce(t *testing.T) {
	p, err := service{name: "broken", dir: t.TempDir(), command: sh("echo out; echo no such setting >&2; exit 3")}.start("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if err := p.answers(t.Context(), "http://127.0.0.1:1/"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got error %v, want one with the exit status", err)
	}
	if got, want := string(p.logTail()), "out\nno such setting"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	command := func(string) *exec.Cmd { return exec.Command("/nonexistent/server") }
	if _, err := (service{name: "missing", dir: t.TempDir(), command: command}).start("127.0.0.1:1"); err == nil {
		t.Error("no error")
	}
}

// Whoever answers at a port that was taken is not the server.
func TestPortThatIsTaken(t *testing.T) {
	stuck := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer other.Close()
	defer close(stuck)
	address := other.Listener.Addr().String()
	program := gofakes3.need(t)
	p, err := service{name: "gofakes3", dir: t.TempDir(), command: func(address string) *exec.Cmd {
		return exec.Command(program, "-backend", "memory", "-host", address)
	}}.start(address)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if err := p.answers(t.Context(), other.URL); !errors.Is(err, errPortTaken) {
		t.Errorf("got error %v, want %v", err, errPortTaken)
	}
}

func TestEnvironmentOfServers(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.example")
	t.Setenv("SYNCD_TEST_SECRET", "secret")
	dir := t.TempDir()
	p, err := service{name: "env", dir: dir, command: sh("env; pwd -P")}.start("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	got := string(p.logTail())
	for _, bad := range []string{"proxy.example", "SYNCD_", "HOME=" + os.Getenv("HOME") + "\n"} {
		if strings.Contains(got, bad) {
			t.Errorf("a server sees %s in\n%s", bad, got)
		}
	}
	if !strings.Contains(got, "HOME="+dir+"\n") {
		t.Errorf("a server's home is not its folder:\n%s", got)
	}
}

func TestObject(t *testing.T) {
	o := Answer{Body: []byte(`{"id":12345678901234567890,"name":"a\u00e9","none":null,"list":[{"x":1}]}`)}.Object(t)
	for name, want := range map[string]string{"id": "12345678901234567890", "name": "aé", "none": "", "absent": ""} {
		if got := o.Text(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got, want := o.Objects(t, "list")[0].Text("x"), "1"; got != want {
		t.Errorf("list: got %s, want %s", got, want)
	}
}
