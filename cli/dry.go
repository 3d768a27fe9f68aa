package cli

import (
	"context"
	"errors"

	"github.com/syncdhq/syncd/internal/store"
)

// A dryStore does everything in its transactions and then rolls them back.
type dryStore struct{ store.Store }

// errDry ends a transaction that must not be kept.
var errDry = errors.New("dry run")

func (d dryStore) Update(ctx context.Context, lease store.Lease, f func(context.Context, store.Tx) error) error {
	err := d.Store.Update(ctx, lease, func(ctx context.Context, tx store.Tx) error {
		if err := f(ctx, dryTx{tx}); err != nil {
			return err
		}
		return errDry
	})
	if errors.Is(err, errDry) {
		return nil
	}
	return err
}

// A dryTx has no run to add to.
type dryTx struct{ store.Tx }

func (dryTx) Progress(context.Context, store.Progress) error { return nil }
