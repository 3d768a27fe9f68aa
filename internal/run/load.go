package run

import (
	"context"
	"sync"
)

// A load is how many bytes of pages wait for their commit.
type load struct {
	mu    sync.Mutex
	bytes int64
	less  chan struct{} // told when it shrinks
}

func newLoad() *load { return &load{less: make(chan struct{}, 1)} }

// add changes the load by n bytes.
func (l *load) add(n int64) {
	l.mu.Lock()
	l.bytes += n
	l.mu.Unlock()
	if n < 0 {
		select {
		case l.less <- struct{}{}:
		default:
		}
	}
}

// wait returns true as soon as another page may be fetched, false once ctx is done.
func (l *load) wait(ctx context.Context) bool {
	for {
		l.mu.Lock()
		full := l.bytes > aheadBytes
		l.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-l.less:
		case <-ctx.Done():
			return false
		}
	}
}
