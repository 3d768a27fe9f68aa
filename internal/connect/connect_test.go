package connect

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/vault"
)

var alice = store.Key{User: "alice", Provider: "desk@work"}

// sessions returns two daemons' sessions in one store, whose clock can be moved.
func sessions(t *testing.T) (a, b *Sessions, s *memory.Store, clock *time.Time) {
	t.Helper()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s = memory.New(func() time.Time { return now })
	keys, err := vault.ParseKeys("k1:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32))))
	if err != nil {
		t.Fatal(err)
	}
	return &Sessions{s, keys}, &Sessions{s, keys}, s, &now
}

func begin(t *testing.T, s *Sessions) Session {
	t.Helper()
	session, err := s.New(t.Context(), alice, `{"options":{}}`, "https://app.test/back")
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestASession(t *testing.T) {
	a, b, s, _ := sessions(t)
	session := begin(t, a)
	followed, err := b.Follow(t.Context(), a.Link(session.ID))
	if err != nil || followed.Key != alice || followed.ReturnTo != "https://app.test/back" || followed.Declaration != `{"options":{}}` || followed.Status != Open {
		t.Fatalf("followed %+v, %v", followed, err)
	}
	j, err := b.Depart(t.Context(), followed)
	if err != nil || len(j.Verifier.Reveal()) < 43 {
		t.Fatal(j, err)
	}
	m, err := s.Memo(t.Context(), store.MemoConnect, session.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]string{"state": j.State, "browser": j.Browser, "verifier": j.Verifier.Reveal(), "link": a.Link(session.ID)} {
		if strings.Contains(m.Body, secret) {
			t.Errorf("the %s is stored", what)
		}
	}
	back, verifier, err := a.Arrive(t.Context(), j.State, j.Browser)
	if err != nil || back.Key != alice || back.Status != Taken || !verifier.Equal(j.Verifier) {
		t.Fatalf("back %+v, %v", back, err)
	}
	if _, _, err := b.Arrive(t.Context(), j.State, j.Browser); !errors.Is(err, ErrState) {
		t.Errorf("a state is good twice: %v", err)
	}
	if err := a.End(t.Context(), back, Connected, ""); err != nil {
		t.Fatal(err)
	}
	if ended, err := b.Session(t.Context(), session.ID); err != nil || ended.Status != Connected || !ended.Status.Ended() {
		t.Errorf("ended %+v, %v", ended, err)
	}
	if _, err := a.Depart(t.Context(), followed); err == nil {
		t.Error("it can be begun again")
	}
}

// What is not from here, or not from now, is refused.
func TestRefused(t *testing.T) {
	a, b, _, clock := sessions(t)
	one, two := begin(t, a), begin(t, a)
	for name, link := range map[string]string{
		"another's proof": two.ID + "." + strings.SplitN(a.Link(one.ID), ".", 2)[1],
		"no proof":        one.ID, "nothing": "", "changed": a.Link(one.ID) + "x",
	} {
		if _, err := a.Follow(t.Context(), link); !errors.Is(err, ErrLink) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := a.Arrive(t.Context(), one.ID+".x", "x"); !errors.Is(err, ErrState) {
		t.Errorf("nobody was sent: %v", err)
	}
	j1, err := a.Depart(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	j2, err := a.Depart(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Session(t.Context(), one.ID)
	if err != nil {
		t.Fatal(err)
	}
	later, err := b.Depart(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"another's browser": {later.State, j2.Browser}, "no browser": {later.State, ""}, "another state": {one.ID + ".x", later.Browser},
		"the state before": {j1.State, later.Browser}, "all before": {j1.State, j1.Browser}, "no state": {"", later.Browser},
		"an unknown session": {"x.y", later.Browser},
	} {
		if _, _, err := a.Arrive(t.Context(), c[0], c[1]); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := a.Arrive(t.Context(), later.State, later.Browser); err != nil {
		t.Errorf("the last beginning: %v", err)
	}
	*clock = clock.Add(Lasts + time.Second)
	if _, err := a.Follow(t.Context(), a.Link(two.ID)); !errors.Is(err, ErrLink) {
		t.Errorf("too late: %v", err)
	}
	if _, _, err := a.Arrive(t.Context(), j2.State, j2.Browser); !errors.Is(err, ErrState) {
		t.Errorf("back too late: %v", err)
	}
}

// Of many that bring the same answer, on two daemons, one is taken.
func TestTakenOnce(t *testing.T) {
	a, b, _, _ := sessions(t)
	j, err := a.Depart(t.Context(), begin(t, a))
	if err != nil {
		t.Fatal(err)
	}
	var taken sync.Map
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			s := []*Sessions{a, b}[i%2]
			_, _, err := s.Arrive(context.Background(), j.State, j.Browser)
			switch {
			case err == nil:
				taken.Store(i, true)
			case !errors.Is(err, ErrState):
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	taken.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("taken %d times", n)
	}
}
