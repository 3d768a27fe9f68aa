package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) sourcesConfirm() *cobra.Command {
	var records string
	c := &cobra.Command{
		Use:   "confirm USER PROVIDER --records keep|purge",
		Short: "Say what is to become of the records of the account before",
		Long: `Say what is to become of the records of the account before, of a source that is
paused because another account was connected (account_changed). With keep they stay
beside what is read now: the account is the same person's or organisation's. With
purge they are deleted first. Either way everything is read anew.

If it was a mistake, connect the former account again instead: syncd connect.`,
		Example: `  syncd sources confirm alice google_calendar --records keep
  syncd sources confirm alice google_calendar --records purge`,
		Args: takes("USER", "PROVIDER"), ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if records != "keep" && records != "purge" {
				return usageError{errors.New("--records keep or --records purge: what is to become of the records of the account before")}
			}
			key := store.Key{User: args[0], Provider: args[1]}
			return a.withSource(c.Context(), key, func(f *fleet, src *config.Source) error {
				err := f.confirm(c.Context(), src, records == "purge")
				if err == nil {
					fmt.Fprintf(a.Out, "%s: its next run is due now, and reads everything\n", oneLine(key.String()))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&records, "records", "", "`keep` or purge")
	complete(c, "records", words("keep", "purge"))
	return c
}

// confirm makes the account that is connected the one that the source is of. It
// may be called again where it was cut.
func (f *fleet) confirm(ctx context.Context, src *config.Source, purge bool) error {
	key := keyOf(src)
	row, err := oneSource(ctx, f.store, key)
	if err != nil {
		return err
	}
	if !slices.Contains(row.Paused, store.PausedAccount) {
		return usageError{fmt.Errorf("%s is not paused for another account: there is nothing to confirm", key)}
	}
	credential, err := f.store.Credential(ctx, key)
	if err != nil {
		return err
	}
	if purge {
		err = f.store.Purge(ctx, key)
	} else {
		err = underLease(ctx, f.store, key, func(ctx context.Context, tx store.Tx) error { return tx.DropCursors(ctx, "") })
	}
	if err != nil {
		return err
	}
	if err := f.store.SetAccount(ctx, key, credential.Identity); err != nil {
		return err
	}
	became := "its records stay"
	if purge {
		became = "its records were deleted"
	}
	told := store.Event{Key: key, Kind: store.EventConfirmed, Detail: fmt.Sprintf("%s in place of %s: %s", credential.Identity, row.Account, became)}
	if err := f.store.Tell(ctx, told); err != nil {
		return err
	}
	if _, err := f.store.Resume(ctx, key, store.PausedAccount); err != nil {
		return err
	}
	return f.dueNow(ctx, src)
}
