package recording

import "bytes"

// A shape is how the keys of a provider begin, and what follows.
type shape struct {
	prefix string
	min    int  // bytes after the prefix, at least
	inside bool // it is one in the middle of a word too
}

// shapes are the documented forms of keys. Publishable ones (pk_live_) are not secret.
//
//	https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
//	https://docs.stripe.com/keys
//	https://api.slack.com/authentication/token-types
//	https://docs.gitlab.com/security/tokens/#token-prefixes
//	https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
//	https://shopify.dev/docs/apps/build/authentication-authorization
var shapes = []shape{
	{"sk_live_", 8, true}, {"sk_test_", 8, true}, {"rk_live_", 8, true}, {"rk_test_", 8, true}, {"whsec_", 8, true},
	{"ghp_", 16, true}, {"gho_", 16, true}, {"ghu_", 16, true}, {"ghs_", 16, true}, {"ghr_", 16, true}, {"github_pat_", 16, true},
	{"glpat-", 12, true}, {"glptt-", 12, true}, {"gldt-", 12, true}, {"glrt-", 12, true}, {"glcbt-", 12, true},
	{"xoxb-", 8, true}, {"xoxp-", 8, true}, {"xoxa-", 8, true}, {"xoxr-", 8, true}, {"xoxs-", 8, true}, {"xoxe-", 8, true}, {"xoxe.", 8, true},
	{"xapp-", 8, true}, {"ya29.", 8, false}, {"1//0", 20, false}, {"AIza", 30, false}, {"GOCSPX-", 16, true},
	{"AKIA", 16, false}, {"ASIA", 16, false},
	{"shpat_", 16, true}, {"shpss_", 16, true}, {"shpca_", 16, true}, {"shppa_", 16, true}, {"sk-ant-", 16, true}, {"sk-proj-", 16, true},
	{"SG.", 40, false}, {"secret_", 30, false}, {"ntn_", 30, false}, {"lin_api_", 16, true}, {"sq0atp-", 16, true}, {"sq0csp-", 16, true},
	{"dop_v1_", 16, true}, {"npm_", 30, false}, {"hf_", 30, false}, {"pypi-", 30, false}, {"ATATT3", 30, false}, {"dckr_pat_", 16, true},
}

// shapesByFirst are the shapes by their first bytes.
var shapesByFirst = func() (by [256][]shape) {
	for _, s := range shapes {
		by[s.prefix[0]] = append(by[s.prefix[0]], s)
	}
	return by
}()

func keyByte(c byte) bool {
	return wordByte(c) || c == '-' || c == '.' || c == '/' || c == '+' || c == '='
}

// shaped finds what has the form of a key, a token or a password, whatever it
// is called: the shapes, JSON Web Tokens (RFC 7519), private keys (RFC 7468),
// the user of a URL, and credentials with their scheme (RFC 7235).
func shaped(text []byte) (found []span) {
	for at := 0; at < len(text); at++ {
		for _, s := range shapesByFirst[text[at]] {
			if end := s.at(text, at); end > 0 {
				found = append(found, span{from: at, to: end, secret: string(text[at:end])})
				at = end - 1
				break
			}
		}
	}
	each(text, "eyJ", func(at int) int {
		end, dots := webToken(text, at)
		if dots >= 2 && end-at >= 30 {
			found = append(found, span{from: at, to: end, secret: string(text[at:end])})
		}
		return end
	})
	each(text, "://", func(at int) int {
		end := len(text)
		if n := bytes.IndexAny(text[at+3:], "/?# \t\r\n\"'<>"); n >= 0 {
			end = at + 3 + n
		}
		if n := bytes.LastIndexByte(text[at+3:end], '@'); n > 0 {
			found = append(found, span{from: at + 3, to: at + 3 + n, secret: string(text[at+3 : at+3+n])})
		}
		return end
	})
	return append(append(found, privateKeys(text)...), schemed(text)...)
}

// at returns where a key of the shape that begins at i ends; 0 if there is none.
func (s shape) at(text []byte, i int) (end int) {
	if end = i + len(s.prefix); end > len(text) || string(text[i:end]) != s.prefix {
		return 0
	}
	if !s.inside && i > 0 && wordByte(text[i-1]) {
		return 0
	}
	for end < len(text) && (wordByte(text[end]) || text[end] == '-' || text[end] == '.') {
		end++
	}
	if end-i-len(s.prefix) < s.min {
		return 0
	}
	return end
}

// longestKey is how long a private key may be.
const longestKey = 16 << 10

// privateKeys finds what is between the lines that begin and end a private key.
func privateKeys(text []byte) (found []span) {
	const begin, dashes = "-----BEGIN ", "-----"
	each(text, begin, func(at int) int {
		rest := text[at+len(begin) : min(len(text), at+longestKey)]
		kind, key, ok := bytes.Cut(rest, []byte(dashes))
		if !ok || len(kind) > 40 || !bytes.HasSuffix(bytes.TrimSuffix(kind, []byte(" BLOCK")), []byte("PRIVATE KEY")) {
			return 0
		}
		if n := bytes.Index(key, append([]byte("-----END "), kind...)); n >= 0 {
			key = key[:n]
		}
		from := at + len(begin) + len(kind) + len(dashes)
		if len(key) > 0 {
			found = append(found, span{from: from, to: from + len(key), secret: string(key)})
		}
		return from + len(key)
	})
	return found
}

// webToken returns the end of what may be a JSON Web Token, and its dots.
func webToken(text []byte, at int) (end, dots int) {
	for end = at; end < len(text); end++ {
		if c := text[end]; c == '.' {
			dots++
		} else if !wordByte(c) && c != '-' {
			break
		}
	}
	return end, dots
}

// schemed finds "Bearer <token>" and "Basic <token>". Of prose, such as "a
// basic account", it takes none: the token is long or has a digit in it.
func schemed(text []byte) (found []span) {
	for i := 0; i+7 < len(text); i++ {
		if text[i]|0x20 != 'b' || i > 0 && wordByte(text[i-1]) {
			continue
		}
		from := 0
		switch {
		case bytes.EqualFold(text[i:i+7], []byte("bearer ")):
			from = i + 7
		case bytes.EqualFold(text[i:i+6], []byte("basic ")):
			from = i + 6
		default:
			continue
		}
		end := from
		digit := false
		for ; end < len(text) && (keyByte(text[end]) || text[end] == '~'); end++ {
			digit = digit || '0' <= text[end] && text[end] <= '9'
		}
		if n := end - from; n >= 20 || n >= 8 && digit {
			found = append(found, span{from: from, to: end, secret: string(text[from:end])})
		}
	}
	return found
}

// each calls visit with the places at which the word begins. visit returns
// where to go on, if that is further on.
func each(text []byte, word string, visit func(at int) (next int)) {
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte(word))
		if n < 0 {
			return
		}
		at = max(at+n+1, visit(at+n))
	}
}
