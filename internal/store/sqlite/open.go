package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/syncdhq/syncd/internal/store"
)

// Options are how a file is opened. The zero value is right for a daemon.
type Options struct {
	// Synchronous is "normal" (the default) or "full": see the package.
	Synchronous string
	// Clock is the database's clock; nil is time.Now.
	Clock func() time.Time
}

// Store implements store.Store. It may be used by many goroutines at once.
type Store struct {
	path    string
	clock   func() time.Time
	write   *sql.DB      // of one connection, which writer holds
	writer  chan *writer // holds the writer while nobody uses it
	readers *sql.DB
	closed  chan struct{}
	once    sync.Once
}

var _ store.Store = (*Store)(nil)

const (
	readers = 4
	// busyTimeout is how long SQLite waits for another process, each time.
	busyTimeout = 5 * time.Second
	// walPages is after how many pages of 4 KiB the log is written back.
	walPages = 4000
	// walLimit is to what the log's file is cut when it starts over, in bytes.
	walLimit = 32 << 20
	// cacheKiB is the writer's page cache: it holds the inner pages of the
	// indexes of tens of millions of records.
	cacheKiB = 32 << 10
)

// Open opens the file at path, or makes an empty one readable by its owner
// alone. The path may end in ?synchronous=full. It creates no table: see
// Migrate.
func Open(ctx context.Context, path string) (*Store, error) {
	path, query, found := strings.Cut(path, "?")
	var o Options
	if found {
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, fmt.Errorf("open %s: settings %q: %w", path, query, err)
		}
		for name := range values {
			if name != "synchronous" {
				return nil, fmt.Errorf("open %s: there is no setting %q (there is synchronous)", path, name)
			}
		}
		o.Synchronous = values.Get("synchronous")
	}
	return OpenFile(ctx, path, o)
}

// OpenFile is Open with options; in path a question mark is one.
func OpenFile(ctx context.Context, path string, o Options) (*Store, error) {
	synchronous := strings.ToLower(o.Synchronous)
	switch synchronous {
	case "":
		synchronous = "normal"
	case "normal", "full":
	default:
		return nil, fmt.Errorf("open %s: synchronous is normal or full, not %q", path, o.Synchronous)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, clock: o.Clock, writer: make(chan *writer, 1), closed: make(chan struct{})}
	if s.clock == nil {
		s.clock = time.Now
	}
	err := s.connect(ctx, synchronous)
	if is(err, codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT) {
		return nil, fmt.Errorf("open %s: the file is not an SQLite database, or is damaged: %w", path, err)
	}
	if err != nil {
		return nil, fail(err, "open %s", path)
	}
	return s, nil
}

// connect opens the connections, all or none.
func (s *Store) connect(ctx context.Context, synchronous string) (err error) {
	s.write, err = s.pool(1, url.Values{
		"_pragma": {
			"synchronous(" + synchronous + ")",
			fmt.Sprintf("wal_autocheckpoint(%d)", walPages),
			fmt.Sprintf("journal_size_limit(%d)", walLimit),
			fmt.Sprintf("cache_size(-%d)", cacheKiB),
			"temp_store(memory)", // the copies of pages that take a statement back: a file costs 10 %
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.write.Close()
		}
	}()
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	w := &writer{conn: conn, statements: map[string]*sql.Stmt{}}
	if err := w.useWAL(ctx); err != nil {
		return errors.Join(err, w.close())
	}
	s.readers, err = s.pool(readers, url.Values{"_query_only": {"1"}})
	if err != nil {
		return errors.Join(err, w.close())
	}
	s.writer <- w
	return nil
}

// pool returns a pool of up to n connections to the file.
func (s *Store) pool(n int, settings url.Values) (*sql.DB, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return nil, err
	}
	settings.Set("_busy_timeout", fmt.Sprint(busyTimeout.Milliseconds()))
	settings.Set("_foreign_keys", "1")
	settings.Set("_dqs", "0")
	settings.Set("_error_rc", "1")
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: settings.Encode()}
	connector, err := driver.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// prepareFile says in words what SQLite says in codes, and makes a new file
// that nobody else can read. SQLite gives its other files the same mode.
func prepareFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("open %s: it is a folder, not a file", path)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("open %s: it is not a regular file", path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open %s: the folder %s does not exist", path, filepath.Dir(path))
		}
	case err != nil:
		return fmt.Errorf("open the store: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open the store: no permission to write %s: %w", path, err)
	}
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer f.Close()
	const magic = "SQLite format 3\x00" // https://www.sqlite.org/fileformat.html, section 1.2.1
	head := make([]byte, len(magic))
	switch n, err := io.ReadFull(f, head); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil // new
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("open the store: %w", err)
	case string(head) != magic:
		return fmt.Errorf("open %s: the file is not an SQLite database", path)
	}
	return nil
}

// Close waits for the transactions under way and closes the connections.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		w := <-s.writer
		err = errors.Join(s.readers.Close(), w.close(), s.write.Close())
	})
	return err
}

// Now implements store.Queue.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return fromMicro(s.now()), ctx.Err()
}
