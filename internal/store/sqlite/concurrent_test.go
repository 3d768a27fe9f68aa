package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// Eight goroutines, half of them over a second Store as another process would
// be, read and then write. None may ever be told that the database is busy.
func TestReadThenWrite(t *testing.T) {
	const goroutines, each = 8, 50
	path := filepath.Join(t.TempDir(), "syncd.db")
	l := loadFile(t, path, Options{})
	stores := []*Store{l.Store, migrated(t, path, Options{})}
	row := pageOf(0, 1, true)
	l.commit(t, 0, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, row) })
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				err := stores[g%2].Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error {
					heads, err := tx.Heads(ctx, []string{row[0].ID})
					if err != nil {
						return err
					}
					r := row[0]
					r.Version, r.Mark = heads[0].Version+1, heads[0].Mark
					return tx.Put(ctx, []store.Row{r})
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := stores[g%2].Sources(t.Context(), store.SourceFilter{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := recordsOf(t, l.Store, alice)[0].Version; got != 1+goroutines*each {
		t.Errorf("got version %d, want %d", got, 1+goroutines*each)
	}
}

// While others read, for however long, the writer goes on and they see what
// they saw at first. Afterwards the log is small again.
func TestReadersAndLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	l := loadFile(t, path, Options{})
	l.commit(t, 0, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, page(0, true)) })
	var open []*sql.Tx
	count := func(tx *sql.Tx) (n int) {
		t.Helper()
		if err := tx.QueryRow("SELECT count(*) FROM records").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range readers - 1 {
		tx, err := l.readers.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if got := count(tx); got != pageRows {
			t.Fatalf("got %d records", got)
		}
		open = append(open, tx)
	}
	// 100 MB, in rows of 1 MB.
	big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for n := range 100 {
		rows := pageOf(n+1, 1, true)
		rows[0].Data = big
		l.commit(t, n, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, rows) })
	}
	if got := size(t, path+"-wal"); got < 90<<20 {
		t.Errorf("the log has %d bytes: the readers did not hold it, and this test shows nothing", got)
	}
	for _, tx := range open {
		if got := count(tx); got != pageRows {
			t.Errorf("a reader sees %d records, want the %d it saw at first", got, pageRows)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		l.commit(t, n, func(context.Context, store.Tx) error { return nil })
	}
	if got := size(t, path+"-wal"); got > 64<<20 {
		t.Errorf("the log still has %d bytes after the readers left", got)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Another process that writes is waited for, as long as the context lasts.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.db")
	l := loadFile(t, path, Options{})
	other := migrated(t, path, Options{})
	w, err := other.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, store.Tx) error { return nil }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Update(ctx, l.lease, nothing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the context's", err)
	}
	done := make(chan error)
	go func() { done <- l.Update(t.Context(), l.lease, nothing) }()
	w.rollback()
	other.writer <- w
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	l := load(t)
	for statement, want := range map[string]error{
		"INSERT INTO schema_migrations VALUES (1, 'x', 'x', 0)":                       store.ErrConflict,
		"INSERT INTO runs (id, user_id) VALUES ('x', 'y')":                            nil, // NOT NULL
		"UPDATE sources SET user_id = ''":                                             nil, // CHECK
		"UPDATE sources SET failures = 'many'":                                        nil, // STRICT
		"UPDATE sources SET paused = '{}'":                                            nil, // CHECK
		"UPDATE sources SET user_id = zeroblob(10)":                                   nil, // STRICT
		"UPDATE sources SET connector = CAST(zeroblob(2000000000) AS TEXT)":           nil, // too big
		"UPDATE sources SET provider = replace(hex(zeroblob(65)), '00', 'é')":         nil, // CHECK, in bytes
		"UPDATE sources SET created_at = 9223372036854775808 WHERE user_id = 'alice'": nil, // STRICT: a REAL
	} {
		err := l.transact(t.Context(), func(ctx context.Context, w *writer) error {
			_, err := w.exec(ctx, statement)
			return fail(err, "try")
		})
		_, data := errors.AsType[*store.DataError](err)
		if want != nil && !errors.Is(err, want) || want == nil && !data {
			t.Errorf("%s: got error %v, want %v", statement, err, want)
		}
	}
	if fail(nil, "x") != nil {
		t.Error("no error became one")
	}
}
