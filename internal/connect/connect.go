// Package connect is the sessions in which users connect their accounts on
// behalf of an application: from the link that the application is given to the
// end, on whichever daemon the browser comes to.
//
// What is secret of a session is not stored: the link is signed, what the
// browser holds is known by its hash, and the PKCE verifier is derived from the
// master keys and the state.
package connect

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// Lasts is how long a session lasts after each of its steps.
const Lasts = 30 * time.Minute

// What signatures and secrets are for.
const (
	forLink     = "connect link 1"
	forVerifier = "connect verifier 1"
)

// Status is how far a session is.
type Status string

// The states of a session. Those from Connected on are its end.
const (
	Open      Status = "open"            // the link has not been followed to its end
	Asked     Status = "asked"           // the user was sent to the provider
	Taken     Status = "taken"           // the user is back, and the provider is being asked
	Connected Status = "connected"       // the account is connected
	Other     Status = "account_changed" // it is another account than the records are of
	Refused   Status = "refused"         // the user, or the provider, said no
	Failed    Status = "failed"          // see its detail
)

// Ended reports whether nothing more comes of a session.
func (s Status) Ended() bool {
	return s == Connected || s == Other || s == Refused || s == Failed
}

// A Session is one user's way to a connected account.
type Session struct {
	ID          string
	Key         store.Key
	Declaration string // of the source, where the session is to add it; "" where it is there
	ReturnTo    string // the application's page; "" if the user stays here
	Status      Status
	Detail      string // for people: why it failed
	Expires     time.Time

	version int64
	kept    kept
}

// kept is what is stored of a session. It holds no secret.
type kept struct {
	Provider    string `json:"provider"`
	Declaration string `json:"declaration,omitempty"`
	ReturnTo    string `json:"return_to,omitempty"`
	Status      Status `json:"status"`
	Detail      string `json:"detail,omitempty"`
	State       []byte `json:"state,omitempty"`   // the hash of the state that the provider was given
	Browser     []byte `json:"browser,omitempty"` // the hash of what the browser was given
	Key         string `json:"key,omitempty"`     // the master key that makes the verifier
}

// Errors that callers tell apart.
var (
	// ErrLink: the link was not made here, or its time is over.
	ErrLink = errors.New("this link is not good, or no longer")
	// ErrState: what the browser brought back belongs to no session of its own
	// that waits for it.
	ErrState = errors.New("this is not the answer that is waited for")
)

// Sessions are all sessions, in the store that the daemons share.
type Sessions struct {
	Store store.Memos
	Keys  *vault.Keyring
}

// New begins a session.
func (s *Sessions) New(ctx context.Context, key store.Key, declaration, returnTo string) (Session, error) {
	out := Session{ID: rand.Text(), Key: key, kept: kept{Provider: key.Provider, Declaration: declaration, ReturnTo: returnTo, Status: Open}}
	if err := s.put(ctx, &out); err != nil {
		return Session{}, err
	}
	return s.Session(ctx, out.ID)
}

// Link returns what the link to a session ends with. It is for the session's
// user alone: who has it can connect an account for that user.
func (s *Sessions) Link(id string) string { return id + "." + s.Keys.Sign(forLink, id) }

// Follow returns the session of a link, or ErrLink.
func (s *Sessions) Follow(ctx context.Context, link string) (Session, error) {
	id, proof, _ := strings.Cut(link, ".")
	if !s.Keys.Verify(forLink, id, proof) {
		return Session{}, ErrLink
	}
	out, err := s.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrLink
	}
	return out, err
}

// Session returns a session by its id, or store.ErrNotFound.
func (s *Sessions) Session(ctx context.Context, id string) (Session, error) {
	m, err := s.Store.Memo(ctx, store.MemoConnect, id)
	if err != nil {
		return Session{}, err
	}
	out := Session{ID: id, version: m.Version, Expires: m.ExpiresAt}
	if err := json.Unmarshal([]byte(m.Body), &out.kept); err != nil {
		return Session{}, fmt.Errorf("session %s: it is not as this program writes it", id)
	}
	out.Key = store.Key{User: m.User, Provider: out.kept.Provider}
	out.Declaration, out.ReturnTo, out.Status, out.Detail = out.kept.Declaration, out.kept.ReturnTo, out.kept.Status, out.kept.Detail
	return out, nil
}

// A Journey is what a user is sent to the provider with.
type Journey struct {
	State    string       // comes back with the user
	Browser  string       // to be kept in the browser, which must show it then
	Verifier vault.Secret // of PKCE
}

// Depart notes that the user is sent to the provider. A user who begins once more
// is waited for from the new beginning alone.
func (s *Sessions) Depart(ctx context.Context, session Session) (Journey, error) {
	if session.Status != Open && session.Status != Asked {
		return Journey{}, ErrState
	}
	j := Journey{State: session.ID + "." + rand.Text(), Browser: rand.Text()}
	session.kept.Status, session.kept.Key = Asked, s.Keys.Active()
	session.kept.State, session.kept.Browser = hash(j.State), hash(j.Browser)
	j.Verifier = s.Keys.Derive(session.kept.Key, forVerifier, j.State)
	return j, s.put(ctx, &session)
}

// Arrive returns the session of a user who is back, once: the state must be the
// one that the provider was given last, and the browser the one that began.
func (s *Sessions) Arrive(ctx context.Context, state, browser string) (Session, vault.Secret, error) {
	id, _, _ := strings.Cut(state, ".")
	session, err := s.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return Session{}, vault.Secret{}, ErrState
	}
	if err != nil {
		return Session{}, vault.Secret{}, err
	}
	k := session.kept
	if session.Status != Asked || !same(k.State, state) || !same(k.Browser, browser) {
		return Session{}, vault.Secret{}, ErrState
	}
	verifier := s.Keys.Derive(k.Key, forVerifier, state)
	session.kept.Status, session.kept.State, session.kept.Browser = Taken, nil, nil
	err = s.put(ctx, &session)
	if errors.Is(err, store.ErrConflict) { // somebody was quicker
		err = ErrState
	}
	session.Status = Taken
	return session, verifier, err
}

// End notes how a session ended, for the application to ask.
func (s *Sessions) End(ctx context.Context, session Session, status Status, detail string) error {
	session.kept.Status, session.kept.Detail = status, detail
	return s.put(ctx, &session)
}

func (s *Sessions) put(ctx context.Context, session *Session) error {
	body, err := json.Marshal(session.kept)
	if err != nil {
		return err
	}
	m := store.Memo{Kind: store.MemoConnect, ID: session.ID, User: session.Key.User, Body: string(body), Version: session.version}
	session.version, err = s.Store.PutMemo(ctx, m, Lasts)
	return err
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func same(sum []byte, text string) bool {
	return len(sum) > 0 && subtle.ConstantTimeCompare(sum, hash(text)) == 1
}
