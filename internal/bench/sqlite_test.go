package bench

import (
	"database/sql"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/syncdhq/syncd/internal/store/sqlite"
)

// bareInserts inserts n records into the table `records` of a database of its
// own, by one prepared statement, in transactions of a page each.
func bareInserts(b *testing.B, n int) time.Duration {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bare.db")
	s, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	s.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	insert, err := db.Prepare(`INSERT INTO records (user_id, provider, stream, external_id, data, hash, mark, version, absent, first_seen_at, updated_at, run_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	hash := make([]byte, 16)
	began := time.Now()
	for from := 0; from < n; from += pageSize {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		stmt := tx.Stmt(insert)
		for i := from; i < min(from+pageSize, n); i++ {
			data := string(appendRecord(make([]byte, 0, 480), i, false))
			if _, err := stmt.Exec("alice", "bench", "items", "items/"+strconv.Itoa(i), data, hash, int64(mark(i, false)), 1, 1, 1, "run"); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
