package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// keysVariable is the environment variable with the master keys; it counts
// before the file.
const keysVariable = "SYNCD_KEYS"

// openBook opens the credentials in the store, and checks that the keys fit
// before anything is done with them.
func (a *app) openBook(ctx context.Context, cfg *config.Config, s store.Store) (*account.Book, error) {
	keys, err := a.keyring(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	b := &account.Book{Store: s, Keys: keys, Owner: owner()}
	if err := b.Check(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// keyring returns the master keys. Beside an SQLite database that seals nothing
// yet they are made on the first call; anywhere else they must be there, since
// another daemon may have sealed with them.
func (a *app) keyring(ctx context.Context, cfg *config.Config, s store.Credentials) (*vault.Keyring, error) {
	if text, _ := a.env(keysVariable); text != "" {
		keys, err := vault.ParseKeys(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", keysVariable, err)}
		}
		return keys, nil
	}
	if cfg.Keys == "" {
		return nil, usageError{fmt.Errorf("%s: accounts that are connected need master keys: name their file under keys:, or set %s", cfg.Path, keysVariable)}
	}
	keys, err := vault.LoadKeys(cfg.Keys)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	sealed, err := s.Credentials(ctx, store.CredentialFilter{Limit: 1})
	switch {
	case err != nil:
		return nil, err
	case len(sealed) > 0:
		return nil, fmt.Errorf("the keys are gone: %s is not there, and the database has credentials that are sealed by the key %s: put the file back, or set %s", cfg.Keys, sealed[0].KeyID, keysVariable)
	case !strings.HasPrefix(cfg.Store, "sqlite:"):
		return nil, usageError{fmt.Errorf("there are no master keys yet at %s: make one with syncd keys add, and give every daemon a copy", cfg.Keys)}
	}
	return vault.CreateKeys(cfg.Keys, time.Now())
}

// openAccounts says where the keys are, and opens the accounts at once where
// there are any or a provider's users connect: keys that do not fit are to be
// found before anything is touched.
func (f *fleet) openAccounts(ctx context.Context, a *app, cfg *config.Config) error {
	f.mu.Lock()
	f.openBook = func(ctx context.Context) (*account.Book, error) { return a.openBook(ctx, cfg, f.store) }
	open := f.book != nil
	f.mu.Unlock()
	if open {
		return nil
	}
	needed := false
	for _, p := range cfg.Providers {
		needed = needed || connects(p)
	}
	if !needed {
		sealed, err := f.store.Credentials(ctx, store.CredentialFilter{Limit: 1})
		if err != nil || len(sealed) == 0 {
			return err
		}
	}
	_, err := f.accounts(ctx)
	return err
}

// accounts returns the credentials in the store. They are opened when they are
// first needed.
func (f *fleet) accounts(ctx context.Context) (*account.Book, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.book != nil {
		return f.book, nil
	}
	if f.openBook == nil {
		return nil, errors.New("there are no accounts here")
	}
	book, err := f.openBook(ctx)
	if err != nil {
		return nil, closedError{err}
	}
	f.book = book
	return f.book, nil
}

// A closedError says that credentials can't be opened here: the operator's to mend.
type closedError struct{ error }

func (e closedError) Unwrap() error { return e.error }

// needsUser pauses a source that only its user can bring back, and says so.
func (f *fleet) needsUser(ctx context.Context, err error) {
	ctx = context.WithoutCancel(ctx)
	if other, ok := errors.AsType[*account.AccountError](err); ok {
		if _, err := f.store.Pause(ctx, other.Key, store.PausedAccount); err != nil {
			f.log.Error("could not pause a source to which another account was connected", "source", other.Key.String(), "error", err)
		}
		return
	}
	reauth, ok := errors.AsType[*account.ReauthError](err)
	if !ok {
		return
	}
	settled, err := f.pauseForUser(ctx, reauth)
	if err != nil {
		f.log.Error("could not pause a source whose account must be connected again", "source", reauth.Key.String(), "error", err)
		return
	}
	if settled {
		return
	}
	f.log.Warn("paused until the account is connected again", "source", reauth.Key.String(), "why", reauth.Why, "remedy", "syncd connect "+reauth.Key.String())
}

// misconfigured says once that a provider refuses the application itself: it is
// for the operator to mend, and costs no user's account.
func (f *fleet) misconfigured(p *config.Provider, err error) {
	refusal, ok := errors.AsType[*oauth.Refusal](err)
	if !ok || refusal.Kind != oauth.Misconfigured {
		if err == nil {
			if _, was := f.alarms.LoadAndDelete(p.Name); was {
				f.log.Info("the provider takes the application again", "provider", p.Name)
			}
		}
		return
	}
	if _, told := f.alarms.LoadOrStore(p.Name, true); !told {
		f.log.Error("the provider refuses the application: no token of its users can be refreshed until oauth: is mended",
			"provider", p.Name, "refusal", refusal.Error(), "remedy", "check client_id, client_secret and client_auth of the provider")
	}
}

// pauseForUser pauses a source unless its account has been connected again. That
// is looked at after the pause: who connects later than that lifts it.
func (f *fleet) pauseForUser(ctx context.Context, reauth *account.ReauthError) (settled bool, err error) {
	if _, err := f.store.Pause(ctx, reauth.Key, store.PausedAuth); err != nil {
		return false, err
	}
	book, err := f.accounts(ctx)
	if err != nil {
		return false, err
	}
	if settled, err = book.Settled(ctx, reauth); err != nil || !settled {
		return false, err
	}
	_, err = f.store.Resume(ctx, reauth.Key, store.PausedAuth)
	return true, err
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
