package outside

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// alive reports whether a process runs. One that waits to be asked how it
// ended does not.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// A server and what it started end with the test, even if they do not listen to signals.
func TestServersEndWithTheirTest(t *testing.T) {
	program := gofakes3.need(t)
	dir := t.TempDir()
	var address string
	t.Run("inner", func(t *testing.T) {
		address = serve(t, service{name: "family", dir: dir, health: "/",
			command: sh(`trap "" HUP INT TERM; sleep 3600 & echo $$ $! >pids; exec '` + program + `' -backend memory -host "$1"`)})
	})
	content, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(content))
	if len(pids) != 2 {
		t.Fatalf("pids: got %q", content)
	}
	for _, pid := range pids {
		await(t, "end "+pid, func() bool { return !alive(pid) })
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Errorf("%s still listens", address)
	}
}

// A server ends with the process that started it, however that ends.
func TestServersEndWithTheirProcess(t *testing.T) {
	if os.Getenv("SYNCD_TEST_PARENT") == "1" {
		fmt.Println(S3(t).URL)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until we are killed
		t.Fatal("outlived its parent")
	}
	gofakes3.need(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SYNCD_TEST_PARENT=1", "TMPDIR="+t.TempDir()) // it tidies up nothing
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(strings.TrimSpace(line), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	await(t, "end of the server at "+address, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}
