package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// A Session is one source's account in use. It may be used by several at once.
type Session struct {
	book   *Book
	key    store.Key
	client *oauth.Client
	bound  string

	mu   sync.Mutex
	last grant // that was read or got last: most requests need no look into the store
}

// Session returns the account of a source, refreshed by client. Tokens that were
// granted for elsewhere than bound are not used.
func (b *Book) Session(key store.Key, client *oauth.Client, bound string) *Session {
	return &Session{book: b, key: key, client: client, bound: bound}
}

// errElsewhere is why a token is not used.
const errElsewhere = "it was connected for another server or application than the configuration names now"

// How a refresh is shared: who has noted it has so long; the others look again
// after a while, and give up when it takes too long.
const (
	hold   = 90 * time.Second // longer than an authorization server may take, and the write of its answer after it
	keepOn = 30 * time.Second // how long that write is tried
	glance = 250 * time.Millisecond
	longer = 4 * time.Minute
)

// Token returns an access token that is good for a while: the stored one, or a
// new one where its end is near. A *ReauthError means that only the user can help.
func (s *Session) Token(ctx context.Context) (vault.Secret, error) {
	if g := s.remembered(); !g.Access.IsZero() && (g.fresh(s.book.now()) || g.Refresh.IsZero()) {
		return g.Access, nil
	}
	g, row, err := s.book.open(ctx, s.key)
	if err != nil {
		return vault.Secret{}, err
	}
	if row.Refused != "" {
		return vault.Secret{}, &ReauthError{s.key, row.Refused}
	}
	if g.bound != s.bound {
		return vault.Secret{}, &ReauthError{s.key, errElsewhere}
	}
	s.remember(g)
	if g.fresh(s.book.now()) || g.Refresh.IsZero() {
		return g.Access, nil // a token that can't be refreshed is used until it is refused
	}
	token, err := s.Renew(ctx, g.Access)
	if _, gone := errors.AsType[*ReauthError](err); err != nil && !gone && ctx.Err() == nil && s.book.now().Before(g.Expires) {
		return g.Access, nil // it is good for a while still, and the server may come back
	}
	return token, err
}

func (s *Session) remembered() grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Session) remember(g grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = g
}

// fresh reports whether a token's end is not near: 15 minutes, or a fifth of
// its lifetime if that is less. One whose end nobody knows is.
func (g grant) fresh(now time.Time) bool {
	if g.Expires.IsZero() {
		return true
	}
	margin := min(15*time.Minute, g.Expires.Sub(g.issued)/5)
	return now.Before(g.Expires.Add(-margin))
}

// Renew returns another token than used, which the provider has refused or
// whose end is near: the one that another has got meanwhile, or a new one. Of
// all who ask, over all daemons, one asks the provider.
func (s *Session) Renew(ctx context.Context, used vault.Secret) (vault.Secret, error) {
	giveUp := s.book.now().Add(longer)
	mine := &holder{s, s.book.Owner + " " + rand.Text()[:8]}
	for {
		row, held, err := s.book.Store.HoldCredential(ctx, s.key, mine.name, hold)
		if errors.Is(err, store.ErrNotFound) {
			return vault.Secret{}, &ReauthError{s.key, "it is not connected"}
		}
		if err != nil {
			return vault.Secret{}, err
		}
		if held {
			return mine.renew(ctx, row, used)
		}
		if s.book.now().After(giveUp) {
			return vault.Secret{}, fmt.Errorf("the token of %s has been being refreshed by %s for %s", s.key, row.Refresher, longer)
		}
		if err := wait(ctx, glance); err != nil {
			return vault.Secret{}, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A holder is one note of who refreshes.
type holder struct {
	*Session
	name string
}

// renew refreshes under the note that this process does. The note is taken
// out with the write of the answer, or here. From the request on, nothing of the
// run's end cuts it short: an answer that is not stored is lost.
func (s *holder) renew(ctx context.Context, row store.Credential, used vault.Secret) (vault.Secret, error) {
	ctx = context.WithoutCancel(ctx)
	lost := row.Refresher != "" // somebody noted a refresh and never wrote its answer
	row.Refresher = s.name      // what is written is written under this note
	g, err := s.book.read(row)
	switch {
	case err != nil:
	case row.Refused != "":
		err = &ReauthError{s.key, row.Refused}
	case g.bound != s.bound:
		err = &ReauthError{s.key, errElsewhere}
	default:
		s.remember(g)
	}
	if err != nil || !g.Access.Equal(used) {
		return g.Access, errors.Join(err, s.free(ctx)) // another has got one
	}
	if g.Refresh.IsZero() {
		// A refusal may be of the moment: it is no word that the grant is no more.
		return vault.Secret{}, errors.Join(fmt.Errorf("the provider refuses the token of %s, and it can't be refreshed: if that goes on, connect it again: syncd connect %s", s.key, s.key), s.free(ctx))
	}
	t, err := s.client.Refresh(ctx, g.Refresh)
	if refusal, ok := errors.AsType[*oauth.Refusal](err); ok && refusal.Kind == oauth.Denied {
		return s.denied(ctx, row, g, refusal, lost)
	}
	if err != nil {
		return vault.Secret{}, errors.Join(fmt.Errorf("refresh the token of %s: %w", s.key, err), s.free(ctx))
	}
	return s.keep(ctx, row, g, grant{t, s.book.now(), g.bound})
}

// keep stores a new token before anybody uses it. Until that has been done it
// is tried again: the old refresh token may be worth nothing any more.
func (s *holder) keep(ctx context.Context, row store.Credential, old, g grant) (vault.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, keepOn)
	defer cancel()
	var err error
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, time.Second) {
		_, err = s.book.put(ctx, row, g)
		if err == nil {
			s.remember(g)
			return g.Access, nil
		}
		if errors.Is(err, store.ErrConflict) {
			newer, stored, openErr := s.book.open(ctx, s.key)
			switch {
			case openErr == nil && newer.Refresh.Equal(old.Refresh):
				row, row.Refresher = stored, "" // it was only sealed anew: what was granted goes over it
				continue
			case openErr == nil:
				// The user has connected again meanwhile: that token counts.
				s.remember(newer)
				return newer.Access, nil
			}
			err = openErr
			if _, gone := errors.AsType[*ReauthError](err); gone {
				return vault.Secret{}, err // disconnected meanwhile
			}
		}
		_ = wait(ctx, pause) // its end ends the loop
	}
	return vault.Secret{}, fmt.Errorf("store the new token of %s: %w", s.key, err)
}

// denied is what follows when the provider says that the grant is no more: if
// what is stored is not what was sent, another has rotated it, and that counts.
func (s *holder) denied(ctx context.Context, row store.Credential, g grant, refusal *oauth.Refusal, lost bool) (vault.Secret, error) {
	newer, stored, err := s.book.open(ctx, s.key)
	if err != nil {
		return vault.Secret{}, errors.Join(err, s.free(ctx))
	}
	if stored.Version != row.Version {
		s.remember(newer)
		return newer.Access, s.free(ctx)
	}
	why := refusal.Code
	if lost {
		why += "; the answer to the refresh before was lost, and the provider does not take the old token again"
	}
	return vault.Secret{}, s.refuse(ctx, row, g, why)
}

// refuse stores why the account must be connected again.
func (s *holder) refuse(ctx context.Context, row store.Credential, g grant, why string) error {
	row.Refused = why
	if _, err := s.book.put(ctx, row, g); err != nil && !errors.Is(err, store.ErrConflict) {
		return errors.Join(&ReauthError{s.key, why}, err)
	}
	return &ReauthError{s.key, why}
}

func (s *holder) free(ctx context.Context) error {
	return s.book.Store.FreeCredential(ctx, s.key, s.name)
}
