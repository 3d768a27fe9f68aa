package vault

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keySize is the length of a master key, in bytes.
const keySize = 32

// A Keyring is the master keys, by id. The first seals; all of them open. It
// prints its ids and never a key.
type Keyring struct {
	keys []masterKey
}

type masterKey struct {
	id  string
	key *[keySize]byte // behind a pointer, so that printing shows an address at most
}

// ParseKeys reads master keys: one a line, or separated by commas, each as
// ID:BASE64 of 32 bytes. Empty lines and those that begin with # are left out.
// No error shows a key.
func ParseKeys(text string) (*Keyring, error) {
	k := &Keyring{}
	for i, line := range keyLines(text) {
		id, encoded, ok := strings.Cut(line, ":")
		if !ok || id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return nil, fmt.Errorf("key %d is not ID:BASE64, with an id of lower case letters, digits and -", i+1)
		}
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("the key %s is not the base64 of %d bytes", id, keySize)
		}
		if k.find(id) != nil {
			return nil, fmt.Errorf("there are two keys %s", id)
		}
		k.keys = append(k.keys, masterKey{id, (*[keySize]byte)(raw)})
	}
	if len(k.keys) == 0 {
		return nil, errors.New("there is no key")
	}
	return k, nil
}

// keyLines returns what should be keys.
func keyLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one != "" {
				lines = append(lines, one)
			}
		}
	}
	return lines
}

// NewKey returns a new master key as a line for ParseKeys. Its id is the day
// and something random.
func NewKey(now time.Time) Secret {
	var key [keySize]byte
	var suffix [3]byte
	rand.Read(key[:]) // never fails
	rand.Read(suffix[:])
	return NewSecret(fmt.Sprintf("%s-%x:%s", now.UTC().Format("20060102"), suffix, base64.StdEncoding.EncodeToString(key[:])))
}

// LoadKeys reads master keys from a file, which only its owner may be able to read.
func LoadKeys(path string) (*Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if !private(info) {
		return nil, fmt.Errorf("keys: others can read or write %s: make it yours alone (chmod 600 %s)", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	k, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("keys: %s: %w", path, err)
	}
	return k, nil
}

const keysHeader = `# The master keys of syncd, which seal the credentials in its database. Without
# them every user would have to connect again: back them up, apart from the
# database. The first one seals, all of them open.
`

// CreateKeys writes a file with one new key, for its owner alone, and returns
// the keys. A file that is there already is read, and not written.
func CreateKeys(path string, now time.Time) (*Keyring, error) {
	k, err := LoadKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := writeKeys(path, keysHeader+NewKey(now).Reveal()+"\n", false); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return LoadKeys(path) // what another process wrote, if it was first
}

// AddKey writes a new key to the top of a file, so that it seals from now on,
// and returns the keys.
func AddKey(path string, now time.Time) (*Keyring, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	// Two that add at once would each write without the other's.
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keys: another key is being added (else delete the file): %w", err)
	}
	defer os.Remove(lock.Name())
	defer lock.Close()
	if _, err := LoadKeys(path); err != nil {
		return nil, err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	rest := strings.TrimPrefix(string(old), keysHeader)
	if err := writeKeys(path, keysHeader+NewKey(now).Reveal()+"\n"+rest, true); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return LoadKeys(path)
}

// writeKeys writes a file whole or not at all, and durably: a key that has
// sealed something must not be lost.
func writeKeys(path, text string, replace bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if replace {
		err = os.Rename(f.Name(), path)
	} else {
		err = os.Link(f.Name(), path) // fails where there is a file
	}
	if err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		defer dir.Close()
		_ = dir.Sync() // not every system can
	}
	return nil
}

// Active returns the id of the key that seals.
func (k *Keyring) Active() string { return k.keys[0].id }

// IDs returns the ids of all keys, the active one first.
func (k *Keyring) IDs() []string {
	ids := make([]string, len(k.keys))
	for i, m := range k.keys {
		ids[i] = m.id
	}
	return ids
}

// Has reports whether there is a key with the id.
func (k *Keyring) Has(id string) bool { return k.find(id) != nil }

func (k *Keyring) find(id string) *[keySize]byte {
	for _, m := range k.keys {
		if m.id == id {
			return m.key
		}
	}
	return nil
}

// String names the keys.
func (k *Keyring) String() string { return "keys " + strings.Join(k.IDs(), ", ") }
