package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
)

// atOnce is how many credentials are read at once.
const atOnce = 200

// Check reports whether every credential opens with the keys that there are. A
// daemon with the wrong keys must say so before it touches anything. Of each
// key one credential is opened.
func (b *Book) Check(ctx context.Context) error {
	seen := map[string]bool{}
	return b.each(ctx, store.CredentialFilter{}, func(row store.Credential) error {
		if seen[row.KeyID] {
			return nil
		}
		seen[row.KeyID] = true
		if _, err := b.read(row); err != nil {
			return fmt.Errorf("%w; the keys that are there: %s", err, b.Keys)
		}
		return nil
	})
}

// Rotate seals anew what another key than the active one has sealed, while
// everything runs: a credential that is refreshed meanwhile is sealed by the
// active key anyway. What was cut goes on with the next call. It returns how
// many it sealed.
func (b *Book) Rotate(ctx context.Context) (int, error) {
	n := 0
	err := b.each(ctx, store.CredentialFilter{NotBy: b.Keys.Active()}, func(row store.Credential) error {
		for {
			g, err := b.read(row)
			if err != nil {
				return err
			}
			if row.Refresher != "" {
				// Who refreshes it writes it next, and with the active key.
				if row, err = b.Store.Credential(ctx, row.Key); err != nil || row.KeyID == b.Keys.Active() {
					return ignoreGone(err)
				}
			}
			_, err = b.put(ctx, row, g)
			if err == nil {
				n++
			}
			if !errors.Is(err, store.ErrConflict) {
				return err
			}
			if row, err = b.Store.Credential(ctx, row.Key); err != nil || row.KeyID == b.Keys.Active() {
				return ignoreGone(err)
			}
		}
	})
	return n, err
}

func ignoreGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// each calls f for each credential that matches.
func (b *Book) each(ctx context.Context, f store.CredentialFilter, do func(store.Credential) error) error {
	f.Limit = atOnce
	for {
		page, err := b.Store.Credentials(ctx, f)
		if err != nil {
			return err
		}
		for _, row := range page {
			if err := do(row); err != nil {
				return err
			}
			f.After = row.Key
		}
		if len(page) < atOnce {
			return nil
		}
	}
}
