package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestRestartKeepsTheData(t *testing.T) {
	c := Start(t, Options{Fsync: true})
	conn := connect(t, c.DSN("postgres"))
	if got, want := queryString(t, conn, "SHOW fsync"), "on"; got != want {
		t.Errorf("fsync: got %s, want %s", got, want)
	}
	mustExec(t, conn, "CREATE TABLE records (id text)")
	mustExec(t, conn, "INSERT INTO records VALUES ('issues/1')")
	for _, mode := range []Mode{Fast, Immediate} {
		before := c.Pid()
		if err := c.Restart(mode); err != nil {
			t.Fatal(err)
		}
		if after := c.Pid(); after == before || after == 0 {
			t.Errorf("%s: pid %d before, %d after", mode, before, after)
		}
		conn := connect(t, c.DSN("postgres"))
		if got, want := queryString(t, conn, "SELECT id FROM records"), "issues/1"; got != want {
			t.Errorf("%s: record: got %q, want %q", mode, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	c := Start(t, Options{TCP: true, Settings: map[string]string{
		"application_name": "it's a test",
		"max_connections":  "17",
	}})
	dsn := c.DSN("postgres")
	if !strings.Contains(dsn, "@127.0.0.1:") {
		t.Errorf("DSN with TCP: %s", dsn)
	}
	conn := connect(t, dsn)
	for query, want := range map[string]string{
		"SHOW max_connections": "17",
		"SHOW fsync":           "off",
		"SELECT reset_val FROM pg_settings WHERE name = 'application_name'": "it's a test",
	} {
		if got := queryString(t, conn, query); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	// Other users of the machine can reach the port.
	if _, err := pgx.Connect(t.Context(), strings.Replace(dsn, c.password, "guess", 1)); err == nil {
		t.Error("TCP lets in whoever does not know the password")
	}
}

func TestSettingsThatDoNotStart(t *testing.T) {
	if _, err := newestBinaries(); err != nil {
		giveUp(t, err)
	}
	c, err := Open(Options{Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil {
		t.Fatal("started")
	}
	if c != nil {
		t.Error("an error and a cluster")
	}
	if !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the error does not show the server's reason: %v", err)
	}
}

func TestStop(t *testing.T) {
	c := Start(t, Options{})
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s after Stop: %v", c.dir, err)
	}
	if got := c.Pid(); got != 0 {
		t.Errorf("pid after Stop: %d", got)
	}
	if err := c.Restart(Fast); err == nil {
		t.Error("Restart after Stop succeeds")
	}
}

// TestDiesWithItsProcess starts this test binary again as a process that opens
// a cluster and then comes to a bad end.
func TestDiesWithItsProcess(t *testing.T) {
	if end := os.Getenv("PGTEST_END"); end != "" {
		openAndEnd(end)
	}
	if _, err := newestBinaries(); err != nil {
		giveUp(t, err)
	}
	for _, end := range []string{"kill", "panic", "exit"} {
		t.Run(end, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestDiesWithItsProcess$")
			cmd.Env = append(os.Environ(), "PGTEST_END="+end)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			scan := func() string {
				if !lines.Scan() {
					t.Fatalf("no line from the process: %v, %v", lines.Err(), cmd.Wait())
				}
				return lines.Text()
			}
			dir, dsn := scan(), scan()
			conn := connect(t, dsn)

			if end == "kill" {
				err = cmd.Process.Kill()
			} else {
				err = stdin.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it ends badly: that is the point

			// The server closes the connection when it goes.
			if _, err := conn.WaitForNotification(t.Context()); err == nil {
				t.Error("a notification from nobody")
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			patience := time.After(30 * time.Second)
			for {
				if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
					break
				}
				select {
				case <-tick.C:
				case <-patience:
					t.Fatalf("%s is still there", dir)
				}
			}
		})
	}
}

// openAndEnd never returns.
func openAndEnd(end string) {
	c, err := Open(Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.dir)
	fmt.Println(c.DSN("postgres"))
	bufio.NewReader(os.Stdin).ReadByte() // until the parent closes it or kills us
	if end == "panic" {
		panic("on purpose")
	}
	os.Exit(0)
}
