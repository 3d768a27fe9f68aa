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
	"time"

	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// kind is that of what is sealed here.
const kind = "oauth2"

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

// A ReauthError says that the user must connect the account again. It holds no secret.
type ReauthError struct {
	Key store.Key
	Why string

	bound string // where the session would have sent the token
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
	For     string    `json:"for,omitempty"` // see grant.bound
}

// A grant is a token with when it was granted.
type grant struct {
	oauth.Token
	issued time.Time
	bound  string // where the tokens may be sent: the application, its token endpoint and the API's origin
}

// Save stores a new token for a source, in place of whatever it had.
// bound says where its tokens may be sent: to no other place will they be, even
// if the configuration comes to name one.
func (b *Book) Save(ctx context.Context, key store.Key, t oauth.Token, identity, bound string) error {
	for {
		row, err := b.Store.Credential(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		row.Key, row.Kind, row.Identity, row.Refused = key, kind, identity, ""
		_, err = b.put(ctx, row, grant{t, b.now(), bound})
		if !errors.Is(err, store.ErrConflict) { // it was refreshed at that moment
			return err
		}
	}
}

// put seals a grant and writes it over the row that was read.
func (b *Book) put(ctx context.Context, row store.Credential, g grant) (int64, error) {
	plain, err := json.Marshal(sealed{
		Access: g.Access.Reveal(), Refresh: g.Refresh.Reveal(), Expires: g.Expires.UTC(), Issued: g.issued.UTC(), Scope: g.Scope, For: g.bound,
	})
	if err != nil {
		return 0, fmt.Errorf("seal the credential of %s: %w", row.Key, err)
	}
	if row.Sealed, err = b.Keys.Seal(owner(row.Key), plain); err != nil {
		return 0, fmt.Errorf("seal the credential of %s: %w", row.Key, err)
	}
	row.KeyID, row.ExpiresAt = b.Keys.Active(), g.Expires
	return b.Store.PutCredential(ctx, row)
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
	g := grant{oauth.Token{Access: vault.NewSecret(s.Access), Expires: s.Expires, Scope: s.Scope}, s.Issued, s.For}
	if s.Refresh != "" {
		g.Refresh = vault.NewSecret(s.Refresh)
	}
	return g, nil
}

// Tokens returns the secrets that are stored for a source, to be looked for
// where none may be.
func (b *Book) Tokens(ctx context.Context, key store.Key) ([]vault.Secret, error) {
	g, _, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	secrets := []vault.Secret{g.Access}
	if !g.Refresh.IsZero() {
		secrets = append(secrets, g.Refresh)
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
	Token     oauth.Token // zero if there was none, or if it is Elsewhere
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
		return Dropped{Elsewhere: true}, nil
	}
	return Dropped{Token: g.Token}, nil
}

func owner(key store.Key) vault.Owner { return vault.Owner{User: key.User, Provider: key.Provider} }
