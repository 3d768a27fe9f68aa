// Package vault holds credentials.
package vault

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// hidden is what stands wherever a secret would be printed.
const hidden = "[secret]"

// A Secret is a credential that does not print itself: every verb of fmt,
// log/slog, encoding/json, text and YAML marshalling give "[secret]", whatever
// it holds. Reveal is the only way to its text. The zero Secret is empty.
//
// The text stands behind a pointer because fmt does not call the methods of
// values in unexported fields: there it prints the pointer.
type Secret struct{ text *string }

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares the texts, in a time that does not depend on where they differ.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns "[secret]".
func (s Secret) String() string { return hidden }

// Format writes "[secret]" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// LogValue returns "[secret]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns "[secret]"; encoding/json uses it as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalYAML returns "[secret]".
func (s Secret) MarshalYAML() (any, error) { return hidden, nil }
