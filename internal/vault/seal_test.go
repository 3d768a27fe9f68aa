package vault

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)

func ring(t *testing.T, ids ...string) *Keyring {
	t.Helper()
	var lines []string
	for _, id := range ids {
		lines = append(lines, id+":"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[:1]), keySize)))
	}
	k, err := ParseKeys(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSeal(t *testing.T) {
	k, owner := ring(t, "b", "a"), Owner{"alice", "github"}
	plain := []byte(`{"token":"hunter2-canary"}`)
	one, err := k.Seal(owner, plain)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := k.Seal(owner, plain)
	if bytes.Equal(one, two) || bytes.Contains(one, []byte("hunter2")) {
		t.Errorf("sealed: %q and %q", one, two)
	}
	if id, err := SealedBy(one); err != nil || id != "b" {
		t.Errorf("sealed by %q, %v", id, err)
	}
	if got, err := k.Open(owner, one); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("got %q, %v", got, err)
	}
	// An older key opens what it sealed.
	old, _ := ring(t, "a").Seal(owner, plain)
	if got, err := k.Open(owner, old); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("got %q, %v", got, err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"another user":     func() ([]byte, error) { return k.Open(Owner{"bob", "github"}, one) },
		"another provider": func() ([]byte, error) { return k.Open(Owner{"alice", "gitlab"}, one) },
		"a shifted owner":  func() ([]byte, error) { return k.Open(Owner{"aliceg", "ithub"}, one) },
		"another key of that name": func() ([]byte, error) {
			other, _ := ParseKeys("b:" + base64.StdEncoding.EncodeToString(make([]byte, keySize)))
			return other.Open(owner, one)
		},
		"cut":               func() ([]byte, error) { return k.Open(owner, one[:len(one)-1]) },
		"cut to the header": func() ([]byte, error) { return k.Open(owner, one[:4]) },
	} {
		if got, err := open(); !errors.Is(err, ErrWrongKey) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for i := range one {
		changed := bytes.Clone(one)
		changed[i] ^= 1
		if got, err := k.Open(owner, changed); err == nil {
			t.Fatalf("byte %d changed: got %q", i, got)
		}
	}
	if _, err := ring(t, "c").Open(owner, one); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "b") {
		t.Errorf("got %v", err)
	}
	if _, err := k.Open(owner, nil); err == nil {
		t.Error("nothing was opened")
	}
}

func TestParseKeys(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), keySize))
	for _, text := range []string{"", "# only a comment", "a", "a:", "a:!!!", "A:" + good, ":" + good, "a:" + good + "\na:" + good, "a:" + good[:40]} {
		k, err := ParseKeys(text)
		if err == nil {
			t.Errorf("%q: got %s", text, k)
		} else if strings.Contains(err.Error(), good[:8]) {
			t.Errorf("%q: the error shows the key: %v", text, err)
		}
	}
	k, err := ParseKeys("# a comment\n\n b:" + good + " ,a:" + good)
	if err != nil || strings.Join(k.IDs(), " ") != "b a" || k.Active() != "b" {
		t.Errorf("got %v, %v", k, err)
	}
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%+v %#v", k, *k)} {
		if strings.Contains(text, "107 107") || strings.Contains(text, "kkkk") || strings.Contains(text, "0x6b, 0x6b") {
			t.Errorf("a key prints itself: %s", text)
		}
	}
}

func TestKeysInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.keys")
	if _, err := LoadKeys(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	one, err := CreateKeys(path, today)
	if err != nil || len(one.IDs()) != 1 || !strings.HasPrefix(one.Active(), "20260601-") {
		t.Fatal(one, err)
	}
	again, err := CreateKeys(path, today)
	if err != nil || again.Active() != one.Active() {
		t.Fatal(again, err)
	}
	two, err := AddKey(path, today.AddDate(0, 1, 0))
	if err != nil || len(two.IDs()) != 2 || two.Active() == one.Active() || !two.Has(one.Active()) {
		t.Fatal(two, err)
	}
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := AddKey(path, today); err == nil || !strings.Contains(err.Error(), "another key is being added") {
		t.Errorf("two add at once: %v", err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %s, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// Of many that create the file at once, all get the same key.
func TestKeysAreCreatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syncd.keys")
	ids := make(chan string)
	for range 20 {
		go func() {
			k, err := CreateKeys(path, today)
			if err != nil {
				ids <- err.Error()
				return
			}
			ids <- k.Active()
		}()
	}
	first := <-ids
	for range 19 {
		if id := <-ids; id != first {
			t.Errorf("got %s and %s", first, id)
		}
	}
}
