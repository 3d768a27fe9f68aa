package postgres

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"line 17, é, 漢字, \ufffd", "line 17, é, 漢字, \ufffd"},
		{`C:\temp\new`, `C:\temp\new`},
		{"a\x00b", `a\x00b`},
		{"a\xffb", `a\xffb`},
		{"cut \xe2\x82", `cut \xe2\x82`},
		{`a\x00b`, `a\x5cx00b`},
		{"\\\x00", `\\x00`},
		{`\x`, `\x5cx`},
		{`\\x41`, `\\x5cx41`},
	}
	for _, tt := range tests {
		got := escape(tt.text)
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
		if back := unescape(got); back != tt.text {
			t.Errorf("%q: came back as %q", tt.text, back)
		}
	}
}

func TestEscapeIsReversible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"\\", "x", "0", "f", "\x00", "\xff", "\xe2\x82", "é", "5c"})).Draw(t, "parts")
		text := strings.Join(parts, "") + rapid.StringOfN(rapid.Rune(), 0, 10, -1).Draw(t, "tail")
		stored := escape(text)
		if !utf8.ValidString(stored) || strings.Contains(stored, "\x00") {
			t.Fatalf("%q: stored as %q", text, stored)
		}
		if got := unescape(stored); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
	})
}

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
