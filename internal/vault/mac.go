package vault

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// Sign returns a proof that whoever holds the master keys has said a text, for a
// purpose and no other: HMAC-SHA-256 (RFC 2104) under a key of its own, which
// HKDF derives from the active master key. It is of letters, digits, - and _,
// and names its key.
func (k *Keyring) Sign(purpose, text string) string {
	id := k.Active()
	return id + "_" + k.mac(id, purpose, text)
}

// Verify reports whether a proof is of that text and purpose, by any of the keys.
func (k *Keyring) Verify(purpose, text, proof string) bool {
	id, sum, ok := strings.Cut(proof, "_")
	return ok && k.find(id) != nil && subtle.ConstantTimeCompare([]byte(sum), []byte(k.mac(id, purpose, text))) == 1
}

// Derive returns a secret that the keys make of a text and a purpose, so that
// it need not be stored. It is the same for as long as the key id is there; zero
// where it is not.
func (k *Keyring) Derive(id, purpose, text string) Secret {
	if k.find(id) == nil {
		return Secret{}
	}
	return NewSecret(k.mac(id, purpose, text))
}

func (k *Keyring) mac(id, purpose, text string) string {
	key, err := hkdf.Key(sha256.New, k.find(id)[:], nil, "syncd "+purpose, keySize)
	if err != nil {
		panic(err) // of a length that SHA-256 can't give
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
