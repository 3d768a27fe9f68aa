package postgres

import (
	"testing"
	"unicode/utf8"
)

func TestPrefixEnd(t *testing.T) {
	tests := []struct {
		prefix, want string
		ok           bool
	}{
		{"", "", false},
		{"issues/", "issues0", true},
		{"é", "ê", true},
		{"a\U0010ffff", "b", true},
		{"\U0010ffff", "", false},
		{"\ud7ff", "\ue000", true},
		{"\x7f", "\u0080", true},
	}
	for _, tt := range tests {
		got, ok := prefixEnd(tt.prefix)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.prefix, got, ok, tt.want, tt.ok)
		}
		if ok && (got <= tt.prefix+"\U0010ffff\U0010ffff" || !utf8.ValidString(got)) {
			t.Errorf("%q: %q does not end it", tt.prefix, got)
		}
	}
}
