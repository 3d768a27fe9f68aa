package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

// giveAllBack gives the user's tokens back. Whatever keeps it from that is noted
// in the receipt, and does not keep the data from being erased.
func (f *fleet) giveAllBack(ctx context.Context, user string, r *receipt, removed store.Tally) error {
	credentials, err := f.store.Credentials(ctx, store.CredentialFilter{User: user})
	if err != nil || len(credentials) == 0 {
		return err
	}
	book, shut := f.accounts(ctx)
	for _, c := range credentials {
		back := givenBack{Provider: c.Provider, Kind: c.Kind}
		name, _, _ := strings.Cut(c.Provider, "@")
		switch p := f.config().Providers[name]; {
		case shut != nil:
			back.Said = fmt.Sprintf("it could not be opened (%v), so the provider was not told: the user can withdraw access there", shut)
		case p == nil:
			back.Said = fmt.Sprintf("the configuration has no provider %s any more that could be told: the user can withdraw access there", name)
		default:
			back.Said, back.Revoked = f.dropAndRevoke(ctx, book, p, c.Key, removed)
		}
		r.Tokens = append(r.Tokens, back)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// dropAndRevoke deletes a credential and gives it back, and says how that went.
// One that can't be opened is deleted all the same.
func (f *fleet) dropAndRevoke(ctx context.Context, book *account.Book, p *config.Provider, key store.Key, removed store.Tally) (said string, revoked bool) {
	dropped, err := book.Drop(ctx, key, f.boundTo(p))
	if _, kept := f.store.Credential(ctx, key); errors.Is(kept, store.ErrNotFound) {
		removed.Add(key.Provider, "credentials", 1)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("it could not be opened (%v), so the provider was not told: the user can withdraw access there", err), false
	case !dropped.Had:
		return "it was given back a moment before", false
	}
	return f.revoke(ctx, p, dropped)
}
