package cli

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/store"
)

// How often what is not a run is looked after, and how much of it at a time.
const (
	upkeepEvery = 10 * time.Minute
	upkeepRows  = 500
)

// upkeep keeps accounts alive that nobody syncs, and sweeps what has expired,
// until ctx is done. Every daemon does it, at moments of its own.
func (f *fleet) upkeep(ctx context.Context) {
	pause := time.NewTimer(rand.N(upkeepEvery))
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		f.keepAlive(ctx)
		if _, err := f.store.SweepMemos(ctx, upkeepRows); err != nil && ctx.Err() == nil {
			f.log.Warn("what has expired could not be swept", "error", err)
		}
		pause.Reset(upkeepEvery + rand.N(upkeepEvery/4))
	}
}

// keepAlive refreshes the accounts for which that is due though nobody syncs.
// One that can't be refreshed now is due still the next time.
func (f *fleet) keepAlive(ctx context.Context) {
	rows, err := f.store.Credentials(ctx, store.CredentialFilter{Due: true, Limit: upkeepRows})
	if err != nil || len(rows) == 0 {
		return // whatever keeps the store from answering is said by others
	}
	book, err := f.accounts(ctx)
	if err != nil {
		f.log.Error("accounts can't be kept alive", "error", err)
		return
	}
	for _, row := range rows {
		if ctx.Err() != nil {
			return
		}
		err := f.keepOneAlive(ctx, book, row.Key)
		f.needsUser(ctx, err)
		if err != nil && ctx.Err() == nil {
			f.log.Warn("an account that nobody syncs could not be kept alive", "source", row.Key.String(), "error", err)
		}
	}
}

func (f *fleet) keepOneAlive(ctx context.Context, book *account.Book, key store.Key) error {
	src, err := find(ctx, f.config(), f.store, key)
	if err != nil || src.Of.OAuth == nil {
		return err
	}
	err = book.Session(key, f.authorizer(src.Of, ""), f.terms(src.Of, "")).KeepAlive(ctx)
	f.misconfigured(src.Of, err)
	return err
}
