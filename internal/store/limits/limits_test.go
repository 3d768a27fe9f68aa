package limits

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/syncdhq/syncd/internal/store"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é 😀": "plain é 😀", "a\x00b": `a\x00b`, "\xff": `\xff`, "\xe2\x82": `\xe2\x82`,
		`\x41`: `\x5cx41`, `\\x`: `\\x5cx`, `\`: `\`, `\y`: `\y`, "\ufffd": "\ufffd",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q): got %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.SampledFrom([]byte("\\x0f5c\x00\xff\xe2\x82\xac"))).Draw(t, "s"))
		e := Escape(s)
		if !utf8.ValidString(e) || strings.IndexByte(e, 0) >= 0 {
			t.Errorf("Escape(%q) = %q, which no database holds", s, e)
		}
		if got := Unescape(e); got != s {
			t.Errorf("got %q back, want %q", got, s)
		}
	})
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "é": "é", "a\x00b": "a\ufffdb", "a\xff\xfeb": "a\ufffdb", "\xe2\x82": "\ufffd",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestReject(t *testing.T) {
	raw := make([]byte, store.MaxRaw+1)
	for _, c := range []struct {
		size       int64
		raw        []byte
		wantLen    int
		wantedSize int64
	}{
		{0, nil, 0, 0}, {0, raw[:5], 5, 5}, {9, raw[:5], 5, 9}, {0, raw, store.MaxRaw, store.MaxRaw + 1}, {1 << 40, raw, store.MaxRaw, 1 << 40},
	} {
		got := Reject(store.Reject{Raw: c.raw, RawSize: c.size})
		if len(got.Raw) != c.wantLen || got.RawSize != c.wantedSize {
			t.Errorf("%d bytes of %d: got %d of %d", len(c.raw), c.size, len(got.Raw), got.RawSize)
		}
	}
}
