package pgtest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed supervisor.sh
var supervisorScript string

// defaultPort only names the socket's file: a server without TCP listens nowhere else.
const defaultPort = 5432

// maxDirectory keeps the path of the socket, with its file name of 15 bytes,
// under the 103 bytes that macOS allows (Linux: 107).
const maxDirectory = 88

// Options say how a server differs from the shared one, which is their zero value.
type Options struct {
	Fsync    bool              // be as durable, and as slow, as an installed server
	Settings map[string]string // of postgresql.conf
	TCP      bool              // listen on 127.0.0.1 too; DSN then gives that address, with a password
}

// Mode says how a server is stopped.
type Mode string

const (
	Fast      Mode = "fast"      // connections are ended, everything is written out
	Immediate Mode = "immediate" // as in a crash: the next start recovers from the log
)

// A Cluster is a running PostgreSQL server in a temporary directory.
type Cluster struct {
	dir      string
	port     int
	password string // for TCP; "" without

	mu         sync.Mutex // one command at a time
	supervisor *exec.Cmd
	commands   *os.File // the server lives until this closes
	answers    *os.File
	lines      *bufio.Reader // of answers
}

// Open starts a server: the newest that the machine has. Without any the error
// is [ErrNoBinaries].
func Open(opts Options) (*Cluster, error) {
	bin, err := newestBinaries()
	if err != nil {
		return nil, err
	}
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	c := &Cluster{port: defaultPort}
	if c.dir, err = newDirectory(opts, who); err != nil {
		return nil, err
	}
	if err := c.supervise(bin, who); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if err := c.create(opts); err != nil {
		log := c.logTail()
		return nil, errors.Join(fmt.Errorf("start PostgreSQL of %s: %w\n%s", bin, err, log), c.Stop())
	}
	return c, nil
}

// DSN returns the URL of a database of this server; there is one named postgres.
func (c *Cluster) DSN(database string) string {
	if c.password == "" {
		return socketURL(c.dir, c.port, database)
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", c.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Restart stops the server, if it runs, and starts it at the same address.
func (c *Cluster) Restart(mode Mode) error {
	if err := c.command(string(mode)); err != nil {
		return err
	}
	return c.command("start")
}

// Stop ends the server at once and removes everything of it. The second call does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supervisor == nil {
		return nil
	}
	supervisor := c.supervisor
	c.supervisor = nil
	err := errors.Join(c.commands.Close(), supervisor.Wait(), c.answers.Close())
	if err != nil {
		return fmt.Errorf("stop PostgreSQL in %s: %w", c.dir, err)
	}
	return nil
}

// Pid returns the process id of the server, or 0 if it does not run.
func (c *Cluster) Pid() int {
	content, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}

// supervise starts the shell that owns the server. It has a session of its
// own, so that Ctrl-C in a terminal reaches the tests and not their server.
func (c *Cluster) supervise(bin string, who *account) error {
	stdin, commands, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("open a pipe to PostgreSQL's supervisor: %w", err)
	}
	defer stdin.Close()
	answers, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("open a pipe to PostgreSQL's supervisor: %w", err), commands.Close())
	}
	defer stdout.Close()

	cmd := exec.Command("/bin/sh", "-c", supervisorScript, "pgtest", bin, c.dir)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LC_ALL=C"} // none of the caller's PG* variables
	// Files, not readers: exec starts no goroutine for those, and so the first
	// caller may well be in a synctest bubble or watched by goleak.
	cmd.Stdin, cmd.Stdout = stdin, stdout
	cmd.SysProcAttr = detached(who)
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL's supervisor: %w", err), commands.Close(), answers.Close())
	}
	c.supervisor, c.commands, c.answers, c.lines = cmd, commands, answers, bufio.NewReader(answers)
	return nil
}

// create makes the server's files and starts it.
func (c *Cluster) create(opts Options) error {
	password := rand.Text()
	// Written by us but read by the server's user; nobody else gets into the directory.
	if err := os.WriteFile(filepath.Join(c.dir, "password"), []byte(password+"\n"), 0o644); err != nil {
		return err
	}
	if err := c.command("init"); err != nil {
		return err
	}
	listen := ""
	if opts.TCP {
		port, err := freePort()
		if err != nil {
			return err
		}
		c.port, c.password, listen = port, password, "127.0.0.1"
	}
	settings := map[string]string{
		"listen_addresses":        listen,
		"max_connections":         "200",
		"port":                    strconv.Itoa(c.port),
		"timezone":                "UTC",
		"unix_socket_directories": c.dir,
	}
	if !opts.Fsync {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		settings["max_wal_size"] = "256MB" // it may be memory that the log fills
		settings["synchronous_commit"] = "off"
	}
	if err := c.configure(settings); err != nil {
		return err
	}
	if err := c.configure(opts.Settings); err != nil {
		return err
	}
	return c.command("start")
}

// configure appends to postgresql.conf, where the last line about a setting counts.
func (c *Cluster) configure(settings map[string]string) error {
	var lines strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&lines, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	f, err := os.OpenFile(filepath.Join(c.dir, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines.String())
	return errors.Join(err, f.Close())
}

// command has the supervisor do one thing, and waits until it is done.
func (c *Cluster) command(word string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supervisor == nil {
		return fmt.Errorf("%s PostgreSQL in %s: it was stopped for good", word, c.dir)
	}
	if _, err := fmt.Fprintln(c.commands, word); err != nil {
		return fmt.Errorf("%s PostgreSQL: %w", word, err)
	}
	status, err := c.lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s PostgreSQL: %w", word, err)
	}
	if status != "0\n" {
		return fmt.Errorf("%s PostgreSQL: exit status %s", word, strings.TrimSpace(status))
	}
	return nil
}

// logTail returns the last lines that the server and its tools wrote.
func (c *Cluster) logTail() []byte {
	content, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-30):], []byte("\n"))
}

// freePort returns a TCP port that nobody used a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// newDirectory makes the server's directory: one that its user can reach, with
// a path short enough for a socket, and in memory if nothing needs to be durable.
func newDirectory(opts Options, who *account) (string, error) {
	places := []string{os.TempDir(), "/tmp", "/var/tmp"}
	if m := memory(); m != "" && !opts.Fsync {
		places = slices.Insert(places, 0, m)
	}
	var all error
	for _, place := range slices.Compact(places) {
		dir, err := os.MkdirTemp(place, "syncd-pg-")
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		if err = usable(dir, who); err == nil {
			return dir, nil
		}
		all = errors.Join(all, err, os.RemoveAll(dir))
	}
	return "", fmt.Errorf("make a directory for PostgreSQL: %w", all)
}

// usable hands the directory to the server's user, if it is any good to it.
func usable(dir string, who *account) error {
	if len(dir) > maxDirectory {
		return fmt.Errorf("%s: too long for the path of a socket", dir)
	}
	if who == nil {
		return nil
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		info, err := os.Stat(up)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s: closed to the user %s", up, who.name)
		}
		if up == filepath.Dir(up) {
			return os.Chown(dir, who.uid, who.gid)
		}
	}
}
