package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// told reports whether there is news, without waiting.
func told(ch <-chan struct{}) bool {
	select {
	case _, ok := <-ch:
		return ok
	default:
		return false
	}
}

func TestWatchSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var content atomic.Uint32
		var unreadable atomic.Bool
		w := watch{
			look: func() (sums, bool) { return sums{"": {byte(content.Load())}}, !unreadable.Load() },
			last: sums{"": {}},
			told: make(chan struct{}, 1),
		}
		ctx, cancel := context.WithCancel(t.Context())
		events, errs := make(chan fsnotify.Event), make(chan error)
		go w.run(ctx, events, errs)
		check := func(what string, wait time.Duration, want bool) {
			t.Helper()
			time.Sleep(wait) // in the bubble's time
			synctest.Wait()
			if got := told(w.told); got != want {
				t.Errorf("%s: told %t, want %t", what, got, want)
			}
		}
		events <- fsnotify.Event{}
		check("same content", time.Minute, false)
		content.Store(1)
		events <- fsnotify.Event{}
		check("too early", settle/2, false)
		check("new content", settle, true)
		check("nothing more", time.Minute, false)
		content.Store(2)
		for range 5 {
			events <- fsnotify.Event{}
			time.Sleep(settle / 2)
		}
		check("while it is written", 0, false)
		check("once for all", settle, true)
		check("nothing more", time.Minute, false)
		content.Store(3)
		for range int(2 * settleMost / settle) {
			events <- fsnotify.Event{}
			time.Sleep(settle / 2)
		}
		check("written without end", 0, true)
		unreadable.Store(true)
		content.Store(4)
		events <- fsnotify.Event{}
		check("missing", time.Minute, false)
		unreadable.Store(false)
		errs <- errors.New("events were lost")
		check("back, seen after an error", time.Minute, true)
		cancel()
		synctest.Wait()
		if _, open := <-w.told; open {
			t.Errorf("the channel is open after the end")
		}
	})
}

// A look without an event does not find a file that is half written, and finds
// what no event told of.
func TestWatchLooksUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var content atomic.Uint32
		w := watch{
			look: func() (sums, bool) { return sums{"": {byte(content.Load())}}, true },
			last: sums{"": {}},
			told: make(chan struct{}, 1),
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := make(chan fsnotify.Event)
		go w.run(ctx, events, make(chan error))
		time.Sleep(unasked - settle/2) // in the bubble's time
		content.Store(1)
		events <- fsnotify.Event{}
		for _, step := range []struct {
			what string
			wait time.Duration
			want bool
		}{
			{"while it is written", settle * 3 / 4, false},
			{"when it is left alone", settle, true},
			{"the same content", 2 * unasked, false},
		} {
			time.Sleep(step.wait)
			synctest.Wait()
			if got := told(w.told); got != step.want {
				t.Errorf("%s: told %t, want %t", step.what, got, step.want)
			}
		}
		content.Store(2)
		time.Sleep(unasked + settle)
		synctest.Wait()
		if !told(w.told) {
			t.Error("new content without an event: not told of")
		}
	})
}

// TestWatch changes a file in the ways that editors and Kubernetes do.
func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	first, second := filepath.Join(dir, "..1", "config.yaml"), filepath.Join(dir, "..2", "config.yaml")
	for _, f := range []string{first, second} {
		if err := os.Mkdir(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, f, f)
	}
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, at+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at+".new", at); err != nil {
			t.Fatal(err)
		}
	}
	link("..1", filepath.Join(dir, "..data"))
	link(filepath.Join("..data", "config.yaml"), file)

	ctx, cancel := context.WithCancel(t.Context())
	other := filepath.Join(t.TempDir(), "tickets.yaml") // comes into play later
	write(t, other, "old")
	var named atomic.Bool
	changed, err := Watch(ctx, file, func() []string {
		if named.Load() {
			return []string{other}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the link above is swapped", func() { link("..2", filepath.Join(dir, "..data")) }},
		{"the file behind the links is written", func() { write(t, second, "new") }},
		{"the link is replaced by a file", func() {
			write(t, file+"~", "newer")
			if err := os.Rename(file+"~", file); err != nil {
				t.Fatal(err)
			}
		}},
		{"the file is written", func() { write(t, file, "newest") }},
		{"the file is taken away and comes back", func() {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			named.Store(true) // what is read now names another file
			write(t, file, "back")
		}},
		{"a provider file in another folder is written", func() { write(t, other, "new") }},
		{"a provider file is taken away, and the file no longer names it", func() {
			if err := os.Remove(other); err != nil {
				t.Fatal(err)
			}
			write(t, file, "without it") // what is in force names it still
		}},
		{"a provider file that was missing then is back as it was", func() { write(t, other, "new") }},
	} {
		step.do()
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: not told of", step.name)
		}
	}
	cancel()
	for range changed {
	}
}

func TestWatchNothing(t *testing.T) {
	if _, err := Watch(t.Context(), filepath.Join(t.TempDir(), "no", "config.yaml"), func() []string { return nil }); err == nil {
		t.Errorf("Watch of a folder that is not there: got no error")
	}
}
