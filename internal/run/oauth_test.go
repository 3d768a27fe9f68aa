package run_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// A guarded provider has a list that only the holder of A2 may read, and an
// authorization server that answers by a script.
type guarded struct {
	t     *testing.T
	mu    sync.Mutex
	steps []guardedStep
	asked int // token requests
}

type guardedStep struct {
	Status  int
	Headers map[string]string
	Body    string
	Repeat  int
	When    *struct{ Form map[string]string }
}

func readGuarded(t *testing.T, name string) *guarded {
	t.Helper()
	data, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name+".http.json"))
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{t: t}
	if err := json.Unmarshal(data, &g.steps); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	status, body := 200, `{"items": [{"id": 1, "updated_at": "2026-06-01T10:00:00Z"}]}`
	switch {
	case req.URL.Host == "auth.test":
		g.asked++
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(text))
		if err != nil {
			return nil, err
		}
		step := g.steps[0]
		if g.steps[0].Repeat--; g.steps[0].Repeat <= 0 && len(g.steps) > 1 {
			g.steps = g.steps[1:]
		}
		if step.When != nil && step.When.Form["refresh_token"] != form.Get("refresh_token") {
			g.t.Errorf("asked with %q, the script expects %v", form.Get("refresh_token"), step.When.Form)
		}
		status, body = step.Status, step.Body
	case req.Header.Get("Authorization") != "Bearer A2":
		status, body = 401, `{"message":"token expired"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req, ContentLength: int64(len(body))}, nil
}

// stream returns the list as a daemon reads it, by the connector rest.
func (g *guarded) stream(t *testing.T, b *account.Book) syncd.Stream {
	t.Helper()
	session := b.Session(alice, &oauth.Client{Base: g, App: oauth.App{ClientID: "app", TokenURL: "https://auth.test/token"}}, account.Terms{Bound: "here"})
	stack, err := transport.New(transport.Config{Base: g, Auth: syncd.Auth{Scheme: syncd.OAuth2}, Tokens: session})
	if err != nil {
		t.Fatal(err)
	}
	client, err := stack.Client("http://provider.test")
	if err != nil {
		t.Fatal(err)
	}
	return protocol{}.described(client, any1)
}

// connected returns the books of two daemons on one store, in which alice is
// connected by A1 and R1, and A1 is over.
func connected(t *testing.T, r *rig) []*account.Book {
	t.Helper()
	keys, err := vault.ParseKeys("k:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)))
	if err != nil {
		t.Fatal(err)
	}
	books := []*account.Book{{Store: r.store, Keys: keys, Owner: "one"}, {Store: r.store, Keys: keys, Owner: "two"}}
	if err := r.store.DropCredential(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	token := oauth.Token{Access: vault.NewSecret("A1"), Refresh: vault.NewSecret("R1"), Expires: time.Now().Add(-time.Minute)}
	if err := books[0].Save(t.Context(), alice, account.Connection{Token: token}, account.Terms{Bound: "here"}); err != nil {
		t.Fatal(err)
	}
	return books
}

// Twenty readers on two daemons find the token over at the same time.
func TestTokensAreRefreshedOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		g := readGuarded(t, "OAU-02")
		books := connected(t, newRig(t, open(t)))
		var wg sync.WaitGroup
		for i := range 20 {
			s := g.stream(t, books[i%2])
			wg.Go(func() {
				if page, err := s.Fetch(t.Context(), syncd.Request{}); err != nil || len(page.Records) != 1 {
					t.Errorf("reader %d: %d records, %v", i, len(page.Records), err)
				}
			})
		}
		wg.Wait()
		if g.asked != 1 {
			t.Errorf("%d token requests, want 1", g.asked)
		}
	})
}

// A refresh token that is no more is not tried again and again.
func TestADeadTokenIsLeftAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		g := readGuarded(t, "OAU-12")
		books := connected(t, newRig(t, open(t)))
		for i := range 24 {
			_, err := g.stream(t, books[i%2]).Fetch(t.Context(), syncd.Request{})
			if reauth, ok := errors.AsType[*account.ReauthError](err); !ok || reauth.Key != alice {
				t.Fatalf("got %v, want to be told to connect again", err)
			}
		}
		if g.asked > 2 {
			t.Errorf("%d token requests, want 2 at most", g.asked)
		}
	})
}
