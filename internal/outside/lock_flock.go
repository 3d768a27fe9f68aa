//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outside

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock waits until no other process holds the file, and holds it until unlock
// or the end of this process.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
	}
}
