package transport

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/syncdhq/syncd/internal/origin"
)

// maxRedirects is how many redirects are followed for one request.
const maxRedirects = 5

// A guard decides where requests go. Credentials go to the origin that was
// asked and nowhere else.
type guard struct {
	origin *url.URL // the only one that gets credentials; nil: the one that is asked
	allow  []string // HOST or HOST:PORT of others that may be redirected to
	sign   *signer
}

// A hop is one request on the way to an answer.
type hop struct {
	url    *url.URL // without credentials
	method string
	header http.Header
	home   bool // it goes to the provider: it is signed, paced and counted
	count  int  // redirects before it
}

// first returns the request's own hop.
func (g *guard) first(req *http.Request) (hop, error) {
	u := *req.URL
	u.Fragment = ""
	g.sign.unsign(&u)
	h := hop{url: &u, method: req.Method, header: req.Header.Clone(), home: true}
	if h.header == nil {
		h.header = http.Header{}
	}
	h.header.Del("Referer")
	if g.origin == nil || origin.Same(&u, g.origin) {
		return h, nil
	}
	if !g.allowed(&u) {
		return hop{}, permanent("%s is not the configured origin %s", origin.Of(&u), origin.Of(g.origin))
	}
	g.leave(&h)
	return h, nil
}

// next returns where a redirect leads; follow is false where resp is none.
//
// Within the origin a redirect is followed with credentials. One to an allowed
// host is followed without them: it gets no header but those that say which
// answer is wanted, no Referer and no key in the query, and there is no way
// back to being trusted. All else is an error, and so is one that would turn
// a POST into a GET (RFC 9110, section 15.4).
func (g *guard) next(h hop, resp *http.Response) (to hop, follow bool, err error) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case 301, 302, 303, 307, 308:
	default:
		return hop{}, false, nil
	}
	if location == "" {
		return hop{}, false, nil
	}
	u, err := h.url.Parse(location)
	if err != nil || u.Host == "" {
		return hop{}, false, permanent("%d redirect to what is not a URL", resp.StatusCode)
	}
	u.User, u.Fragment = nil, ""
	to = hop{url: u, method: h.method, header: h.header, home: h.home, count: h.count + 1}
	away := !origin.Same(u, h.url)
	switch {
	case to.count > maxRedirects:
		return hop{}, false, permanent("more than %d redirects", maxRedirects)
	case h.url.Scheme == "https" && u.Scheme != "https", u.Scheme != "http" && u.Scheme != "https":
		return hop{}, false, permanent("%d redirect from %s to %s", resp.StatusCode, h.url.Scheme, g.sign.redact(u.Scheme))
	case h.method != http.MethodGet && h.method != http.MethodHead && (resp.StatusCode < 307 || away):
		return hop{}, false, permanent("%d redirect of a %s to %s: it would not be the same request", resp.StatusCode, h.method, g.sign.redact(origin.Of(u)))
	case away && !g.allowed(u):
		return hop{}, false, permanent("%d redirect to %s, which is another origin and not allowed", resp.StatusCode, g.sign.redact(origin.Of(u)))
	case away || !h.home:
		g.leave(&to)
		if text := to.url.String(); g.sign.redact(text) != text {
			return hop{}, false, permanent("%d redirect to %s that carries the credentials along", resp.StatusCode, g.sign.redact(origin.Of(u)))
		}
	}
	if to.home {
		g.sign.unsign(to.url)
	}
	return to, true, nil
}

// leave strips a hop for a host that is not the provider's.
func (g *guard) leave(h *hop) {
	h.home = false
	kept := http.Header{}
	for _, name := range []string{"Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Range", "If-Range", "If-None-Match", "If-Modified-Since"} {
		if values := h.header.Values(name); len(values) > 0 {
			kept[name] = slices.Clone(values)
		}
	}
	h.header = kept
	u := *h.url
	u.RawQuery = dropPairs(u.RawQuery, func(_, value string) bool {
		return value != "" && slices.Contains(g.sign.spellings(), value)
	})
	h.url = &u
}

func (g *guard) allowed(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(g.allow, func(entry string) bool {
		entry = strings.ToLower(entry)
		return entry == host && origin.Port(u) == origin.DefaultPort(u.Scheme) || entry == net.JoinHostPort(host, origin.Port(u))
	})
}
