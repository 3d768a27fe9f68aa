package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/syncdhq/syncd/internal/store"
)

const fullRows = 300 // of a page

// fillUp commits pages until one fails, and returns how many were committed and
// the error. Each page is tried as a whole, as package ingest does.
func fillUp(t *testing.T, l loading, from int) (pages int, err error) {
	t.Helper()
	for n := from; n < from+2000; n++ {
		rows := pageOf(n, fullRows, true)
		err := l.Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error {
			if err := tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: fmt.Sprint(n + 1), Watermark: int64(n + 1)}); err != nil {
				return err
			}
			err := tx.Try(ctx, func() error { return tx.Insert(ctx, rows) })
			if _, ok := errors.AsType[*store.DataError](err); ok {
				t.Errorf("page %d: a full disk was taken for bad data: %v", n, err)
			}
			if err != nil {
				return err
			}
			return tx.Progress(ctx, store.Progress{RunID: l.run, Counters: store.Counters{Inserted: fullRows}, Pages: 1})
		})
		if err != nil {
			return n - from, err
		}
	}
	return 2000, nil
}

// recovers fails unless the store is full after some pages, is whole, and works
// once there is room.
func recovers(t *testing.T, l loading, room func()) {
	t.Helper()
	pages, err := fillUp(t, l, 0)
	if !errors.Is(err, store.ErrFull) || pages == 0 {
		t.Fatalf("after %d pages: got error %v, want ErrFull", pages, err)
	}
	for range 3 { // it stays full
		if n, err := fillUp(t, l, pages); !errors.Is(err, store.ErrFull) {
			t.Fatalf("got error %v, want ErrFull", err)
		} else {
			pages += n
		}
	}
	whole := func() {
		t.Helper()
		intact(t, l.Store)
		cursors, err := l.Cursors(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := l.Count(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		if cursors[0].Watermark != int64(pages) || counts[0].Live != int64(pages*fullRows) {
			t.Fatalf("got %+v and %+v, want %d pages", cursors, counts, pages)
		}
	}
	whole()
	room()
	for range 3 {
		err := l.Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, pageOf(pages, fullRows, true)) })
		if err == nil {
			err = l.Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error {
				return tx.SaveCursor(ctx, store.Cursor{Stream: "issues", State: fmt.Sprint(pages + 1), Watermark: int64(pages + 1)})
			})
		}
		if err != nil {
			t.Fatalf("with room again: %v", err)
		}
		pages++
		whole()
	}
}

func TestFull(t *testing.T) {
	l := load(t)
	pragma := func(n int) {
		w, err := l.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { l.writer <- w }()
		if _, err := w.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	pragma(1000)
	recovers(t, l, func() { pragma(1 << 30) })
}

// The same on a disk that is really full.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("a small disk takes Linux and root; TestFull goes without")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "syncd-test", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	recovers(t, loadFile(t, filepath.Join(dir, "syncd.db"), Options{}), func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadOnly(t *testing.T) {
	l := load(t)
	set := func(on int) {
		w, err := l.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { l.writer <- w }()
		if _, err := w.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA query_only = %d", on)); err != nil {
			t.Fatal(err)
		}
	}
	insert := func() error {
		return l.Update(t.Context(), l.lease, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, pageOf(0, 1, true)) })
	}
	set(1)
	if err := insert(); !errors.Is(err, store.ErrFull) {
		t.Errorf("got error %v, want ErrFull", err)
	}
	set(0)
	if err := insert(); err != nil {
		t.Error(err)
	}
}
