package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

const storeUsage = "write sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE"

// store returns the store with its path made absolute. No error shows the
// value, which may hold a password.
func (l *loader) store(a *at[string]) string {
	bad := func(message, hint string) string {
		l.add(a.mark(), "store: "+message, hint)
		return ""
	}
	scheme, rest, ok := strings.Cut(a.Value, ":")
	switch {
	case a.Value == "":
		return bad("it is empty", storeUsage)
	case a.Value != strings.TrimSpace(a.Value):
		return bad("it begins or ends with white space", "")
	case !ok:
		return bad("it is neither sqlite:PATH nor postgres://...", storeUsage)
	case scheme == "sqlite":
		return l.sqlite(rest, bad)
	case scheme != "postgres" && scheme != "postgresql":
		return bad("it is neither sqlite:PATH nor postgres://...", storeUsage)
	case !strings.HasPrefix(rest, "//"):
		return bad(scheme+": is not followed by //", storeUsage)
	}
	if _, err := url.Parse(a.Value); err != nil {
		return bad("it is not a URL", "write a password's special characters as %HH, such as %40 for @")
	}
	return a.Value
}

func (l *loader) sqlite(path string, bad func(message, hint string) string) string {
	switch {
	case path == "":
		return bad("sqlite: lacks a path", "write it such as sqlite:syncd.db")
	case strings.Contains(path, ":memory:"):
		return bad("a database in memory forgets everything when the daemon stops", "write sqlite:PATH")
	case strings.HasPrefix(path, "//"):
		return bad("sqlite:// is not read", "write sqlite:PATH, without the slashes")
	case strings.HasPrefix(path, "file:"):
		return bad("sqlite:file: is not read", "write sqlite:PATH, without file:")
	case strings.ContainsAny(path, "?\x00"):
		return bad("the path holds a question mark or a zero byte", "write the path alone: there are no parameters")
	case !filepath.IsAbs(path):
		path = filepath.Join(l.cfg.Dir, path)
	}
	return "sqlite:" + path
}
