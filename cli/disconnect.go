package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) disconnectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "disconnect USER PROVIDER",
		Short: "Give a user's account back",
		Long: `Give a user's account back: the provider is told that its tokens are no longer
wanted where it can be (RFC 7009), they are deleted, and the source is paused
until the account is connected again, unless the configuration has a token for it.
Its records stay.`,
		Example:           "  syncd disconnect alice google_calendar",
		Args:              takes("USER", "PROVIDER"),
		ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			key := store.Key{User: args[0], Provider: args[1]}
			return a.withAccount(c.Context(), key, func(f *fleet, src *config.Source) error {
				if err := connectable(src); err != nil {
					return err
				}
				said, err := f.disconnect(c.Context(), src)
				if err == nil {
					fmt.Fprintf(a.Out, "disconnected %s: %s\n", key, said)
				}
				return err
			})
		},
	}
}

// disconnect gives a user's account back, and says what became of it. The source
// is paused before, so that no run asks for what is being taken away.
func (f *fleet) disconnect(ctx context.Context, src *config.Source) (said string, err error) {
	key := keyOf(src)
	if err := ensure(ctx, f.store, src); err != nil {
		return "", err
	}
	if len(src.Credentials) == 0 {
		if _, err := f.store.Pause(ctx, key, store.PausedAuth); err != nil {
			return "", err
		}
	}
	book, err := f.accounts(ctx)
	if err != nil {
		return "", err
	}
	dropped, err := book.Drop(ctx, key, f.boundTo(src.Of))
	if err != nil {
		return "", err
	}
	if !dropped.Had {
		return "it was not connected", nil
	}
	said = f.revoke(ctx, src.Of, dropped)
	return said, f.store.Tell(ctx, store.Event{Key: key, Kind: store.EventDisconnected, Detail: said})
}

// revoke tells the provider that tokens are no longer wanted, and says how that went.
func (f *fleet) revoke(ctx context.Context, p *config.Provider, dropped account.Dropped) string {
	wanted := dropped.Token.Refresh
	if wanted.IsZero() {
		wanted = dropped.Token.Access
	}
	switch {
	case dropped.Elsewhere:
		return "its tokens are deleted; they were granted for another server or application than the configuration names now: the user can withdraw access there"
	case wanted.IsZero():
		return "its key is deleted; the user can withdraw it at the provider"
	case p.OAuth == nil || p.OAuth.RevokeURL == "":
		return "its tokens are deleted; the provider can't be told: the user can withdraw access there"
	}
	if err := f.authorizer(p, "").Revoke(ctx, wanted); err != nil {
		return fmt.Sprintf("its tokens are deleted; the provider did not take them back (%v): the user can withdraw access there", err)
	}
	return "its tokens are deleted, and the provider was told"
}
