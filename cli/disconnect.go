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
	records := ""
	c := &cobra.Command{
		Use:   "disconnect USER PROVIDER",
		Short: "Give a user's account back",
		Long: `Give a user's account back: the provider is told that its tokens are no longer
wanted where it can be (RFC 7009), they are deleted, and the source is paused
until the account is connected again, unless the configuration has a token for it.
Its records stay, unless on_disconnect of the provider or --records says otherwise.`,
		Example: `  syncd disconnect alice google_calendar
  syncd disconnect alice google_calendar --records purge`,
		Args:              takes("USER", "PROVIDER"),
		ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if records != "" && records != "keep" && records != "purge" {
				return usageError{fmt.Errorf("--records %s: it is keep or purge", records)}
			}
			key := store.Key{User: args[0], Provider: args[1]}
			return a.withSource(c.Context(), key, func(f *fleet, src *config.Source) error {
				if err := connectable(src); err != nil {
					return err
				}
				purge := records == "purge" || records == "" && src.Of.PurgeLeft
				said, err := f.disconnect(c.Context(), src, purge)
				if err == nil {
					fmt.Fprintf(a.Out, "disconnected %s: %s\n", key, said)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&records, "records", "", "`keep` or purge; what on_disconnect says without it")
	complete(c, "records", words("keep", "purge"))
	return c
}

// disconnect gives a user's account back, and says what became of it. The source
// is paused before, so that no run asks for what is being taken away. With purge
// its records go too.
func (f *fleet) disconnect(ctx context.Context, src *config.Source, purge bool) (said string, err error) {
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
	said = "it was not connected"
	if dropped.Had {
		said, _ = f.revoke(ctx, src.Of, dropped)
		if err := f.store.Tell(ctx, store.Event{Key: key, Kind: store.EventDisconnected, Detail: said}); err != nil {
			return said, err
		}
	}
	if !purge {
		return said, nil
	}
	if err := f.store.Purge(ctx, key); err != nil {
		return said, fmt.Errorf("%s; its records are still there: %w", said, err)
	}
	// Whoever connects next may be somebody else: there is nothing to be mixed up.
	return said + "; its records are deleted", f.store.SetAccount(ctx, key, "")
}

// revoke tells the provider that tokens are no longer wanted. It says how that
// went, and whether the provider took them back.
func (f *fleet) revoke(ctx context.Context, p *config.Provider, dropped account.Dropped) (said string, revoked bool) {
	switch {
	case dropped.Elsewhere:
		return "its tokens are deleted; they were granted for another server or application than the configuration names now: the user can withdraw access there", false
	case dropped.Token.Access.IsZero():
		return "its key is deleted; the user can withdraw it at the provider", false
	case p.OAuth == nil || p.OAuth.RevokeURL == "":
		return "its tokens are deleted; the provider can't be told: the user can withdraw access there", false
	}
	if err := f.authorizer(p, "").Revoke(ctx, dropped.Token); err != nil {
		return fmt.Sprintf("its tokens are deleted; the provider did not take them back (%v): the user can withdraw access there", err), false
	}
	return "its tokens are deleted, and the provider was told", true
}
