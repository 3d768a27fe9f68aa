package postgres

import "unicode/utf8"

// prefixEnd returns the least text that sorts after every text with the
// prefix, byte by byte; ok is false if there is none.
func prefixEnd(prefix string) (end string, ok bool) {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == 0xD7FF: // surrogates are not characters
			return prefix + "\uE000", true
		case r < utf8.MaxRune:
			return prefix + string(r+1), true
		}
	}
	return "", false
}
