package config

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How long a file must be left alone before it is read, and how long it is
// waited for at most.
const (
	settle     = 200 * time.Millisecond
	settleMost = 2 * time.Second
)

// Watch tells when the content of the file has changed, until ctx is done; then
// the channel is closed. Changes in quick succession are told once, and a file
// that is written with the same content, is missing or can't be read is not
// told of. Call it before Load, so that no change between the two is missed.
//
// Folders are watched and not the file itself: editors replace it by another
// of the same name, and Kubernetes swaps a link above it.
func Watch(ctx context.Context, path string) (<-chan struct{}, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	if err := fs.Add(filepath.Dir(path)); err != nil {
		fs.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	follow(fs, path)
	w := watch{
		sum: func() ([32]byte, bool) {
			follow(fs, path)
			return sum(path)
		},
		told: make(chan struct{}, 1),
	}
	w.last, _ = sum(path)
	go func() {
		defer fs.Close()
		w.run(ctx, fs.Events, fs.Errors)
	}()
	return w.told, nil
}

// follow watches the folder that the file's links lead to as well. A folder
// that can't be watched is left: the file's own still is.
func follow(fs *fsnotify.Watcher, path string) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		_ = fs.Add(filepath.Dir(target))
	}
}

// sum returns a checksum of the file's content, and whether it can be read.
func sum(path string) (out [32]byte, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return out, false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSize+1)); err != nil {
		return out, false
	}
	return [32]byte(h.Sum(nil)), true
}

// A watch turns events in the file's folder into news of its content.
type watch struct {
	sum  func() ([32]byte, bool)
	last [32]byte
	told chan struct{}
}

func (w *watch) run(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	defer close(w.told)
	var quiet, most <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-events:
			if !open {
				return
			}
		case _, open := <-errs:
			// Events were lost, such as by an overflow: so look.
			if !open {
				return
			}
		case <-quiet:
			quiet, most = nil, nil
			w.look()
			continue
		case <-most:
			quiet, most = nil, nil
			w.look()
			continue
		}
		quiet = time.After(settle)
		if most == nil {
			most = time.After(settleMost)
		}
	}
}

// look tells of new content. Nobody needs to be told twice before having looked.
func (w *watch) look() {
	now, ok := w.sum()
	if !ok || now == w.last {
		return
	}
	w.last = now
	select {
	case w.told <- struct{}{}:
	default:
	}
}
