package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/connect"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
	"github.com/syncdhq/syncd/internal/web"
)

// A served fleet answers applications and users' browsers: the same that the
// commands do, with errors that a program can tell apart.
type served struct{ *fleet }

var _ web.Accounts = served{}

// api returns what a daemon serves beside its health.
func (f *fleet) api() *web.API {
	return &web.API{
		Accounts: served{f}, Memos: f.store, Log: f.log,
		Sessions: func(ctx context.Context) (*connect.Sessions, error) {
			book, err := f.accounts(ctx)
			if err != nil {
				return nil, err
			}
			return &connect.Sessions{Store: f.store, Keys: book.Keys}, nil
		},
		Settings: func() web.Settings {
			api := f.config().API
			return web.Settings{Tokens: api.Tokens, URL: api.URL}
		},
	}
}

// problem makes of an error one that an application can tell apart, where it is
// its own to mend.
func problem(err error) error {
	var wrong config.Errors
	var leased *store.LeasedError
	var other *account.AccountError
	var refused refusedError
	var refusal *oauth.Refusal
	var usage usageError
	var closed closedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &closed):
		return err // none of the caller's: the log has it
	case errors.As(err, &wrong):
		p := web.Fault(http.StatusUnprocessableEntity, "invalid", "the source does not fit the configuration")
		for _, e := range wrong {
			text := e.Message
			if e.Hint != "" {
				text += ": " + e.Hint
			}
			p.Errors = append(p.Errors, text)
		}
		return p
	case errors.Is(err, errConfigured):
		return web.Fault(http.StatusConflict, "source_configured", "the configuration has the source: change it there")
	case errors.Is(err, store.ErrNotFound):
		return web.Fault(http.StatusNotFound, "no_such_source", "there is no such source")
	case errors.As(err, &leased):
		return web.Fault(http.StatusConflict, "running", "the source is being run: try again when that has ended")
	case errors.As(err, &other):
		return web.Fault(http.StatusConflict, "account_changed", "this is the account %s, and the records are of %s: the source is paused until that is confirmed", or(other.Got, "that the provider does not name"), other.Have)
	case errors.As(err, &refused):
		return web.Fault(http.StatusUnprocessableEntity, "refused", "%v", refused)
	case errors.As(err, &refusal):
		return web.Fault(http.StatusBadGateway, "provider", "%v", refusal)
	case errors.As(err, &usage):
		return web.Fault(http.StatusUnprocessableEntity, "invalid", "%v", usage)
	}
	if _, data := errors.AsType[*store.DataError](err); data {
		return web.Fault(http.StatusUnprocessableEntity, "invalid", "%v", err)
	}
	return err
}

// Sources implements web.Accounts.
func (s served) Sources(ctx context.Context, f store.SourceFilter) ([]web.Source, error) {
	rows, err := s.store.Sources(ctx, f)
	out := make([]web.Source, len(rows))
	for i, row := range rows {
		out[i] = web.SourceOf(row)
	}
	return out, err
}

// Declare implements web.Accounts. Keys that the provider refuses add no source.
func (s served) Declare(ctx context.Context, key store.Key, declaration string, keys map[string]vault.Secret) (bool, error) {
	var tried account.Connection
	if _, configured := s.force.Load().sources[key]; keys != nil && !configured {
		src, err := s.config().Declare(key.User, key.Provider, declaration)
		if err == nil {
			_, err = s.accounts(ctx) // where nothing can be kept nothing is begun
		}
		if err == nil {
			tried, err = s.try(ctx, src, keys)
		}
		if err != nil {
			return false, problem(err)
		}
	}
	src, added, err := s.declare(ctx, key, declaration)
	if err == nil && keys != nil {
		err = s.keep(ctx, src, tried)
	}
	return added, problem(err)
}

// find returns a source as it is now.
func (s served) find(ctx context.Context, key store.Key) (*config.Source, error) {
	return find(ctx, s.config(), s.store, key)
}

// added returns a source that was added at run time.
func (s served) added(ctx context.Context, key store.Key) (*config.Source, error) {
	src, err := s.find(ctx, key)
	if err == nil && src.Declared == "" {
		err = errConfigured
	}
	return src, err
}

// Give implements web.Accounts.
func (s served) Give(ctx context.Context, key store.Key, keys map[string]vault.Secret) error {
	src, err := s.added(ctx, key)
	var tried account.Connection
	if err == nil {
		tried, err = s.try(ctx, src, keys)
	}
	if err == nil {
		err = s.keep(ctx, src, tried)
	}
	return problem(err)
}

// try asks the provider whose account the keys are of that a user gave.
func (f *fleet) try(ctx context.Context, src *config.Source, keys map[string]vault.Secret) (account.Connection, error) {
	c := account.Connection{Secrets: keys}
	err := wellGiven(src, keys)
	if err == nil {
		c.Identity, err = f.identify(ctx, src, c)
	}
	return c, err
}

// wellGiven refuses other keys than the provider's users have.
func wellGiven(src *config.Source, keys map[string]vault.Secret) error {
	want := wayOf(src.Of).fields()
	for name := range keys {
		if !slices.Contains(want, name) {
			return web.Fault(http.StatusUnprocessableEntity, "invalid", "users of %s do not give a %s: %s", src.Of.Name, name, waysSaid(want))
		}
	}
	for _, name := range want {
		if secret, ok := keys[name]; !ok || secret.IsZero() && name != "password" {
			return web.Fault(http.StatusUnprocessableEntity, "invalid", "the %s is missing: %s", name, waysSaid(want))
		}
		if text := keys[name].Reveal(); strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return web.Fault(http.StatusUnprocessableEntity, "invalid", "the %s begins or ends with white space, or holds a control character", name)
		}
	}
	if len(want) == 0 {
		return web.Fault(http.StatusUnprocessableEntity, "invalid", "users of %s give no keys", src.Of.Name)
	}
	return nil
}

// waysSaid says what users give.
func waysSaid(fields []string) string {
	if len(fields) == 0 {
		return "they connect on its page, or need not at all"
	}
	return "give " + strings.Join(fields, " and ")
}

// Pause implements web.Accounts.
func (s served) Pause(ctx context.Context, key store.Key, reason string) error {
	if err := checkReason(reason); err != nil {
		return problem(err)
	}
	_, err := s.store.Pause(ctx, key, reason)
	return problem(err)
}

// Resume implements web.Accounts.
func (s served) Resume(ctx context.Context, key store.Key, reason string) error {
	if err := checkReason(reason); err != nil {
		return problem(err)
	}
	_, err := s.store.Resume(ctx, key, reason)
	return problem(err)
}

// Sync implements web.Accounts.
func (s served) Sync(ctx context.Context, key store.Key) error {
	src, err := s.find(ctx, key)
	if err == nil {
		err = s.dueNow(ctx, src)
	}
	return problem(err)
}

// Confirm implements web.Accounts.
func (s served) Confirm(ctx context.Context, key store.Key, purge bool) error {
	src, err := s.find(ctx, key)
	if err == nil {
		err = s.confirm(ctx, src, purge)
	}
	return problem(err)
}

// Disconnect implements web.Accounts.
func (s served) Disconnect(ctx context.Context, key store.Key, purge *bool) (string, error) {
	src, err := s.find(ctx, key)
	if err != nil {
		return "", problem(err)
	}
	if err := connectable(src); err != nil {
		return "", problem(err)
	}
	wanted := src.Of.PurgeLeft
	if purge != nil {
		wanted = *purge
	}
	said, err := s.disconnect(ctx, src, wanted)
	return said, problem(err)
}

// Remove implements web.Accounts.
func (s served) Remove(ctx context.Context, key store.Key, purge bool) (string, error) {
	if _, ok := s.force.Load().sources[key]; ok {
		return "", problem(errConfigured)
	}
	said, err := s.remove(ctx, key, purge)
	return said, problem(err)
}

// Events implements web.Accounts.
func (s served) Events(ctx context.Context, f store.EventFilter) ([]store.Event, error) {
	return s.store.Events(ctx, f)
}

// wanted returns the source of a session: the one that is there, or the one that
// it would add.
func (s served) wanted(ctx context.Context, key store.Key, declaration string) (*config.Source, error) {
	src, err := s.find(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		src, err = s.config().Declare(key.User, key.Provider, declaration)
	}
	return src, err
}

// Begin implements web.Accounts.
func (s served) Begin(ctx context.Context, key store.Key, declaration, returnTo string) error {
	if returnTo != "" {
		origin, ok := config.Origin(returnTo)
		if u, err := url.Parse(returnTo); !ok || err != nil || u.Fragment != "" || !slices.Contains(s.config().API.ReturnTo, origin) {
			return web.Fault(http.StatusUnprocessableEntity, "invalid", "return_to is not a page of an origin in api.return_to of the configuration")
		}
	}
	src, err := s.find(ctx, key)
	if err == nil && declaration != "{}" {
		return web.Fault(http.StatusConflict, "source_exists", "the source is there already: change it by POST /v1/sources, and begin the session without options and schedule")
	}
	if errors.Is(err, store.ErrNotFound) {
		src, err = s.config().Declare(key.User, key.Provider, declaration)
	}
	if err != nil {
		return problem(err)
	}
	switch w := wayOf(src.Of); {
	case w == byItself || w == byNobody:
		return web.Fault(http.StatusConflict, "nothing_to_connect", "users of %s have nothing to connect", src.Of.Name)
	case w == byConsent && src.Of.OAuth.AuthURL == "":
		return web.Fault(http.StatusConflict, "nothing_to_connect", "it is not known where users of %s consent: auth_url under oauth: is missing", src.Of.Name)
	}
	if len(src.Credentials) > 0 {
		return problem(errConfigured)
	}
	return problem(connectable(src))
}

// Way implements web.Accounts.
func (s served) Way(ctx context.Context, session connect.Session) (web.Way, error) {
	src, err := s.wanted(ctx, session.Key, session.Declaration)
	if err != nil {
		return web.Way{}, err
	}
	way := wayOf(src.Of)
	return web.Way{Provider: src.Of.Name, Consent: way == byConsent, Fields: way.fields()}, nil
}

// consenting returns the client with which a session's user consents.
func (s served) consenting(ctx context.Context, session connect.Session) (*oauth.Client, error) {
	src, err := s.wanted(ctx, session.Key, session.Declaration)
	if err != nil {
		return nil, err
	}
	return s.authorizer(src.Of, s.config().API.URL+web.Callback), nil
}

// AuthURL implements web.Accounts.
func (s served) AuthURL(ctx context.Context, session connect.Session, state string, verifier vault.Secret) (string, error) {
	client, err := s.consenting(ctx, session)
	if err != nil {
		return "", err
	}
	return client.AuthCodeURL(state, verifier), nil
}

// Exchange implements web.Accounts.
func (s served) Exchange(ctx context.Context, session connect.Session, code string, verifier vault.Secret) error {
	client, err := s.consenting(ctx, session)
	if err != nil {
		return problem(err)
	}
	token, err := client.Exchange(ctx, code, verifier)
	if err != nil {
		return problem(err)
	}
	src, err := s.there(ctx, session)
	if err == nil {
		err = s.connected(ctx, src, account.Connection{Token: token})
	}
	return problem(err)
}

// GiveIn implements web.Accounts.
func (s served) GiveIn(ctx context.Context, session connect.Session, keys map[string]vault.Secret) error {
	src, err := s.wanted(ctx, session.Key, session.Declaration)
	if err != nil {
		return problem(err)
	}
	tried, err := s.try(ctx, src, keys) // what the provider refuses adds no source
	if err == nil {
		src, err = s.there(ctx, session)
	}
	if err == nil {
		err = s.keep(ctx, src, tried)
	}
	return problem(err)
}

// there returns the source of a session, which is added if it is not there yet.
func (s served) there(ctx context.Context, session connect.Session) (*config.Source, error) {
	src, err := s.find(ctx, session.Key)
	if errors.Is(err, store.ErrNotFound) {
		src, _, err = s.declare(ctx, session.Key, session.Declaration)
	}
	return src, err
}
