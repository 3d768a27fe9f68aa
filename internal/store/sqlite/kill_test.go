package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

const (
	killRows  = 100 // of a page
	killPages = 5_000
)

// writePages goes on with the pages of alice's source from the cursor, and says
// so on its standard output after each. It never comes to its end.
func writePages(path string) int {
	if err := pagesFrom(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func pagesFrom(ctx context.Context, path string) error {
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.Migrate(ctx); err != nil {
		return err
	}
	if err := s.Add(ctx, store.Spec{Key: alice}); err != nil {
		return err
	}
	c, err := s.Acquire(ctx, alice, "child", time.Hour)
	if err != nil {
		return err
	}
	run := fmt.Sprint("run-", c.Token)
	if err := s.Begin(ctx, c.Lease, store.Run{ID: run, Resumes: c.Previous}, time.Time{}, time.Time{}); err != nil {
		return err
	}
	cursors, err := s.Cursors(ctx, alice)
	if err != nil {
		return err
	}
	n := 0
	if len(cursors) > 0 {
		n = int(cursors[0].Watermark)
	}
	for ; n < killPages; n++ {
		if err := s.Update(ctx, c.Lease, func(ctx context.Context, tx store.Tx) error { return killPage(ctx, tx, run, n) }); err != nil {
			return err
		}
		fmt.Println("page", n)
	}
	return s.Finish(ctx, c.Lease, run, store.Outcome{State: store.Done})
}

func killPage(ctx context.Context, tx store.Tx, run string, n int) error {
	rows := pageOf(n, killRows, true)
	changes := make([]store.Change, len(rows))
	for i := range rows {
		changes[i] = store.Change{ID: rows[i].ID, Stream: rows[i].Stream, Kind: "inserted", Version: 1, RunID: run}
	}
	// The cursor comes first: a transaction that were not whole would show.
	if err := tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: fmt.Sprint(n + 1), Watermark: int64(n + 1), RunID: run}); err != nil {
		return err
	}
	if err := tx.Insert(ctx, rows); err != nil {
		return err
	}
	if err := tx.Change(ctx, changes); err != nil {
		return err
	}
	return tx.Progress(ctx, store.Progress{RunID: run, Counters: store.Counters{Inserted: killRows}, Pages: 1})
}

// However a daemon dies, the file is whole, and it holds the pages up to the
// cursor and nothing else.
func TestKill(t *testing.T) {
	kills := 24
	if testing.Short() {
		kills = 5
	}
	path := filepath.Join(t.TempDir(), "syncd.db")
	random := rand.New(rand.NewPCG(5, 6))
	pages := int64(0)
	for range kills {
		killed(t, path, random)
		s := migrated(t, path, Options{})
		was := pages
		pages = wholePages(t, s)
		if pages < was {
			t.Fatalf("the cursor went back from page %d to %d", was, pages)
		}
		do(t, s, "UPDATE sources SET lease_until = 0 WHERE "+ofSource, alice.User, alice.Provider)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if pages < int64(kills) {
		t.Errorf("%d pages after %d kills: the children did not get on", pages, kills)
	}
	s := migrated(t, path, Options{})
	if _, err := s.Claim(t.Context(), "heir", 1, time.Hour); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(t.Context(), store.RunFilter{})
	if err != nil || len(runs) != kills {
		t.Fatalf("got %d runs, %v, want %d", len(runs), err, kills)
	}
	for _, r := range runs {
		if r.State != store.Abandoned {
			t.Errorf("run %s: %s, want it abandoned", r.ID, r.State)
		}
	}
}

// killed starts a child on the file and kills it within a few pages.
func killed(t *testing.T, path string, random *rand.Rand) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childFile+"="+path)
	var complaint strings.Builder
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 1 + random.IntN(4) {
		if !lines.Scan() {
			break
		}
	}
	// A moment that lies anywhere in a page, which takes some milliseconds.
	for until := time.Now().Add(time.Duration(random.IntN(8000)) * time.Microsecond); time.Now().Before(until); {
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := child.Wait(); err == nil || complaint.String() != "" {
		t.Fatalf("the child ended by itself: %v, %s", err, complaint.String())
	}
}

// wholePages checks the file, and that its rows are those of the pages up to
// the cursor, and returns how many pages those are.
func wholePages(t *testing.T, s *Store) int64 {
	t.Helper()
	intact(t, s)
	var cursor, records, changes, counted, last int64
	err := s.read(t.Context(), "count", `SELECT COALESCE((SELECT watermark FROM cursors), 0), (SELECT count(*) FROM records),
		(SELECT count(*) FROM changes), (SELECT COALESCE(sum(inserted), 0) FROM runs), (SELECT COALESCE(max(mark), 0) FROM records)`, nil,
		func(r *sql.Rows) error { return r.Scan(&cursor, &records, &changes, &counted, &last) })
	if err != nil {
		t.Fatal(err)
	}
	want := cursor * killRows
	if records != want || changes != want || counted != want {
		t.Fatalf("the cursor is at page %d, but there are %d records, %d changes, %d counted, want %d of each", cursor, records, changes, counted, want)
	}
	if cursor > 0 && last != (cursor-1)*pageRows+killRows {
		t.Fatalf("the cursor is at page %d, but the last record is %d", cursor, last)
	}
	return cursor
}

func intact(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.readers.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity check: %s, %v", verdict, err)
	}
}
