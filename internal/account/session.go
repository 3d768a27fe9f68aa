package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
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

	mu     sync.Mutex
	last   grant     // that was read or got last: most requests need no look into the store
	failed time.Time // when a refresh came to nothing though that token was good still
}

// Session returns the account of a source, refreshed by client. Tokens that were
// granted for elsewhere than bound are not used.
func (b *Book) Session(key store.Key, client *oauth.Client, bound string) *Session {
	return &Session{book: b, key: key, client: client, bound: bound}
}

// reauth says why this account must be connected again.
func (s *Session) reauth(why string) *ReauthError { return &ReauthError{s.key, why, s.bound} }

// open returns the grant and its row.
func (s *Session) open(ctx context.Context) (grant, store.Credential, error) {
	g, row, err := s.book.open(ctx, s.key)
	if r, none := errors.AsType[*ReauthError](err); none {
		err = s.reauth(r.Why)
	}
	return g, row, err
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

// away is how long no refresh is tried after one that came to nothing, while
// the token is good.
const away = time.Minute

// Token returns an access token that is good for a while: the stored one, or a
// new one where its end is near. A *ReauthError means that only the user can help.
func (s *Session) Token(ctx context.Context) (vault.Secret, error) {
	if token, ok := s.remembered(); ok {
		return token, nil
	}
	g, row, err := s.open(ctx)
	if err != nil {
		return vault.Secret{}, err
	}
	if token, err := s.accept(g, row); err != nil || g.fresh(s.book.now()) || g.Refresh.IsZero() {
		return token, err // a token that can't be refreshed is used until it is refused
	}
	token, err := s.Renew(ctx, g.Access)
	if _, gone := errors.AsType[*ReauthError](err); err != nil && !gone && ctx.Err() == nil && s.book.now().Before(g.Expires) {
		s.fail()
		return g.Access, nil // it is good for a while still, and the server may come back
	}
	return token, err
}

// remembered returns the token that was read or got last, if it will do.
func (s *Session) remembered() (vault.Secret, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.last, s.book.now()
	tried := now.Before(s.failed.Add(away)) && now.Before(g.Expires)
	return g.Access, !g.Access.IsZero() && (g.fresh(now) || g.Refresh.IsZero() || tried)
}

// accept remembers and returns what is stored, unless it may not be used here:
// then it is a *ReauthError.
func (s *Session) accept(g grant, row store.Credential) (vault.Secret, error) {
	switch {
	case row.Refused != "":
		return vault.Secret{}, s.reauth(row.Refused)
	case g.bound != s.bound:
		return vault.Secret{}, s.reauth(errElsewhere)
	}
	s.remember(g)
	return g.Access, nil
}

// fail notes that a refresh came to nothing.
func (s *Session) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = s.book.now()
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
	mine := &holder{s, s.book.note("")}
	row, err := s.book.take(ctx, s.key, mine.name)
	if errors.Is(err, store.ErrNotFound) {
		return vault.Secret{}, s.reauth(notConnected)
	}
	if err != nil {
		return vault.Secret{}, err
	}
	return mine.renew(ctx, row, used)
}

// note returns a new note of who holds a credential, and what for.
func (b *Book) note(what string) string { return b.Owner + what + " " + rand.Text()[:8] }

// take waits until a credential is held under a note, and returns it as it was before.
func (b *Book) take(ctx context.Context, key store.Key, note string) (store.Credential, error) {
	for giveUp := b.now().Add(longer); ; {
		row, held, err := b.Store.HoldCredential(ctx, key, note, hold)
		if err != nil || held {
			return row, err
		}
		if b.now().After(giveUp) {
			return row, fmt.Errorf("the token of %s has been being refreshed by %s for %s", key, row.Refresher, longer)
		}
		if err := wait(ctx, glance); err != nil {
			return row, err
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
	var token vault.Secret
	if err == nil {
		token, err = s.accept(g, row)
	}
	if err != nil || !token.Equal(used) {
		return token, errors.Join(err, s.free(ctx)) // another has got one
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
		end := s.free
		if lost || unknown(err) {
			end = s.leave
		}
		return vault.Secret{}, errors.Join(fmt.Errorf("refresh the token of %s: %w", s.key, err), end(ctx))
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
			newer, stored, openErr := s.open(ctx)
			switch {
			case openErr == nil && newer.Refresh.Equal(old.Refresh):
				// It was only sealed anew, or another was refused since: what was granted goes over it.
				row, row.Refresher, row.Refused = stored, "", ""
				continue
			case openErr == nil:
				return s.accept(newer, stored) // the user has connected again meanwhile: that token counts
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
	newer, stored, err := s.open(ctx)
	if err != nil {
		return vault.Secret{}, errors.Join(err, s.free(ctx))
	}
	if !newer.Refresh.Equal(g.Refresh) || !newer.Access.Equal(g.Access) {
		token, err := s.accept(newer, stored)
		return token, errors.Join(err, s.free(ctx))
	}
	why := refusal.Code
	if lost {
		why += "; the answer to the refresh before was lost, and the provider does not take the old token again"
	}
	row.Version = stored.Version // it may have been sealed anew
	return vault.Secret{}, s.refuse(ctx, row, g, why)
}

// refuse stores why the account must be connected again.
func (s *holder) refuse(ctx context.Context, row store.Credential, g grant, why string) error {
	row.Refused = why
	if _, err := s.book.put(ctx, row, g); err != nil && !errors.Is(err, store.ErrConflict) {
		return errors.Join(s.reauth(why), err)
	}
	return s.reauth(why)
}

// unknown reports whether the provider may have granted a token that did not
// get here: no whole answer came, or a gateway gave up waiting for it.
func unknown(err error) bool {
	r, ok := errors.AsType[*oauth.Refusal](err)
	return ok && r.Code == "" && (r.Status == 0 || r.Status == http.StatusBadGateway || r.Status == http.StatusGatewayTimeout)
}

// leave lets others refresh, who learn from the note that an answer may be lost.
func (s *holder) leave(ctx context.Context) error {
	_, _, err := s.book.Store.HoldCredential(ctx, s.key, s.name, 0)
	return err
}

func (s *holder) free(ctx context.Context) error {
	return s.book.Store.FreeCredential(ctx, s.key, s.name)
}
