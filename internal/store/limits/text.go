package limits

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Escape returns s as text that any database holds, so that Unescape gives
// back the very bytes. A NUL and a byte that is not UTF-8 become \xHH; so does
// a backslash before an x, which is what makes it reversible. Any other text is
// itself.
func Escape(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0 || strings.HasPrefix(s[i:], `\x`) {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			i++
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

// Unescape undoes Escape.
func Unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], `\x`) && len(s) >= i+4 {
			if c, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 4
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}
