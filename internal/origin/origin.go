// Package origin compares where URLs lead: scheme, host and port, as RFC 6454
// does. Whatever may hold a secret, a query above all, stays out of its texts.
package origin

import (
	"net/url"
	"strings"
)

// Same reports whether two URLs have the same origin.
func Same(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && Port(a) == Port(b)
}

// Port returns the URL's port, that of its scheme if it names none.
func Port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return DefaultPort(u.Scheme)
}

// DefaultPort returns the port of https or http.
func DefaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// Of spells a URL's origin.
func Of(u *url.URL) string { return u.Scheme + "://" + u.Host }

// Bare spells a URL without its user, query and fragment.
func Bare(u *url.URL) string { return Of(u) + u.EscapedPath() }
