package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd/internal/store"
)

// atOnce is how many credentials are read at once.
const atOnce = 200

// Check reports whether the keys that there are fit the credentials. A daemon
// with the wrong keys must say so before it touches anything. A key fits if it
// opens one of the first credentials that it has sealed: a single one that does
// not open is its own source's trouble.
func (b *Book) Check(ctx context.Context) error {
	wrong := map[string]error{} // by key: what kept all that were tried from opening
	tried := map[string]int{}
	err := b.each(ctx, store.CredentialFilter{}, func(row store.Credential) error {
		if n := tried[row.KeyID]; n == fits || n >= tries {
			return nil
		}
		tried[row.KeyID]++
		if _, err := b.read(row); err != nil {
			wrong[row.KeyID] = err
			return nil
		}
		tried[row.KeyID] = fits
		delete(wrong, row.KeyID)
		return nil
	})
	for _, bad := range wrong {
		err = errors.Join(err, fmt.Errorf("%w; the keys that are there: %s", bad, b.Keys))
	}
	return err
}

// Of each key so many credentials are tried; fits marks one that opened one.
const (
	tries = 20
	fits  = -1
)

// Rotate seals anew what another key than the active one has sealed, while
// everything runs. Each credential is held for that moment, as for a refresh, so
// that no refresh is on its way. What was cut goes on with the next call. It
// returns how many it sealed; those that do not open are passed over, and are an
// error at the end.
func (b *Book) Rotate(ctx context.Context) (int, error) {
	n, shut := 0, 0
	var first error
	err := b.each(ctx, store.CredentialFilter{NotBy: b.Keys.Active()}, func(row store.Credential) error {
		if _, err := b.read(row); err != nil {
			if shut++; shut == 1 {
				first = err
			}
			return nil
		}
		sealed, err := b.reseal(ctx, row.Key)
		if sealed {
			n++
		}
		return err
	})
	if shut > 0 {
		err = errors.Join(err, fmt.Errorf("%d could not be sealed anew, the first: %w", shut, first))
	}
	return n, err
}

// reseal seals one credential with the active key, and reports whether it did.
func (b *Book) reseal(ctx context.Context, key store.Key) (bool, error) {
	note := b.note(" rotation")
	for {
		row, err := b.take(ctx, key, note)
		if err != nil {
			return false, ignoreGone(err)
		}
		sealed, err := b.sealAnew(ctx, row, note)
		if !sealed {
			err = errors.Join(err, b.Store.FreeCredential(context.WithoutCancel(ctx), key, note, row.Refresher != ""))
		}
		if !errors.Is(err, store.ErrConflict) { // the user has connected again
			return sealed, err
		}
	}
}

// sealAnew writes a credential that is held under a note, sealed by the active
// key, which takes the note out. It reports whether it did.
func (b *Book) sealAnew(ctx context.Context, row store.Credential, note string) (bool, error) {
	if row.KeyID == b.Keys.Active() {
		return false, nil
	}
	row.Refresher = note
	g, err := b.read(row)
	if err == nil {
		_, err = b.put(ctx, row, g)
	}
	return err == nil, err
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
