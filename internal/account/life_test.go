package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/vault"
)

// told lists the kinds of the events of alice's account, oldest first.
func told(t *testing.T, s *memory.Store) string {
	t.Helper()
	found, err := s.Events(context.Background(), store.EventFilter{User: alice.User, Provider: alice.Provider})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := len(found) - 1; i >= 0; i-- {
		out = append(out, found[i].Kind)
	}
	return strings.Join(out, " ")
}

// A grant that is no more is told of once, whoever comes to know it how often.
func TestOneEventWhenTheUserIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		e := &endpoint{answer: func(int, string) (int, string) { return 400, `{"error":"invalid_grant"}` }}
		b := book(t, s, "one")
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		for range 5 {
			if _, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err == nil {
				t.Fatal("a token")
			}
			time.Sleep(time.Hour)
		}
		if got := told(t, s); got != store.EventNeedsReauth || len(e.asked) != 1 {
			t.Errorf("told of %q in %d requests", got, len(e.asked))
		}
	})
}

// After a refresh whose answer may have been lost, the reason for a refusal says so.
func TestALostAnswerIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		lost   bool
	}{
		"a gateway's timeout":     {504, "", true},
		"a page with 200":         {200, "<html>", false},
		"a cut answer":            {200, `{"access_token":"A2","refresh`, true},
		"too many requests":       {429, "", false},
		"a wrong client's secret": {401, `{"error":"invalid_client"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answer: func(n int, _ string) (int, string) {
					if n == 1 {
						return c.status, c.body
					}
					return 400, `{"error":"invalid_grant"}`
				}}
				b := book(t, memory.New(nil), "one")
				connect(t, b, time.Second)
				time.Sleep(time.Minute)
				began := time.Now()
				_, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
				if _, gone := errors.AsType[*ReauthError](err); err == nil || gone {
					t.Fatalf("first: %v", err)
				}
				_, err = b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
				if r, gone := errors.AsType[*ReauthError](err); !gone || strings.Contains(r.Why, "was lost") != c.lost {
					t.Errorf("then: %v, want lost %t", err, c.lost)
				}
				if waited := time.Since(began); waited > 10*time.Second {
					t.Errorf("the second waited %s for the first", waited)
				}
			})
		})
	}
}

// A token of another account is not used: not where the source is known to be
// another's, and not by a run that began with the account before.
func TestAnotherAccount(t *testing.T) {
	b := book(t, memory.New(nil), "one")
	save := func(access, identity string) {
		t.Helper()
		err := b.Save(t.Context(), alice, Connection{Token: oauth.Token{Access: vault.NewSecret(access)}, Identity: identity}, Terms{Bound: "here"})
		if err != nil {
			t.Fatal(err)
		}
	}
	use := func(what string, s *Session, want string) {
		t.Helper()
		got, err := s.Token(t.Context())
		_, other := errors.AsType[*AccountError](err)
		if want == "" && !other || want != "" && (err != nil || got.Reveal() != want) {
			t.Errorf("%s: got %q, %v, want %q", what, got.Reveal(), err, want)
		}
	}
	session := func(account string) *Session {
		return b.Session(alice, (&endpoint{}).client(), Terms{Bound: "here", Account: account})
	}
	save("A1", "acct_1")
	run := session("")
	use("nobody knows whose records these are", run, "A1")
	save("A2", "acct_2")
	if got, err := run.Renew(t.Context(), vault.NewSecret("A1")); err == nil {
		t.Errorf("a run that began as acct_1 goes on with %q", got.Reveal())
	}
	use("records of acct_1", session("acct_1"), "")
	use("records of acct_2", session("acct_2"), "A2")
	save("A3", "")
	use("the provider does not say", session("acct_1"), "A3")
}

// What a user gave is sealed, and bound to where it may go.
func TestKeys(t *testing.T) {
	s := memory.New(nil)
	b := book(t, s, "one")
	given := map[string]vault.Secret{"username": vault.NewSecret("alice"), "password": vault.NewSecret("canary")}
	if err := b.Save(t.Context(), alice, Connection{Secrets: given, Identity: "7"}, Terms{Bound: "https://a.test"}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Secrets(t.Context(), alice, Terms{Bound: "https://a.test", Account: "7"})
	if err != nil || len(got) != 2 || got["password"].Reveal() != "canary" || got["username"].Reveal() != "alice" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := b.Secrets(t.Context(), alice, Terms{Bound: "https://b.test"}); err == nil {
		t.Error("they go elsewhere")
	}
	if _, err := b.Secrets(t.Context(), alice, Terms{Bound: "https://a.test", Account: "8"}); err == nil {
		t.Error("they are another account's")
	}
	all, err := b.Tokens(t.Context(), alice)
	if err != nil || len(all) != 2 {
		t.Errorf("%d secrets, %v", len(all), err)
	}
	row, err := s.Credential(t.Context(), alice)
	if err != nil || row.Kind != Keys || strings.Contains(fmt.Sprintf("%q", row.Sealed), "canary") {
		t.Errorf("stored %+v, %v", row, err)
	}
	dropped, err := b.Drop(t.Context(), alice, "https://a.test")
	if err != nil || !dropped.Had || !dropped.Token.Access.IsZero() {
		t.Errorf("dropped %+v, %v", dropped, err)
	}
}

// An account that nobody syncs is refreshed before its refresh token dies of age.
func TestKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		e := &endpoint{answer: rotating()}
		terms := Terms{Bound: "here", KeepAlive: 7 * 24 * time.Hour}
		b := book(t, s, "one")
		token := oauth.Token{Access: vault.NewSecret("A1"), Refresh: vault.NewSecret("R1"), Expires: time.Now().Add(time.Hour)}
		if err := b.Save(t.Context(), alice, Connection{Token: token}, terms); err != nil {
			t.Fatal(err)
		}
		due := func() int {
			rows, err := s.Credentials(t.Context(), store.CredentialFilter{Due: true})
			if err != nil {
				t.Fatal(err)
			}
			return len(rows)
		}
		time.Sleep(6 * 24 * time.Hour)
		if due() != 0 {
			t.Error("due after six days")
		}
		time.Sleep(25 * time.Hour)
		if due() != 1 {
			t.Error("not due after seven days")
		}
		for range 3 { // daemons
			go func() {
				if err := b.Session(alice, e.client(), terms).KeepAlive(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(time.Minute)
		if g, _ := stored(t, b); g.Refresh.Reveal() != "R2" || due() != 0 || len(e.asked) != 1 {
			t.Errorf("stored %s, %d due, %d requests", g.Refresh.Reveal(), due(), len(e.asked))
		}
		// A run's refresh counts as well, and a refusal ends it.
		time.Sleep(6 * 24 * time.Hour)
		if _, err := b.Session(alice, e.client(), terms).Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * 24 * time.Hour)
		if due() != 0 {
			t.Error("due six days after a run")
		}
		e.answer = func(int, string) (int, string) { return 400, `{"error":"invalid_grant"}` }
		time.Sleep(2 * 24 * time.Hour)
		if err := b.Session(alice, e.client(), terms).KeepAlive(t.Context()); err == nil || due() != 0 {
			t.Errorf("refused: %v, %d due", err, due())
		}
	})
}

// A grant that comes to allow less is told of, and used.
func TestAScopeThatShrank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		answers := []string{
			`{"access_token":"A2","refresh_token":"R2","expires_in":60,"scope":"write,read"}`,
			`{"access_token":"A3","refresh_token":"R3","expires_in":60,"scope":"read"}`,
			`{"access_token":"A4","refresh_token":"R4","expires_in":60}`,
		}
		e := &endpoint{answer: func(n int, _ string) (int, string) { return 200, answers[n-1] }}
		b := book(t, s, "one")
		token := oauth.Token{Access: vault.NewSecret("A1"), Refresh: vault.NewSecret("R1"), Expires: time.Now().Add(time.Minute), Scope: "read write"}
		if err := b.Save(t.Context(), alice, Connection{Token: token}, Terms{Bound: "here"}); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"", store.EventScope, store.EventScope} {
			time.Sleep(time.Hour)
			got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
			if err != nil || got.Reveal() != fmt.Sprint("A", i+2) || told(t, s) != want {
				t.Errorf("%d: got %s, %v, told of %q", i, got.Reveal(), err, told(t, s))
			}
		}
	})
}

// Tokens of the application itself need no user: they are got when they are
// needed, and got anew at their end.
func TestTheApplicationsOwnTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(n int, _ string) (int, string) {
			if n == 2 {
				return 400, `{"error":"invalid_grant"}` // of whom, there is no user
			}
			return 200, fmt.Sprintf(`{"access_token":"A%d","expires_in":3600}`, n)
		}}
		client := e.client()
		client.App.Itself = true
		b := book(t, memory.New(nil), "one")
		s := func() *Session { return b.Session(alice, client, Terms{Bound: "here"}) }
		if got, err := s().Token(t.Context()); err != nil || got.Reveal() != "A1" {
			t.Fatalf("got %q, %v", got.Reveal(), err)
		}
		if got, err := s().Token(t.Context()); err != nil || got.Reveal() != "A1" {
			t.Errorf("the stored one: got %q, %v", got.Reveal(), err)
		}
		time.Sleep(2 * time.Hour)
		_, err := s().Token(t.Context())
		if _, gone := errors.AsType[*ReauthError](err); err == nil || gone {
			t.Errorf("refused: %v", err)
		}
		if got, err := s().Token(t.Context()); err != nil || got.Reveal() != "A3" {
			t.Errorf("got %q, %v", got.Reveal(), err)
		}
		if got, err := s().Renew(t.Context(), vault.NewSecret("A3")); err != nil || got.Reveal() != "A4" {
			t.Errorf("after a refusal: got %q, %v", got.Reveal(), err)
		}
	})
}
