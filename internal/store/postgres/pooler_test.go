package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/storetest"
)

// A pooler does what PgBouncer does in transaction mode: it gives a client a
// server connection for one transaction, the least recently used one, and
// resets nothing in between.
type pooler struct {
	t       *testing.T
	dsn     string // of the database behind it
	free    chan *server
	refuse  string // a startup parameter that it refuses
	lose    func(answer string) bool
	address string
}

// A server is a connection to PostgreSQL and the client that has it.
type server struct {
	net.Conn
	mu      sync.Mutex
	client  net.Conn
	pending int  // answers to Sync or Query that are due
	open    bool // something was sent since the last Sync
	give    func()
}

// startPooler puts a pooler with n server connections before a database.
func startPooler(t *testing.T, dsn string, n int) *pooler {
	t.Helper()
	p := &pooler{t: t, dsn: dsn, free: make(chan *server, n)}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p.address = listener.Addr().String()
	for range n {
		if err := p.connect(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// connect adds a server connection to those that are free.
func (p *pooler) connect() error {
	conn, err := pgconn.Connect(context.Background(), p.dsn)
	if err != nil {
		return err
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return err
	}
	s := &server{Conn: hijacked.Conn}
	p.t.Cleanup(func() { s.Close() })
	go p.answers(s)
	p.free <- s
	return nil
}

// through is the way to the database through the pooler.
func (p *pooler) through(options string) string {
	return "postgres://u:p@" + p.address + "/d?sslmode=disable&" + options
}

// greet plays the server's part when a client connects.
func (p *pooler) greet(c net.Conn) error {
	b := pgproto3.NewBackend(c, c)
	first, err := b.ReceiveStartupMessage()
	if err != nil {
		return err
	}
	startup, ok := first.(*pgproto3.StartupMessage)
	if !ok {
		return errors.New("not a startup message")
	}
	if _, sent := startup.Parameters[p.refuse]; sent {
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + p.refuse})
		b.Flush()
		return errors.New("refused")
	}
	b.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8", "server_version": "15.0"} {
		b.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return b.Flush()
}

// serve passes a client's messages on to the server connection that it has.
func (p *pooler) serve(c net.Conn) {
	defer c.Close()
	if p.greet(c) != nil {
		return
	}
	var have *server
	var mu sync.Mutex
	defer func() { // a client that leaves in a transaction takes the server connection along
		mu.Lock()
		defer mu.Unlock()
		if have != nil {
			have.Close()
			p.connect()
		}
	}()
	for {
		message, err := readMessage(c)
		if err != nil || message[0] == 'X' {
			return
		}
		mu.Lock()
		s := have
		if s == nil {
			s = <-p.free
			s.mu.Lock()
			s.client = c
			s.give = func() {
				mu.Lock()
				have = nil
				mu.Unlock()
				p.free <- s
			}
			have = s
		} else {
			s.mu.Lock()
		}
		mu.Unlock()
		s.open = true
		if message[0] == 'S' || message[0] == 'Q' {
			s.pending++
			s.open = false
		}
		s.mu.Unlock()
		if _, err := s.Write(message); err != nil {
			return
		}
	}
}

// answers passes what the server says to whoever has it, and takes it away
// when the transaction is over.
func (p *pooler) answers(s *server) {
	for {
		message, err := readMessage(s)
		if err != nil {
			return
		}
		s.mu.Lock()
		client := s.client
		over := false
		if message[0] == 'Z' {
			s.pending--
			over = s.pending == 0 && !s.open && message[5] == 'I'
		}
		give := s.give
		s.mu.Unlock()
		if client == nil {
			continue // the server's own word to a connection that nobody has had: it is being closed
		}
		if over {
			give()
		}
		if p.lose != nil && message[0] == 'C' && p.lose(strings.TrimRight(string(message[5:]), "\x00")) {
			client.Close()
			continue
		}
		client.Write(message)
	}
}

// readMessage reads one message of the protocol: a type, a length and a body.
func readMessage(r io.Reader) ([]byte, error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	message := make([]byte, 1+binary.BigEndian.Uint32(header[1:]))
	copy(message, header)
	_, err := io.ReadFull(r, message[5:])
	return message, err
}

// Behind a pooler the store behaves as the others do.
func TestStoreBehindAPooler(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		dsn := pgtest.Database(t)
		p := startPooler(t, dsn, 3)
		p.refuse = "statement_timeout"
		s := opened(t, p.through("pooler=transaction"))
		must(s.Migrate(t.Context()))(t)
		return harness(s, connect(t, dsn))
	})
}

func TestMigrateBehindAPooler(t *testing.T) {
	p := startPooler(t, pgtest.Database(t), 3)
	var wg sync.WaitGroup
	for range 5 {
		s := opened(t, p.through("pooler=transaction"))
		wg.Go(func() {
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A pooler that the DSN does not name is found out when the store is opened,
// and the error says what to do.
func TestPoolerIsFoundOut(t *testing.T) {
	for _, tt := range []struct {
		name    string
		servers int
		refuse  string
	}{
		{"one server connection", 1, ""},
		{"two server connections", 2, ""},
		{"three server connections", 3, ""},
		{"a startup parameter is refused", 3, "statement_timeout"},
	} {
		p := startPooler(t, pgtest.Database(t), tt.servers)
		p.refuse = tt.refuse
		ctx, cancel := context.WithTimeout(t.Context(), shortly)
		s, err := Open(ctx, p.through(""))
		cancel()
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, ErrPooler) || !strings.Contains(fmt.Sprint(err), "pooler=transaction") {
			t.Errorf("%s: got %v, want %v", tt.name, err, ErrPooler)
		}
	}
}

// When the answer to COMMIT is lost, the page may be there or not: the
// transaction is not done again, and the caller is told to look.
func TestUpdateLostCommit(t *testing.T) {
	dsn := pgtest.Database(t)
	p := startPooler(t, dsn, 3)
	s := opened(t, p.through("pooler=transaction"))
	must(s.Migrate(t.Context()))(t)
	lease := leased(t, s, alice)
	var once sync.Once
	p.lose = func(answer string) (lost bool) {
		if answer == "COMMIT" {
			once.Do(func() { lost = true })
		}
		return lost
	}
	tries := 0
	err := s.Update(t.Context(), lease, func(ctx context.Context, tx store.Tx) error {
		tries++
		return tx.Insert(ctx, makePage(0, 1)[:3])
	})
	if !errors.Is(err, store.ErrUnreachable) || tries != 1 {
		t.Errorf("got %v after %d tries, want the store unreachable after one", err, tries)
	}
	if got := count(t, connect(t, dsn), "SELECT count(*) FROM records"); got != 3 {
		t.Errorf("got %d records, want 3", got)
	}
}
