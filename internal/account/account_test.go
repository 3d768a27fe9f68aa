package account

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/vault"
)

var alice = store.Key{User: "alice", Provider: "gitea"}

// keys is a keyring with keys of these names.
func keys(t *testing.T, ids ...string) *vault.Keyring {
	t.Helper()
	var lines []string
	for _, id := range ids {
		lines = append(lines, id+":"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[:1]), 32)))
	}
	k, err := vault.ParseKeys(strings.Join(lines, ","))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// An endpoint is an authorization server's token endpoint, which takes a second.
type endpoint struct {
	mu     sync.Mutex
	asked  []string // the refresh tokens
	answer func(n int, refresh string) (status int, body string)
}

func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.asked = append(e.asked, form.Get("refresh_token"))
	status, body := e.answer(len(e.asked), form.Get("refresh_token"))
	e.mu.Unlock()
	time.Sleep(time.Second) // in the bubble
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

func (e *endpoint) client() *oauth.Client {
	return &oauth.Client{Base: e, App: oauth.App{ClientID: "app", TokenURL: "https://auth.test/token"}}
}

// rotating answers R1 with A2 and R2, R2 with A3 and R3, and nothing twice.
func rotating() func(int, string) (int, string) {
	next := 1
	return func(_ int, refresh string) (int, string) {
		if refresh != fmt.Sprint("R", next) {
			return 400, `{"error":"invalid_grant"}`
		}
		next++
		return 200, fmt.Sprintf(`{"access_token":"A%d","refresh_token":"R%d","expires_in":3600}`, next, next)
	}
}

func book(t *testing.T, s store.Credentials, owner string) *Book {
	return &Book{Store: s, Keys: keys(t, "b"), Owner: owner}
}

// connect stores A1 and R1, the former good for so long.
func connect(t *testing.T, b *Book, lasts time.Duration) {
	t.Helper()
	token := oauth.Token{Access: vault.NewSecret("A1"), Refresh: vault.NewSecret("R1")}
	if lasts != 0 {
		token.Expires = time.Now().Add(lasts)
	}
	if err := b.Save(t.Context(), alice, Connection{Token: token, Identity: "acct_1"}, Terms{Bound: "here"}); err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T, b *Book) (grant, store.Credential) {
	t.Helper()
	g, row, err := b.open(context.Background(), alice)
	if err != nil {
		t.Fatal(err)
	}
	return g, row
}

// script is a token endpoint that answers by a script of the shared cases.
func script(t *testing.T, name string) func(int, string) (int, string) {
	data, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name+".http.json"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct {
		Status int
		Body   string
		Repeat int
		When   *struct{ Form map[string]string }
	}
	if err := json.Unmarshal(data, &steps); err != nil {
		t.Fatal(err)
	}
	return func(_ int, refresh string) (int, string) {
		step := steps[0]
		if steps[0].Repeat--; steps[0].Repeat <= 0 && len(steps) > 1 {
			steps = steps[1:]
		}
		if step.When != nil && step.When.Form["refresh_token"] != refresh {
			t.Errorf("asked with %s, the script expects %v", refresh, step.When.Form)
		}
		return step.Status, step.Body
	}
}

// Of twenty runs on two daemons that find the token at its end, one asks the
// provider, whose refresh tokens can be used once.
func TestOneOfManyRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		e := &endpoint{answer: script(t, "OAU-02")}
		daemons := []*Book{book(t, s, "one"), book(t, s, "two")}
		connect(t, daemons[0], time.Second)
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				token, err := daemons[i%2].Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
				if err != nil || token.Reveal() != "A2" {
					t.Errorf("run %d: got %q, %v", i, token.Reveal(), err)
				}
			})
		}
		wg.Wait()
		g, row := stored(t, daemons[0])
		if len(e.asked) != 1 || g.Refresh.Reveal() != "R2" || row.Refresher != "" || row.Identity != "acct_1" {
			t.Errorf("%d requests, stored %s, refresher %q, identity %q", len(e.asked), g.Refresh.Reveal(), row.Refresher, row.Identity)
		}
	})
}

// A grant that is no more costs two requests at most, whoever asks how often.
func TestAGrantThatIsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: script(t, "OAU-12")}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Second)
		for range 24 {
			time.Sleep(time.Hour)
			_, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
			if r, ok := errors.AsType[*ReauthError](err); !ok || r.Key != alice || !strings.Contains(err.Error(), "syncd connect alice gitea") {
				t.Fatalf("got %v", err)
			}
		}
		if len(e.asked) > 2 {
			t.Errorf("%d requests", len(e.asked))
		}
		// Connected again, all is well.
		connect(t, b, time.Hour)
		if token, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || token.Reveal() != "A1" {
			t.Errorf("got %s, %v", token.Reveal(), err)
		}
	})
}

func TestWhenATokenIsRefreshed(t *testing.T) {
	for _, c := range []struct {
		name       string
		lasts, age time.Duration
		want       string
	}{
		{"new", time.Hour, 0, "A1"},
		{"an hour, a fifth of it left", time.Hour, 49 * time.Minute, "A2"},
		{"an hour, more than a fifth left", time.Hour, 47 * time.Minute, "A1"},
		{"a day, 16 minutes left", 24 * time.Hour, 24*time.Hour - 16*time.Minute, "A1"},
		{"a day, 14 minutes left", 24 * time.Hour, 24*time.Hour - 14*time.Minute, "A2"},
		{"over", time.Hour, 2 * time.Hour, "A2"},
		{"no end is known", 0, 1000 * time.Hour, "A1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answer: rotating()}
				b := book(t, memory.New(nil), "one")
				connect(t, b, c.lasts)
				time.Sleep(c.age)
				s := b.Session(alice, e.client(), Terms{Bound: "here"})
				for range 3 {
					if got, err := s.Token(t.Context()); err != nil || got.Reveal() != c.want {
						t.Errorf("got %s, %v; want %s", got.Reveal(), err, c.want)
					}
				}
				if len(e.asked) > 1 {
					t.Errorf("%d requests", len(e.asked))
				}
			})
		})
	}
}

// A token that was refused is renewed once, however many have used it.
func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: rotating()}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Hour)
		s := b.Session(alice, e.client(), Terms{Bound: "here"})
		used, err := s.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := s.Renew(t.Context(), used); err != nil || got.Reveal() != "A2" {
					t.Errorf("got %s, %v", got.Reveal(), err)
				}
			})
		}
		wg.Wait()
		if len(e.asked) != 1 {
			t.Errorf("%d requests", len(e.asked))
		}
	})
}

// What is wrong for the moment, or in the operator's settings, costs nobody's account.
func TestTroubles(t *testing.T) {
	for name, body := range map[string]struct {
		status int
		text   string
	}{
		"503": {503, "<html>"}, "a page": {200, "<html>log in</html>"}, "403": {403, "<html>challenge</html>"}, "429": {429, ""},
		"empty": {200, ""}, "a wrong secret": {401, `{"error":"invalid_client"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := true
				good := rotating()
				e := &endpoint{answer: func(n int, refresh string) (int, string) {
					if bad {
						return body.status, body.text
					}
					return good(n, refresh)
				}}
				b := book(t, memory.New(nil), "one")
				connect(t, b, time.Second)
				time.Sleep(time.Minute)
				s := b.Session(alice, e.client(), Terms{Bound: "here"})
				_, err := s.Token(t.Context())
				if _, reauth := errors.AsType[*ReauthError](err); err == nil || reauth {
					t.Fatalf("got %v", err)
				}
				if g, row := stored(t, b); g.Refresh.Reveal() != "R1" || row.Refused != "" || row.RefresherUntil.After(time.Now()) {
					t.Fatalf("stored %s, refused %q, refresher %q until %s", g.Refresh.Reveal(), row.Refused, row.Refresher, row.RefresherUntil)
				}
				bad = false
				if got, err := s.Token(t.Context()); err != nil || got.Reveal() != "A2" {
					t.Errorf("got %s, %v", got.Reveal(), err)
				}
			})
		})
	}
}

// broken is a store whose writes fail for a while.
type broken struct {
	*memory.Store
	fails int
}

func (b *broken) PutCredential(ctx context.Context, c store.Credential, events ...store.Event) (int64, error) {
	if b.fails--; b.fails >= 0 {
		return 0, store.ErrUnreachable
	}
	return b.Store.PutCredential(ctx, c, events...)
}

// An answer that can't be stored at once is stored later, and not used before.
func TestAnAnswerIsStoredBeforeItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &broken{Store: memory.New(nil)}
		e := &endpoint{answer: rotating()}
		b := book(t, s, "one")
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		s.fails = 5
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel) // the run is ended while the provider answers
		got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(ctx)
		if g, _ := stored(t, b); err != nil || got.Reveal() != "A2" || g.Refresh.Reveal() != "R2" {
			t.Errorf("got %s, %v; stored %s", got.Reveal(), err, g.Refresh.Reveal())
		}
	})
}

// A daemon that dies between the provider's answer and its write loses that
// answer. Where the provider takes the old token again nothing is lost; where
// it does not, it is said what happened.
func TestAnAnswerThatWasLost(t *testing.T) {
	for _, again := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New(nil)
			b := book(t, s, "two")
			connect(t, b, time.Second)
			time.Sleep(time.Minute)
			if _, held, err := s.HoldCredential(t.Context(), alice, "one that dies", hold); !held || err != nil {
				t.Fatal(held, err)
			}
			e := &endpoint{answer: func(int, string) (int, string) {
				if again {
					return 200, `{"access_token":"A2","refresh_token":"R2","expires_in":60}`
				}
				return 400, `{"error":"invalid_grant"}`
			}}
			began := time.Now()
			got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
			if waited := time.Since(began); waited < hold {
				t.Errorf("it was asked after %s, while another might still", waited)
			}
			if again && (err != nil || got.Reveal() != "A2") {
				t.Errorf("got %s, %v", got.Reveal(), err)
			}
			if !again && (err == nil || !strings.Contains(err.Error(), "the answer to the refresh before was lost")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// So does a connection that breaks, or a gateway that gives up: the next run is
// not kept waiting, and says what happened if the provider does not take the old
// token again, whatever came in between. A provider that refused has granted nothing.
func TestAnAnswerThatDidNotArrive(t *testing.T) {
	for name, test := range map[string]struct {
		answers []string // before the grant is denied: a status and a body, or nothing
		lost    bool
	}{
		"no answer":              {[]string{""}, true},
		"a gateway that gave up": {[]string{"504 <html>"}, true},
		"a page":                 {[]string{"200 <html>"}, false},
		"then a wrong secret":    {[]string{"", `401 {"error":"invalid_client"}`}, true},
		"a server that is down":  {[]string{"503 <html>"}, false},
		"a wrong secret":         {[]string{`401 {"error":"invalid_client"}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := book(t, memory.New(nil), "one")
				connect(t, b, time.Second)
				time.Sleep(time.Minute)
				e := &endpoint{answer: func(n int, _ string) (int, string) {
					if n > len(test.answers) {
						return 400, `{"error":"invalid_grant"}`
					}
					status, body, _ := strings.Cut(test.answers[n-1], " ")
					code, _ := strconv.Atoi(status)
					return code, body
				}}
				s := b.Session(alice, e.client(), Terms{Bound: "here"})
				for range test.answers {
					if _, err := s.Token(t.Context()); err == nil || strings.Contains(err.Error(), "connected again") {
						t.Fatalf("got error %v", err)
					}
				}
				began := time.Now()
				_, err := s.Token(t.Context())
				if _, gone := errors.AsType[*ReauthError](err); !gone || strings.Contains(err.Error(), "was lost") != test.lost {
					t.Errorf("got %v, and whether an answer was lost is %t", err, test.lost)
				}
				if waited := time.Since(began); waited > 2*time.Second {
					t.Errorf("it was kept waiting for %s", waited)
				}
			})
		})
	}
}

// Who connects again while the old grant is being refused keeps the new one.
func TestConnectedAgainMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := book(t, memory.New(nil), "one")
		e := &endpoint{}
		e.answer = func(int, string) (int, string) {
			if err := b.Save(context.Background(), alice, Connection{Token: oauth.Token{Access: vault.NewSecret("NEW"), Refresh: vault.NewSecret("RNEW")}, Identity: "acct_1"}, Terms{Bound: "here"}); err != nil {
				t.Error(err)
			}
			return 400, `{"error":"invalid_grant"}`
		}
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context())
		if err != nil || got.Reveal() != "NEW" {
			t.Errorf("got %s, %v", got.Reveal(), err)
		}
		if _, row := stored(t, b); row.Refused != "" {
			t.Errorf("refused: %s", row.Refused)
		}
	})
}

func TestNotConnected(t *testing.T) {
	b := book(t, memory.New(nil), "one")
	_, err := b.Session(alice, (&endpoint{}).client(), Terms{Bound: "here"}).Token(t.Context())
	if _, ok := errors.AsType[*ReauthError](err); !ok || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("got %v", err)
	}
}

func TestRotate(t *testing.T) {
	s := memory.New(nil)
	old := &Book{Store: s, Keys: keys(t, "a"), Owner: "one"}
	const n = 450
	for i := range n {
		key := store.Key{User: fmt.Sprintf("user %03d", i), Provider: "gitea"}
		if err := old.Save(t.Context(), key, Connection{Token: oauth.Token{Access: vault.NewSecret(fmt.Sprint("A", i))}, Identity: ""}, Terms{Bound: "here"}); err != nil {
			t.Fatal(err)
		}
	}
	b := &Book{Store: s, Keys: keys(t, "b", "a"), Owner: "one"}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Rotate(cut); err == nil {
		t.Error("a rotation that is cut says nothing")
	}
	for _, want := range []int{n, 0} {
		if got, err := b.Rotate(t.Context()); err != nil || got != want {
			t.Errorf("sealed %d, %v; want %d", got, err, want)
		}
	}
	only := &Book{Store: s, Keys: keys(t, "b"), Owner: "one"}
	if err := only.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range n {
		g, _, err := only.open(t.Context(), store.Key{User: fmt.Sprintf("user %03d", i), Provider: "gitea"})
		if err != nil || g.Access.Reveal() != fmt.Sprint("A", i) {
			t.Fatal(i, g.Access.Reveal(), err)
		}
	}
	if err := old.Check(t.Context()); !errors.Is(err, vault.ErrNoKey) {
		t.Errorf("the old key alone: %v", err)
	}
	wrong, err := vault.ParseKeys("b:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Book{Store: s, Keys: wrong}).Check(t.Context()); !errors.Is(err, vault.ErrWrongKey) {
		t.Errorf("a wrong key: %v", err)
	}
}

// A row that is copied to another user does not open.
func TestACopiedRow(t *testing.T) {
	s := memory.New(nil)
	b := book(t, s, "one")
	connect(t, b, time.Hour)
	_, row := stored(t, b)
	row.Key, row.Version = store.Key{User: "mallory", Provider: "gitea"}, 0
	if _, err := s.PutCredential(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	_, err := b.Session(row.Key, (&endpoint{}).client(), Terms{Bound: "here"}).Token(t.Context())
	if !errors.Is(err, vault.ErrWrongKey) {
		t.Errorf("got %v", err)
	}
}

// A rotation of keys waits for a refresh that is on its way, and its answer stays.
func TestRotateDuringARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		e := &endpoint{answer: rotating()}
		old := &Book{Store: s, Keys: keys(t, "a"), Owner: "daemon"}
		connect(t, old, time.Second)
		time.Sleep(time.Minute)
		b := &Book{Store: s, Keys: keys(t, "b", "a"), Owner: "operator"}
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := old.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "A2" {
				t.Errorf("got %s, %v", got.Reveal(), err)
			}
		})
		wg.Go(func() {
			time.Sleep(100 * time.Millisecond) // while the provider answers
			if n, err := b.Rotate(t.Context()); n != 1 || err != nil {
				t.Errorf("sealed %d, %v", n, err)
			}
		})
		wg.Wait()
		g, row := stored(t, b)
		if g.Refresh.Reveal() != "R2" || row.KeyID != "b" || row.Refresher != "" {
			t.Errorf("stored %s under %s, refresher %q", g.Refresh.Reveal(), row.KeyID, row.Refresher)
		}
	})
}

// What was granted for one server or application is not sent to another.
func TestTokensStayWithTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: rotating()}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Hour)
		s := b.Session(alice, e.client(), Terms{Bound: "elsewhere"})
		_, err := s.Token(t.Context())
		_, again := s.Renew(t.Context(), vault.NewSecret("A1"))
		for _, err := range []error{err, again} {
			if _, ok := errors.AsType[*ReauthError](err); !ok || !strings.Contains(err.Error(), "another server") {
				t.Errorf("got %v", err)
			}
		}
		if len(e.asked) > 0 {
			t.Errorf("asked %q", e.asked)
		}
	})
}

// A refusal of the moment costs no account, also where there is nothing to
// refresh a token with.
func TestRefusedWithoutARefreshToken(t *testing.T) {
	b := book(t, memory.New(nil), "one")
	if err := b.Save(t.Context(), alice, Connection{Token: oauth.Token{Access: vault.NewSecret("A1")}, Identity: ""}, Terms{Bound: "here"}); err != nil {
		t.Fatal(err)
	}
	s := b.Session(alice, (&endpoint{}).client(), Terms{Bound: "here"})
	_, err := s.Renew(t.Context(), vault.NewSecret("A1"))
	if _, reauth := errors.AsType[*ReauthError](err); err == nil || reauth || !strings.Contains(err.Error(), "syncd connect alice gitea") {
		t.Errorf("got %v", err)
	}
	if got, err := b.Session(alice, (&endpoint{}).client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "A1" {
		t.Errorf("got %s, %v", got.Reveal(), err)
	}
}

// While a token is good, an authorization server that is away fails nobody's run.
func TestAGoodTokenIsUsedWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(int, string) (int, string) { return 503, "" }}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Hour)
		time.Sleep(55 * time.Minute)
		if got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "A1" {
			t.Errorf("got %s, %v", got.Reveal(), err)
		}
		time.Sleep(6 * time.Minute)
		if got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err == nil {
			t.Errorf("got %s after its end", got.Reveal())
		}
	})
}

// Who disconnects and connects again while a refresh is on its way keeps the
// new account.
func TestConnectedAnewDuringARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := book(t, memory.New(nil), "one")
		e := &endpoint{}
		e.answer = func(int, string) (int, string) {
			if _, err := b.Drop(context.Background(), alice, "here"); err != nil {
				t.Error(err)
			}
			if err := b.Save(context.Background(), alice, Connection{Token: oauth.Token{Access: vault.NewSecret("NEW"), Refresh: vault.NewSecret("RNEW")}, Identity: "acct_1"}, Terms{Bound: "here"}); err != nil {
				t.Error(err)
			}
			return 200, `{"access_token":"A2","refresh_token":"R2","expires_in":3600}`
		}
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		if got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "NEW" {
			t.Errorf("got %s, %v", got.Reveal(), err)
		}
		if g, row := stored(t, b); g.Refresh.Reveal() != "RNEW" || row.Identity != "acct_1" {
			t.Errorf("stored %s of %s", g.Refresh.Reveal(), row.Identity)
		}
	})
}

// Who is connected anew for another server while a refresh is on its way keeps
// that account, and this session, which asks the old server, does not get its token.
func TestConnectedElsewhereDuringARefresh(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		text   string
	}{
		"granted": {200, `{"access_token":"A2","refresh_token":"R2","expires_in":3600}`},
		"denied":  {400, `{"error":"invalid_grant"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := book(t, memory.New(nil), "one")
				e := &endpoint{answer: func(int, string) (int, string) {
					if err := b.Save(context.Background(), alice, Connection{Token: oauth.Token{Access: vault.NewSecret("NEW"), Refresh: vault.NewSecret("RNEW")}, Identity: ""}, Terms{Bound: "elsewhere"}); err != nil {
						t.Error(err)
					}
					return answer.status, answer.text
				}}
				connect(t, b, time.Second)
				time.Sleep(time.Minute)
				s := b.Session(alice, e.client(), Terms{Bound: "here"})
				for range 2 {
					got, err := s.Token(t.Context())
					if _, ok := errors.AsType[*ReauthError](err); !ok || !strings.Contains(err.Error(), "another server") {
						t.Errorf("got %s, %v", got.Reveal(), err)
					}
				}
				if g, row := stored(t, b); g.Access.Reveal() != "NEW" || row.Refused != "" {
					t.Errorf("stored %s, refused %q", g.Access.Reveal(), row.Refused)
				}
			})
		})
	}
}

// An answer that comes after another daemon was refused with the same refresh
// token is a grant, and the refusal no longer counts.
func TestALateAnswerCountsAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		b, other := book(t, s, "one"), book(t, s, "two")
		refused := (&endpoint{answer: func(int, string) (int, string) { return 400, `{"error":"invalid_grant"}` }}).client()
		e := &endpoint{answer: func(int, string) (int, string) {
			time.Sleep(2 * hold)
			if _, err := other.Session(alice, refused, Terms{Bound: "here"}).Token(context.Background()); err == nil {
				t.Error("the other daemon was not refused")
			}
			return 200, `{"access_token":"A2","refresh_token":"R2","expires_in":3600}`
		}}
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		if got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "A2" {
			t.Errorf("got %s, %v", got.Reveal(), err)
		}
		if g, row := stored(t, b); g.Refresh.Reveal() != "R2" || row.Refused != "" {
			t.Errorf("stored %s, refused %q", g.Refresh.Reveal(), row.Refused)
		}
	})
}

// While a token is good, a server that is away is not asked with each request.
func TestAServerThatIsAwayIsLeftAloneForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(int, string) (int, string) { return 503, "" }}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Hour)
		time.Sleep(50 * time.Minute)
		s := b.Session(alice, e.client(), Terms{Bound: "here"})
		for _, want := range []int{1, 2} {
			for range 5 {
				if got, err := s.Token(t.Context()); err != nil || got.Reveal() != "A1" {
					t.Errorf("got %s, %v", got.Reveal(), err)
				}
			}
			if len(e.asked) != want {
				t.Errorf("%d requests, want %d", len(e.asked), want)
			}
			time.Sleep(2 * away)
		}
	})
}

// One credential that does not open keeps no other from being sealed anew.
func TestRotatePastOneThatDoesNotOpen(t *testing.T) {
	s := memory.New(nil)
	old := &Book{Store: s, Keys: keys(t, "a"), Owner: "one"}
	for _, user := range []string{"alice", "bob", "carol"} {
		if err := old.Save(t.Context(), store.Key{User: user, Provider: "gitea"}, Connection{Token: oauth.Token{Access: vault.NewSecret("A1")}, Identity: ""}, Terms{Bound: "here"}); err != nil {
			t.Fatal(err)
		}
	}
	_, row := stored(t, old)
	row.Key.User, row.Version = "bob", 1 // alice's, where bob's should be
	if _, err := s.PutCredential(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	b := &Book{Store: s, Keys: keys(t, "b", "a"), Owner: "one"}
	n, err := b.Rotate(t.Context())
	if n != 2 || !errors.Is(err, vault.ErrWrongKey) || !strings.Contains(err.Error(), "bob") {
		t.Errorf("sealed %d, %v", n, err)
	}
}

// A rotation that is cut or fails holds up nobody's refresh.
func TestARotationThatFailsLeavesNoNote(t *testing.T) {
	s := &broken{Store: memory.New(nil)}
	connect(t, &Book{Store: s, Keys: keys(t, "a"), Owner: "one"}, time.Hour)
	b := &Book{Store: s, Keys: keys(t, "b", "a"), Owner: "one"}
	s.fails = 1
	if n, err := b.Rotate(t.Context()); n != 0 || !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("sealed %d, %v", n, err)
	}
	if _, row := stored(t, b); row.Refresher != "" {
		t.Errorf("the note of %q is left", row.Refresher)
	}
}

// What was granted for elsewhere is forgotten, and not handed out to be revoked.
func TestDropElsewhere(t *testing.T) {
	for bound, want := range map[string]string{"here": "R1", "elsewhere": ""} {
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Hour)
		got, err := b.Drop(t.Context(), alice, bound)
		if err != nil || got.Token.Refresh.Reveal() != want || got.Elsewhere != (want == "") {
			t.Errorf("%s: got %q, %v", bound, got.Token.Refresh.Reveal(), err)
		}
		if _, _, err := b.open(t.Context(), alice); err == nil {
			t.Errorf("%s: it is there still", bound)
		}
	}
}

// What a refresh that is on its way gets is handed out to be revoked as well.
func TestDropDuringARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: rotating()}
		b := book(t, memory.New(nil), "one")
		connect(t, b, time.Second)
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := b.Session(alice, e.client(), Terms{Bound: "here"}).Token(t.Context()); err != nil || got.Reveal() != "A2" {
				t.Errorf("got %s, %v", got.Reveal(), err)
			}
		})
		time.Sleep(100 * time.Millisecond) // while the provider answers
		got, err := b.Drop(t.Context(), alice, "here")
		if err != nil || got.Token.Refresh.Reveal() != "R2" {
			t.Errorf("got %q, %v", got.Token.Refresh.Reveal(), err)
		}
		wg.Wait()
	})
}
