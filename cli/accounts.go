package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
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

// connects reports whether users of a provider connect their accounts.
func connects(p *config.Provider) bool { return p.OAuth != nil }

// openAccounts opens the book where a provider's users connect, once.
func (f *fleet) openAccounts(ctx context.Context, a *app, cfg *config.Config) error {
	if f.book != nil {
		return nil
	}
	for _, p := range cfg.Providers {
		if connects(p) {
			var err error
			f.book, err = a.openBook(ctx, cfg, f.store)
			return err
		}
	}
	return nil
}

// authorizer returns the client of a provider's authorization server.
func (f *fleet) authorizer(p *config.Provider, redirect string) *oauth.Client {
	o := p.OAuth
	return &oauth.Client{Base: f.base, Now: f.now, App: oauth.App{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, AuthURL: o.AuthURL, TokenURL: o.TokenURL, DeviceURL: o.DeviceURL,
		RevokeURL: o.RevokeURL, RedirectURL: redirect, Scopes: o.Scopes, InHeader: o.InHeader, Params: o.Params,
	}}
}

// signedBy says how a source's requests are signed: with an account that was
// connected, unless the configuration has a token of its own for it.
func (f *fleet) signedBy(src *config.Source) (syncd.Auth, *account.Session) {
	auth := src.Of.Connector.Auth
	if auth.Scheme != syncd.OAuth2 {
		return auth, nil
	}
	if len(src.Credentials) > 0 || src.Of.OAuth == nil {
		auth.Scheme = syncd.Bearer
		return auth, nil
	}
	return auth, f.book.Session(keyOf(src), f.authorizer(src.Of, ""), f.boundTo(src.Of))
}

// boundTo is where the tokens of a provider's accounts may be sent.
func (f *fleet) boundTo(p *config.Provider) string {
	base, err := url.Parse(f.baseURL(p))
	if err != nil {
		return ""
	}
	return strings.Join([]string{p.OAuth.ClientID, p.OAuth.TokenURL, base.Scheme + "://" + strings.ToLower(base.Host)}, " ")
}

// needsUser pauses a source that only its user can bring back, and says so.
func (f *fleet) needsUser(ctx context.Context, err error) {
	reauth, ok := errors.AsType[*account.ReauthError](err)
	if !ok {
		return
	}
	settled, err := f.pauseForUser(context.WithoutCancel(ctx), reauth)
	if err != nil {
		f.log.Error("could not pause a source whose account must be connected again", "source", reauth.Key.String(), "error", err)
		return
	}
	if settled {
		return
	}
	f.log.Warn("paused until the account is connected again", "source", reauth.Key.String(), "why", reauth.Why, "remedy", "syncd connect "+reauth.Key.String())
}

// pauseForUser pauses a source unless its account has been connected again. That
// is looked at after the pause: who connects later than that lifts it.
func (f *fleet) pauseForUser(ctx context.Context, reauth *account.ReauthError) (settled bool, err error) {
	if _, err := f.store.Pause(ctx, reauth.Key, store.PausedAuth); err != nil {
		return false, err
	}
	if settled, err = f.book.Settled(ctx, reauth); err != nil || !settled {
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
