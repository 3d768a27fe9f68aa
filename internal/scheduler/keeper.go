package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// A Keeper renews the leases of all runs of a daemon, in one statement each
// third of their time, and cancels a run whose lease is gone or could not be
// renewed in time. Use NewKeeper.
type Keeper struct {
	store store.Queue
	ttl   time.Duration

	mu   sync.Mutex
	held map[store.Lease]*kept
}

type kept struct {
	cancel context.CancelCauseFunc
	good   time.Time // by our own clock: when what last renewed it was sent
}

// NewKeeper returns a keeper of leases that last ttl. Run must be called.
func NewKeeper(s store.Queue, ttl time.Duration) *Keeper {
	return &Keeper{store: s, ttl: ttl, held: map[store.Lease]*kept{}}
}

// Keep renews the lease until the returned function is called. The context is
// cancelled with the cause store.ErrLeaseLost as soon as the lease may be held
// by another. taken is a moment of our own clock before the lease was taken.
func (k *Keeper) Keep(ctx context.Context, lease store.Lease, taken time.Time) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k.mu.Lock()
	k.held[lease] = &kept{cancel, taken}
	k.mu.Unlock()
	return ctx, func() {
		k.mu.Lock()
		delete(k.held, lease)
		k.mu.Unlock()
		cancel(nil)
	}
}

// Run renews until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.renew(ctx)
		}
	}
}

func (k *Keeper) renew(ctx context.Context) {
	k.mu.Lock()
	leases := make([]store.Lease, 0, len(k.held))
	for lease := range k.held {
		leases = append(leases, lease)
	}
	k.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	sent := time.Now()
	renewCtx, cancel := context.WithTimeout(ctx, k.ttl/3)
	lost, err := k.store.Renew(renewCtx, leases, k.ttl)
	cancel()

	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		for _, lease := range leases {
			if h := k.held[lease]; h != nil {
				h.good = sent
			}
		}
		for _, lease := range lost {
			if h := k.held[lease]; h != nil {
				h.cancel(store.ErrLeaseLost)
			}
		}
		return
	}
	// The next try is a third of the lease away: whoever would not live to see
	// it must stop now, before another daemon may start.
	for _, h := range k.held {
		if time.Since(h.good) >= k.ttl*2/3 {
			h.cancel(store.ErrLeaseLost)
		}
	}
}
