package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// A refusedError says that the provider refuses what a user gave.
type refusedError struct {
	provider string
	err      error
}

func (e refusedError) Error() string {
	return fmt.Sprintf("the provider %s refuses it, so it was not kept: %v", e.provider, e.err)
}

func (e refusedError) Unwrap() error { return e.err }

// connected asks the provider whose account it is that came of a user's consent,
// and keeps it.
func (f *fleet) connected(ctx context.Context, src *config.Source, c account.Connection) (err error) {
	if c.Identity, err = f.identify(ctx, src, c); err != nil {
		return err
	}
	return f.keep(ctx, src, c)
}

// keep stores what came of a user's consent, and lets the source go on: it is due
// at once. Where it is of another account than the source's records, the source
// is paused before and the error is an *account.AccountError, though it is stored.
func (f *fleet) keep(ctx context.Context, src *config.Source, c account.Connection) error {
	book, err := f.accounts(ctx)
	if err != nil {
		return err
	}
	key := keyOf(src)
	if err := ensure(ctx, f.store, src); err != nil {
		return err
	}
	row, err := oneSource(ctx, f.store, key)
	if err != nil {
		return err
	}
	// An account that does not tell may be any: where one is known, that is another.
	if row.Account != "" && c.Identity != row.Account {
		return f.keepOther(ctx, book, src, c, row.Account)
	}
	if c.Identity != "" && row.Account == "" {
		if err := f.store.SetAccount(ctx, key, c.Identity); err != nil {
			return err
		}
	}
	told := []store.Event{{Key: key, Kind: store.EventConnected, Detail: c.Identity}}
	if missing := f.ungranted(src.Of, c.Token); missing != "" {
		told = append(told, store.Event{Key: key, Kind: store.EventScope, Detail: missing})
		f.log.Warn("the user did not grant all that was asked for", "source", key.String(), "missing", missing)
	}
	if err := book.Save(ctx, key, c, f.terms(src.Of, ""), told...); err != nil {
		return err
	}
	for _, reason := range []string{store.PausedAuth, store.PausedAccount} {
		if _, err := f.store.Resume(ctx, key, reason); err != nil {
			return err
		}
	}
	return f.dueNow(ctx, src)
}

// ungranted says which scopes were asked for and not granted.
func (f *fleet) ungranted(p *config.Provider, t oauth.Token) string {
	if p.OAuth == nil || t.Access.IsZero() {
		return ""
	}
	missing := ""
	for _, asked := range p.OAuth.Scopes {
		for _, scope := range oauth.Missing(asked, t.Scope) {
			missing = or(missing, "not granted:") + " " + scope
		}
	}
	return missing
}

// keepOther stores a credential of another account than the source's
// records are of. The source stops before, so that no run uses it.
func (f *fleet) keepOther(ctx context.Context, book *account.Book, src *config.Source, c account.Connection, have string) error {
	key := keyOf(src)
	if _, err := f.store.Pause(ctx, key, store.PausedAccount); err != nil {
		return err
	}
	other := &account.AccountError{Key: key, Have: have, Got: c.Identity}
	told := store.Event{Key: key, Kind: store.EventAccount, Detail: fmt.Sprintf("%s, and the records are of %s", c.Identity, have)}
	if err := book.Save(ctx, key, c, f.terms(src.Of, ""), told); err != nil {
		return err
	}
	if _, err := f.store.Resume(ctx, key, store.PausedAuth); err != nil {
		return err
	}
	return other
}

// dueNow makes a source due at once. One that is being run is due when that run ends.
func (f *fleet) dueNow(ctx context.Context, src *config.Source) error {
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	err = f.store.Reschedule(ctx, keyOf(src), src.Schedule.Next(now), now)
	if _, busy := errors.AsType[*store.LeasedError](err); busy {
		return nil
	}
	return err
}

// identify asks the provider whose account a credential is of: "" where it does
// not say. Keys that a user gave are tried by a cheap request in any case.
func (f *fleet) identify(ctx context.Context, src *config.Source, c account.Connection) (string, error) {
	s := signing{auth: src.Of.Connector.Auth, credentials: c.Secrets}
	if c.Secrets == nil {
		s.auth.Scheme, s.tokens = syncd.OAuth2, fixed{c.Token.Access}
	} else if s.auth.Scheme == syncd.OAuth2 {
		s.auth.Scheme = syncd.Bearer
	}
	base := f.baseURL(src.Of)
	stack, err := f.stack(f.config(), src, base, s)
	if err != nil {
		return "", err
	}
	client, err := syncd.NewClient(or(base, syncd.NoBase), stack.Whole(), stack.Stream())
	if err != nil {
		return "", err
	}
	var id string
	if who, ok := src.Options.(syncd.Identifier); ok {
		id, err = who.Identify(ctx, client)
	}
	// A restricted key may be good for all that is read, and not for this.
	if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status == http.StatusForbidden {
		id, err = "", nil
	}
	if id == "" && err == nil && c.Secrets != nil {
		err = firstPage(ctx, src, client)
	}
	if refusal, ok := errors.AsType[*syncd.HTTPError](err); ok && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden) {
		return "", refusedError{src.Of.Name, err}
	}
	if err != nil {
		return "", fmt.Errorf("whose account at %s it is could not be asked, so it was not kept: %w", src.Of.Name, err)
	}
	return id, nil
}

// firstPage reads one page of the first stream: what the source will do anyway.
func firstPage(ctx context.Context, src *config.Source, client *syncd.Client) error {
	streams, err := src.Options.Streams(client)
	if err != nil || len(streams) == 0 {
		return err
	}
	first := streams[0]
	if first.Parts != nil {
		_, err = first.Parts(ctx)
		return err
	}
	_, err = first.Fetch(ctx, syncd.Request{})
	if errors.Is(err, syncd.ErrNotModified) {
		err = nil
	}
	return err
}

// fixed is one token that can't be refreshed.
type fixed struct{ token vault.Secret }

func (t fixed) Token(context.Context) (vault.Secret, error) { return t.token, nil }

func (t fixed) Renew(context.Context, vault.Secret) (vault.Secret, error) {
	return vault.Secret{}, errors.New("the provider refuses the token that was just granted")
}
