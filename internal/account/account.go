// Package account keeps the credentials of connected accounts: sealed in the
// store, opened for requests, and refreshed by one at a time over all daemons.
//
// The way of a token: the provider grants it → it is sealed and stored → only
// then is it used. So a crash can lose at most the answer that was on its way,
// and the note that the store keeps of every refresh tells so.
package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// Kinds of credentials, as the store's rows have them.
const (
	OAuth2 = "oauth2" // tokens that are refreshed
	Keys   = "keys"   // what a user gave: an API key, or a name and a password
)

// A Book is the credentials in a store, with the keys that open them.
type Book struct {
	Store store.Credentials
	Keys  *vault.Keyring
	Owner string           // this process, for the note of who refreshes
	Now   func() time.Time // nil: time.Now
}

func (b *Book) now() time.Time {
	if b.Now == nil {
		return time.Now()
	}
	return b.Now()
}

// Terms are on what a source's credential may be used.
type Terms struct {
	Bound     string        // where it may be sent: the application, its token endpoint and the API's origin
	Account   string        // whose records the source's are, by the provider's id; "" if nobody knows
	KeepAlive time.Duration // a refresh is due so long after the last, though nobody syncs; 0 for never
}

// A Connection is what came of a user's consent.
type Connection struct {
	Token    oauth.Token             // zero where the user gave keys
	Secrets  map[string]vault.Secret // the keys that the user gave, by name
	Identity string                  // whose account it is, by the provider's id; "" if the provider does not say
}

// A ReauthError says that the user must connect the account again. It holds no secret.
type ReauthError struct {
	Key store.Key
	Why string

	bound string // where the session would have sent the token
}

// An AccountError says that what is connected is another account than the one
// that a source's records are of: to use it would mix two people's data.
type AccountError struct {
	Key       store.Key
	Have, Got string // the provider's ids
}

func (e *AccountError) Error() string {
	got := e.Got
	if got == "" {
		got = "the provider does not tell which"
	}
	return fmt.Sprintf("the account that is connected (%s) is not the one that the records of %s are of (%s): connect that one, or say what is to become of them: syncd sources confirm %s", got, e.Key, e.Have, e.Key)
}

// notConnected is why there is no token at all.
const notConnected = "it is not connected"

func (e *ReauthError) Error() string {
	return fmt.Sprintf("%s must be connected again (%s): syncd connect %s", e.Key, e.Why, e.Key)
}

// sealed is what is sealed of a token. It is the one place where secrets are
// spelt out, and what Marshal makes of it goes nowhere but to the keyring.
type sealed struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Issued  time.Time `json:"issued"`
	Scope   string    `json:"scope,omitempty"`
	For     string    `json:"for,omitempty"` // see Terms.Bound

	Keys map[string]string `json:"keys,omitempty"`
}

// A grant is what is sealed, opened.
type grant struct {
	oauth.Token
	issued  time.Time
	bound   string // see Terms
	secrets map[string]vault.Secret
}

// Save stores what came of a user's consent, in place of whatever the source
// had, and tells of it. It will be sent to no other place than the terms say,
// even if the configuration comes to name one.
func (b *Book) Save(ctx context.Context, key store.Key, c Connection, terms Terms, events ...store.Event) error {
	kind := OAuth2
	if c.Secrets != nil {
		kind = Keys
	}
	for {
		row, err := b.Store.Credential(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		row.Key, row.Kind, row.Identity, row.Refused = key, kind, c.Identity, ""
		g := grant{c.Token, b.now(), terms.Bound, c.Secrets}
		row.DueAt = terms.due(g)
		_, err = b.put(ctx, row, g, events...)
		if !errors.Is(err, store.ErrConflict) { // it was refreshed at that moment
			return err
		}
	}
}

// due is when a grant is to be refreshed though nobody syncs, so that its
// refresh token does not die of age; zero for never.
func (t Terms) due(g grant) time.Time {
	if g.Refresh.IsZero() || t.KeepAlive <= 0 {
		return time.Time{}
	}
	return g.issued.Add(t.KeepAlive)
}

// put seals a grant and writes it over the row that was read.
func (b *Book) put(ctx context.Context, row store.Credential, g grant, events ...store.Event) (int64, error) {
	spelt := sealed{
		Access: g.Access.Reveal(), Refresh: g.Refresh.Reveal(), Expires: g.Expires.UTC(), Issued: g.issued.UTC(), Scope: g.Scope, For: g.bound,
	}
	for name, secret := range g.secrets {
		if spelt.Keys == nil {
			spelt.Keys = map[string]string{}
		}
		spelt.Keys[name] = secret.Reveal()
	}
	plain, err := json.Marshal(spelt)
	if err != nil {
		return 0, fmt.Errorf("seal the credential of %s: %w", row.Key, err)
	}
	if row.Sealed, err = b.Keys.Seal(owner(row.Key), plain); err != nil {
		return 0, fmt.Errorf("seal the credential of %s: %w", row.Key, err)
	}
	row.KeyID, row.ExpiresAt = b.Keys.Active(), g.Expires
	return b.Store.PutCredential(ctx, row, events...)
}

// open returns a source's grant, and its row.
func (b *Book) open(ctx context.Context, key store.Key) (grant, store.Credential, error) {
	row, err := b.Store.Credential(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return grant{}, row, &ReauthError{Key: key, Why: notConnected}
	}
	if err != nil {
		return grant{}, row, err
	}
	g, err := b.read(row)
	return g, row, err
}

func (b *Book) read(row store.Credential) (grant, error) {
	plain, err := b.Keys.Open(owner(row.Key), row.Sealed)
	if err != nil {
		return grant{}, fmt.Errorf("open the credential of %s: %w", row.Key, err)
	}
	var s sealed
	if err := json.Unmarshal(plain, &s); err != nil {
		return grant{}, fmt.Errorf("open the credential of %s: it is not as this program writes it", row.Key)
	}
	g := grant{Token: oauth.Token{Access: vault.NewSecret(s.Access), Expires: s.Expires, Scope: s.Scope}, issued: s.Issued, bound: s.For}
	if s.Refresh != "" {
		g.Refresh = vault.NewSecret(s.Refresh)
	}
	for name, secret := range s.Keys {
		if g.secrets == nil {
			g.secrets = map[string]vault.Secret{}
		}
		g.secrets[name] = vault.NewSecret(secret)
	}
	return g, nil
}

// Secrets returns the keys that a user gave for a source, by name. Those that
// may not be used on these terms are an error: a *ReauthError or an *AccountError.
func (b *Book) Secrets(ctx context.Context, key store.Key, terms Terms) (map[string]vault.Secret, error) {
	s := b.Session(key, nil, terms)
	g, row, err := s.open(ctx)
	if err == nil {
		_, err = s.accept(g, row)
	}
	if err != nil {
		return nil, err
	}
	return g.secrets, nil
}

// Tokens returns the secrets that are stored for a source, to be looked for
// where none may be.
func (b *Book) Tokens(ctx context.Context, key store.Key) ([]vault.Secret, error) {
	g, _, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	var secrets []vault.Secret
	for _, s := range append(slices.Collect(maps.Values(g.secrets)), g.Access, g.Refresh) {
		if !s.IsZero() {
			secrets = append(secrets, s)
		}
	}
	return secrets, nil
}

// Settled reports whether the account that e is about has been connected again
// since, so that e no longer counts.
func (b *Book) Settled(ctx context.Context, e *ReauthError) (bool, error) {
	g, row, err := b.open(ctx, e.Key)
	if _, none := errors.AsType[*ReauthError](err); none {
		return false, nil
	}
	return err == nil && row.Refused == "" && g.bound == e.bound, err
}

// A Dropped is what a source's credential was.
type Dropped struct {
	Had       bool        // there was one
	Token     oauth.Token // zero if there was none to give back, or if it is Elsewhere
	Elsewhere bool        // it was granted for another server or application, and can't be sent to this one
}

// Drop forgets a source's credential and returns what it was, to be revoked at
// bound. A refresh that is on its way is waited for: what it gets would be left.
func (b *Book) Drop(ctx context.Context, key store.Key, bound string) (Dropped, error) {
	row, err := b.take(ctx, key, b.note(" disconnect"))
	if err != nil {
		return Dropped{}, ignoreGone(err)
	}
	g, err := b.read(row)
	// What can't be opened can still be forgotten.
	if err := errors.Join(err, b.Store.DropCredential(ctx, key)); err != nil {
		return Dropped{}, err
	}
	if g.bound != bound {
		return Dropped{Had: true, Elsewhere: true}, nil
	}
	return Dropped{Had: true, Token: g.Token}, nil
}

func owner(key store.Key) vault.Owner { return vault.Owner{User: key.User, Provider: key.Provider} }
