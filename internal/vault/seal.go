package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Credentials are sealed one by one, under a key of their own:
//
//	sealed  = version, len(id), id, salt, nonce, ciphertext and tag
//	data key = HKDF-SHA-256(master key id, salt, info)   RFC 5869
//	ciphertext = AES-256-GCM(data key, nonce, plain, additional data)   NIST SP 800-38D
//
// The additional data is the header before the ciphertext, and the user and
// provider with their lengths: a row that is copied to another user does not
// open, nor does one whose key id was changed. Salt and nonce are random; a data
// key seals once, so its nonce can't repeat.
const (
	sealVersion = 1
	saltSize    = 32
	nonceSize   = 12
	sealInfo    = "syncd credential 1"
)

// An Owner is whose credential it is. It is bound to what is sealed.
type Owner struct{ User, Provider string }

// Errors of Open that callers tell apart.
var (
	// ErrNoKey: it was sealed with a key that is not there.
	ErrNoKey = errors.New("the key is not there")
	// ErrWrongKey: it was sealed with another key of that name, for another
	// owner, or was changed since.
	ErrWrongKey = errors.New("it does not open: another key, another owner, or it was changed")
)

// Seal seals a text for its owner with the active key.
func (k *Keyring) Seal(owner Owner, plain []byte) ([]byte, error) {
	id := k.Active()
	header := append([]byte{sealVersion, byte(len(id))}, id...)
	random := make([]byte, saltSize+nonceSize)
	rand.Read(random) // never fails
	header = append(header, random...)
	aead, err := dataKey(k.find(id), random[:saltSize])
	if err != nil {
		return nil, err
	}
	return aead.Seal(header, random[saltSize:], plain, additional(header, owner)), nil
}

// Open opens what was sealed for an owner.
func (k *Keyring) Open(owner Owner, sealed []byte) ([]byte, error) {
	id, err := SealedBy(sealed)
	if err != nil {
		return nil, err
	}
	key := k.find(id)
	if key == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	at := 2 + len(id)
	if len(sealed) < at+saltSize+nonceSize {
		return nil, ErrWrongKey
	}
	header, salt, nonce := sealed[:at+saltSize+nonceSize], sealed[at:at+saltSize], sealed[at+saltSize:at+saltSize+nonceSize]
	aead, err := dataKey(key, salt)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nonce, sealed[len(header):], additional(header, owner))
	if err != nil {
		return nil, ErrWrongKey
	}
	return plain, nil
}

// SealedBy returns the id of the key that sealed something.
func SealedBy(sealed []byte) (string, error) {
	if len(sealed) < 2 || sealed[0] != sealVersion || len(sealed) < 2+int(sealed[1]) {
		return "", errors.New("it is not sealed in a way that this program knows")
	}
	return string(sealed[2 : 2+int(sealed[1])]), nil
}

func dataKey(master *[keySize]byte, salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, master[:], salt, sealInfo, keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// additional is what the tag covers besides the text. Lengths keep "a"+"bc"
// and "ab"+"c" apart.
func additional(header []byte, owner Owner) []byte {
	out := append([]byte(nil), header...)
	for _, s := range []string{owner.User, owner.Provider} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(s)))
		out = append(out, s...)
	}
	return out
}
