package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// How often a transaction is done: at most attempts times if it collides with
// others, at most once more if its connection broke before COMMIT was sent.
const (
	attempts  = 8
	reconnect = 1
)

// errBroken marks a connection that broke before anything could be written:
// before COMMIT was sent, or while something was only read.
var errBroken = errors.New("the connection broke")

// again runs f until it neither collides nor breaks, within the limits above,
// with a random pause in between that doubles. What still collides then is
// store.ErrConflict.
func (s *Store) again(ctx context.Context, f func() error) error {
	pause := 4 * time.Millisecond
	broken := 0
	for n := 1; ; n++ {
		err := f()
		switch {
		case errors.Is(err, errAgain):
			if n == attempts {
				return fmt.Errorf("%w, %d times: %w", store.ErrConflict, n, err)
			}
		case errors.Is(err, errBroken) && broken < reconnect && ctx.Err() == nil:
			broken++
			s.pool.Reset() // after a restart of the server, every other one is broken too
		default:
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
		pause *= 2
	}
}
