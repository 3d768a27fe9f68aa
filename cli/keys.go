package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

func (a *app) keysCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Look after the master keys that seal credentials",
		Long: `Look after the master keys, which seal the credentials of connected accounts. They
are in the file that keys: names, or in the environment variable SYNCD_KEYS.`,
		Example: `  syncd keys list
  syncd keys add       a new key, which seals from now on
  syncd keys rotate    seal everything anew with it`,
	}
	c.AddCommand(a.keysList(), a.keysAdd(), a.keysRotate())
	return c
}

// A keyRow is a master key for programs.
type keyRow struct {
	Key     string `json:"key"`
	Active  bool   `json:"active"`
	Present bool   `json:"present"`
	Seals   int    `json:"seals"` // how many credentials
}

func (a *app) keysList() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, and how many credentials each seals",
		Example: "  syncd keys list\n  syncd keys list -o json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withKeys(c.Context(), func(_ *config.Config, s store.Store, keys *vault.Keyring) error {
				rows, err := keyRows(c.Context(), s, keys)
				if err != nil {
					return err
				}
				return out.print(a.Out, rows, func(w io.Writer) { printKeys(w, rows) })
			})
		},
	}
	out.flag(c)
	return c
}

func printKeys(w io.Writer, rows []keyRow) {
	var cells [][]string
	for _, r := range rows {
		use := "opens"
		switch {
		case !r.Present:
			use = "is missing: what it seals does not open"
		case r.Active:
			use = "seals"
		case r.Seals == 0:
			use = "is no longer needed"
		}
		cells = append(cells, []string{r.Key, use, count(r.Seals, "credential")})
	}
	tabulate(w, []string{"KEY", "USE", "SEALS"}, cells)
}

// keyRows counts what each key seals.
func keyRows(ctx context.Context, s store.Store, keys *vault.Keyring) ([]keyRow, error) {
	rows := []keyRow{}
	at := map[string]int{}
	for i, id := range keys.IDs() {
		at[id] = i
		rows = append(rows, keyRow{Key: id, Active: i == 0, Present: true})
	}
	all := paged(func(last store.Credential) ([]store.Credential, error) {
		return s.Credentials(ctx, store.CredentialFilter{After: last.Key, Limit: 500})
	})
	for c, err := range all {
		if err != nil {
			return nil, err
		}
		i, ok := at[c.KeyID]
		if !ok {
			i = len(rows)
			at[c.KeyID] = i
			rows = append(rows, keyRow{Key: c.KeyID})
		}
		rows[i].Seals++
	}
	return rows, nil
}

// withKeys opens the store and the keys, which need not fit each other.
func (a *app) withKeys(ctx context.Context, do func(*config.Config, store.Store, *vault.Keyring) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	s, err := a.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	keys, err := a.keyring(ctx, cfg, s)
	if err != nil {
		return err
	}
	return do(cfg, s, keys)
}

func (a *app) keysAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add",
		Short: "Add a new key to the file, which seals from now on",
		Long: `Add a new key to the file, which seals from now on; the old ones still open. Where
several daemons share a database, each needs the file before any seals with the
new key: copy it, then restart them, then run syncd keys rotate.`,
		Example: "  syncd keys add",
		Args:    takes(),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			if text, _ := a.env(keysVariable); text != "" {
				return usageError{fmt.Errorf("the keys are in the environment variable %s: put a new one before the others there, as ID:BASE64 of 32 random bytes", keysVariable)}
			}
			if cfg.Keys == "" {
				return usageError{fmt.Errorf("%s does not name the file of the keys: write it under keys", cfg.Path)}
			}
			add := vault.AddKey
			if !exists(cfg.Keys) {
				add = vault.CreateKeys
			}
			keys, err := add(cfg.Keys, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "the key %s seals from now on; back %s up, apart from the database\n", keys.Active(), cfg.Keys)
			return nil
		},
	}
}

func (a *app) keysRotate() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Seal everything anew with the first key",
		Long: `Seal everything anew with the first key, while daemons run. What was cut goes on
when it is called again. A daemon that was started before the key was added must be
restarted first: it could not open what is sealed anew. Afterwards the other keys
are no longer needed.`,
		Example: "  syncd keys rotate\n  syncd keys list      the old key is no longer needed",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			s, err := a.open(c.Context(), cfg)
			if err != nil {
				return err
			}
			defer s.Close()
			b, err := a.openBook(c.Context(), cfg, s)
			if err != nil {
				return err
			}
			n, err := b.Rotate(c.Context())
			fmt.Fprintf(a.Out, "sealed %s anew with the key %s\n", count(n, "credential"), b.Keys.Active())
			return err
		},
	}
}
