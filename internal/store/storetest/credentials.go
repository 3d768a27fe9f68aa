package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

var credentialCases = []testCase{
	{"a credential is written by whoever read it last", credentialVersions},
	{"one refresher at a time", credentialHold},
	{"of many that would refresh, one does", credentialRace},
	{"credentials are listed by key, time and user", credentialList},
	{"what can't be kept is refused", credentialRefused},
	{"a removed source leaves no credential", credentialRemoved},
}

// sealed is a credential that a test tells from others.
func sealed(key store.Key, text string) store.Credential {
	return store.Credential{Key: key, Kind: "oauth2", Sealed: []byte(text), KeyID: "k1"}
}

// keep writes a credential and returns it as it is stored.
func (e *env) keep(c store.Credential) store.Credential {
	e.Helper()
	version, err := e.s.PutCredential(e.ctx, c)
	e.ok(err)
	got, err := e.s.Credential(e.ctx, c.Key)
	e.ok(err)
	e.same("version", got.Version, version)
	return got
}

func credentialVersions(e *env) {
	_, err := e.s.Credential(e.ctx, alice)
	e.is("none", err, store.ErrNotFound)
	_, err = e.s.PutCredential(e.ctx, store.Credential{Key: alice, Kind: "oauth2", Sealed: []byte{0}, KeyID: "k1", Version: 1})
	e.is("a version of none", err, store.ErrConflict)

	c := sealed(alice, "\x00\xff one")
	c.Identity, c.Refused, c.ExpiresAt = "acct_1", "invalid_grant", e.now().Add(time.Hour).Truncate(time.Microsecond)
	got := e.keep(c)
	e.same("version", got.Version, int64(1))
	e.same("sealed", got.Sealed, c.Sealed)
	e.same("the rest", []any{got.Kind, got.KeyID, got.Identity, got.Refused, got.Refresher}, []any{"oauth2", "k1", "acct_1", "invalid_grant", ""})
	e.same("expires", got.ExpiresAt, c.ExpiresAt)
	e.same("never due", got.DueAt.IsZero() && got.RefresherUntil.IsZero(), true)
	_, err = e.s.PutCredential(e.ctx, c)
	e.is("written twice", err, store.ErrConflict)

	next := got
	next.Sealed, next.Refused, next.ExpiresAt = []byte("two"), "", time.Time{}
	second := e.keep(next)
	e.same("second", []any{second.Version, string(second.Sealed), second.Refused, second.ExpiresAt.IsZero(), second.CreatedAt}, []any{int64(2), "two", "", true, got.CreatedAt})
	_, err = e.s.PutCredential(e.ctx, next)
	e.is("by who has read the one before", err, store.ErrConflict)
	e.ok(e.s.DropCredential(e.ctx, alice))
	e.ok(e.s.DropCredential(e.ctx, alice))
	_, err = e.s.Credential(e.ctx, alice)
	e.is("dropped", err, store.ErrNotFound)
}

func credentialHold(e *env) {
	_, _, err := e.s.HoldCredential(e.ctx, alice, "a", ttl)
	e.is("none", err, store.ErrNotFound)
	e.keep(sealed(alice, "one"))
	before, held, err := e.s.HoldCredential(e.ctx, alice, "a", ttl)
	e.ok(err)
	e.same("held", []any{held, before.Refresher, string(before.Sealed)}, []any{true, "", "one"})
	before, held, err = e.s.HoldCredential(e.ctx, alice, "b", ttl)
	e.ok(err)
	e.same("by another", []any{held, before.Refresher}, []any{false, "a"})
	e.ok(e.s.FreeCredential(e.ctx, alice, "b", false))
	_, held, err = e.s.HoldCredential(e.ctx, alice, "b", ttl)
	e.ok(err)
	e.same("freed by another", held, false)
	e.ok(e.s.FreeCredential(e.ctx, alice, "a", true))
	before, held, err = e.s.HoldCredential(e.ctx, alice, "a2", ttl)
	e.ok(err)
	e.same("left, as an answer may be lost", []any{held, before.Refresher}, []any{true, "a"})
	e.ok(e.s.FreeCredential(e.ctx, alice, "a2", false))
	_, held, err = e.s.HoldCredential(e.ctx, alice, "b", time.Microsecond)
	e.ok(err)
	e.same("freed", held, true)
	for held = false; !held; { // until that microsecond is over
		before, held, err = e.s.HoldCredential(e.ctx, alice, "c", ttl)
		e.ok(err)
	}
	e.same("who was there", before.Refresher, "b")
	c, err := e.s.Credential(e.ctx, alice)
	e.ok(err)
	e.same("noted", []any{c.Refresher, c.RefresherUntil.IsZero(), c.Version}, []any{"c", false, int64(1)})
	c.Refresher = "b"
	_, err = e.s.PutCredential(e.ctx, c)
	e.is("written under a note that is another's", err, store.ErrConflict)
	c.Refresher = "c"
	c = e.keep(c)
	e.same("the answer takes the note out", []any{c.Refresher, c.RefresherUntil.IsZero()}, []any{"", true})
}

func credentialRace(e *env) {
	e.keep(sealed(alice, "one"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 8 {
		wg.Go(func() {
			_, held, err := e.s.HoldCredential(e.ctx, alice, fmt.Sprint("daemon ", i), ttl)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				e.Error(err)
			}
			if held {
				won++
			}
		})
	}
	wg.Wait()
	e.same("held by", won, 1)
}

func credentialList(e *env) {
	bob := store.Key{User: "bob", Provider: "github"}
	work := store.Key{User: "alice", Provider: "github@work"}
	c := sealed(bob, "b")
	c.KeyID, c.DueAt = "k2", e.now().Add(-time.Minute)
	e.keep(c)
	c = sealed(work, "w")
	c.DueAt = e.now().Add(time.Hour)
	e.keep(c)
	e.keep(sealed(alice, "a"))
	list := func(f store.CredentialFilter) (out []string) {
		e.Helper()
		all, err := e.s.Credentials(e.ctx, f)
		e.ok(err)
		for _, c := range all {
			out = append(out, string(c.Sealed))
		}
		return out
	}
	e.same("all", list(store.CredentialFilter{}), []string{"a", "w", "b"})
	e.same("a page", list(store.CredentialFilter{After: alice, Limit: 1}), []string{"w"})
	e.same("by another key", list(store.CredentialFilter{NotBy: "k2"}), []string{"a", "w"})
	e.same("due", list(store.CredentialFilter{Due: true}), []string{"b"})
	e.same("of a user", list(store.CredentialFilter{User: "alice"}), []string{"a", "w"})
}

func credentialRefused(e *env) {
	for name, change := range map[string]func(*store.Credential){
		"no user":         func(c *store.Credential) { c.User = "" },
		"nothing sealed":  func(c *store.Credential) { c.Sealed = nil },
		"no key":          func(c *store.Credential) { c.KeyID = "" },
		"a NUL":           func(c *store.Credential) { c.Identity = "a\x00" },
		"a long provider": func(c *store.Credential) { c.Provider = string(bytes.Repeat([]byte("p"), 129)) },
	} {
		c := sealed(alice, "one")
		change(&c)
		_, err := e.s.PutCredential(e.ctx, c)
		e.refused(name, err)
	}
}

func credentialRemoved(e *env) {
	e.apply(alice)
	e.keep(sealed(alice, "one"))
	e.ok(e.s.Remove(e.ctx, alice, false))
	_, err := e.s.Credential(e.ctx, alice)
	e.is("removed", err, store.ErrNotFound)
}
