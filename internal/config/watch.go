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

// unasked is how often the files are looked at without an event: the
// configuration may have come to name others, and network drives tell of nothing.
const unasked = time.Minute

// Watch tells when the content of the configuration has changed, until ctx is
// done; then the channel is closed. That is the file at path and those that
// files returns, such as Config.Files of the configuration in force. Changes in
// quick succession are told once, and a file that is written with the same
// content, is missing or can't be read is not told of; without the file at path
// nothing is. Call it before Load, so that no change between the two is missed.
//
// Folders are watched and not the files themselves: editors replace them by
// others of the same name, and Kubernetes swaps a link above them.
func Watch(ctx context.Context, path string, files func() []string) (<-chan struct{}, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	if err := fs.Add(filepath.Dir(path)); err != nil {
		fs.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	look := func() (sums, bool) {
		others := files()
		follow(fs, path)
		for _, file := range others {
			follow(fs, file)
		}
		return sumsOf(path, others)
	}
	w := watch{look: look, told: make(chan struct{}, 1)}
	w.last, _ = look()
	go func() {
		defer fs.Close()
		w.run(ctx, fs.Events, fs.Errors)
	}()
	return w.told, nil
}

// follow watches a file's folder, and the folder that the file's links lead to
// as well. One that can't be watched is left.
func follow(fs *fsnotify.Watcher, path string) {
	_ = fs.Add(filepath.Dir(path))
	if target, err := filepath.EvalSymlinks(path); err == nil {
		_ = fs.Add(filepath.Dir(target))
	}
}

// sums are the checksums of files' contents, by path.
type sums map[string][32]byte

// sumsOf returns the checksums of the files that can be read, and whether the one
// at path is among them. Another may be missing: the configuration that names it
// is in force until one without it is read.
func sumsOf(path string, others []string) (sums, bool) {
	out := make(sums, 1+len(others))
	for _, file := range append([]string{path}, others...) {
		if sum, err := sumOf(file); err == nil {
			out[file] = sum
		}
	}
	_, ok := out[path]
	return out, ok
}

func sumOf(path string) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSize+1)); err != nil {
		return sum, err
	}
	return [32]byte(h.Sum(nil)), nil
}

// differ reports whether a file has another content, or was not looked at before.
func (s sums) differ(from sums) bool {
	for path, sum := range s {
		if old, ok := from[path]; !ok || old != sum {
			return true
		}
	}
	return false
}

// A watch turns events in the files' folders into news of their content.
type watch struct {
	look func() (sums, bool)
	last sums
	told chan struct{}
}

func (w *watch) run(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	defer close(w.told)
	var quiet, most <-chan time.Time
	regular := time.NewTicker(unasked)
	defer regular.Stop()
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
			w.tell()
			continue
		case <-most:
			quiet, most = nil, nil
			w.tell()
			continue
		case <-regular.C:
			// Not at once: the file may just be written.
		}
		quiet = time.After(settle)
		if most == nil {
			most = time.After(settleMost)
		}
	}
}

// tell tells of new content. Nobody needs to be told twice before having looked.
func (w *watch) tell() {
	now, ok := w.look()
	if !ok || !now.differ(w.last) {
		return
	}
	w.last = now
	select {
	case w.told <- struct{}{}:
	default:
	}
}
