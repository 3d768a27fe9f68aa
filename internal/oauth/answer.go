package oauth

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// longest is what a token's lifetime is taken for at most. Servers give
// milliseconds for seconds, or a century; a token is refreshed sooner than it
// needs to be rather than never.
const longest = 24 * time.Hour

// A grant is an answer that holds a token.
type grant struct {
	access, refresh, scope string
	lifetime               time.Duration // 0: it is not said
}

// parse reads the answer of a token endpoint.
//
//   - The body is JSON, whatever its content type says, or a form (GitHub's old
//     default, and Facebook's).
//   - expires_in may be a number, a text, a fraction, null, 0, negative or absurd;
//     expires_at (Strava) is a Unix time.
//   - An error may come with status 200 (Slack, GitHub).
//   - Only an OAuth error code in an answer other than 5xx can deny a grant.
func parse(status int, contentType string, body []byte, now time.Time) (grant, *Refusal) {
	fields, ok := fieldsOf(contentType, body)
	if !ok && status/100 == 2 && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return grant{}, &Refusal{Detail: "the answer breaks off"}
	}
	if !ok || status >= 500 || status == 429 {
		return grant{}, &Refusal{Status: status, Detail: oddBody(status, body)}
	}
	code := fields["error"]
	if code == "" && fields["ok"] == "false" {
		code = "unknown"
	}
	if code != "" || status/100 != 2 {
		detail := fields["error_description"]
		if detail == "" {
			detail = fields["message"]
		}
		r := &Refusal{Status: status, Code: word(code), Detail: detail} // not clipped: secrets in it are to be found whole
		r.Kind = kindOf(code, detail)
		return grant{}, r
	}
	g := grant{access: fields["access_token"], refresh: fields["refresh_token"], scope: fields["scope"]}
	if g.access == "" {
		return grant{}, &Refusal{Status: status, Detail: "the answer holds no access_token"}
	}
	g.lifetime = lifetime(fields, now)
	return g, nil
}

// kindOf says what an error code means. invalid_grant is what RFC 6749 has for
// a refresh token that is no more. Gitea says unauthorized_client for that and
// also for a wrong client secret, and Dex says invalid_request: what they say
// in words tells these apart. Gitea says invalid_grant, too, where its database
// cannot be written to.
func kindOf(code, detail string) Kind {
	detail = strings.ToLower(detail)
	aboutClient := strings.Contains(detail, "client secret") || strings.Contains(detail, "client_secret") || strings.Contains(detail, "client id") || strings.Contains(detail, "client_id")
	aboutToken := strings.Contains(detail, "refresh token") || strings.Contains(detail, "refresh_token") || strings.Contains(detail, "token was already used") || strings.Contains(detail, "token has been")
	switch code {
	case "invalid_grant", "bad_refresh_token", "token_revoked", "invalid_refresh_token":
		if strings.Contains(detail, "cannot increase the grant counter") {
			return Unavailable
		}
		return Denied
	case "invalid_client", "unsupported_grant_type", "invalid_scope", "redirect_uri_mismatch", "incorrect_client_credentials":
		return Misconfigured
	case "unauthorized_client", "invalid_request":
		switch {
		case aboutClient:
			return Misconfigured
		case aboutToken:
			return Denied
		case code == "unauthorized_client":
			return Misconfigured
		}
	}
	return Unavailable
}

// fieldsOf returns the fields of a body as texts; false if it has none.
func fieldsOf(contentType string, body []byte) (map[string]string, bool) {
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(text, []byte("{")) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var object map[string]any
		if d.Decode(&object) != nil || d.More() {
			return nil, false
		}
		return flatten(object), true
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind != "application/x-www-form-urlencoded" && kind != "text/plain" || !bytes.ContainsRune(text, '=') || bytes.ContainsAny(text, "<> \n") {
		return nil, false
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, false
	}
	fields := map[string]string{}
	for name := range form {
		fields[name] = form.Get(name)
	}
	return fields, true
}

func flatten(object map[string]any) map[string]string {
	fields := map[string]string{}
	for name, v := range object {
		switch v := v.(type) {
		case string:
			fields[name] = v
		case json.Number:
			fields[name] = v.String()
		case bool:
			fields[name] = strconv.FormatBool(v)
		case []any: // scopes, as a list
			var words []string
			for _, e := range v {
				if s, ok := e.(string); ok {
					words = append(words, s)
				}
			}
			fields[name] = strings.Join(words, " ")
		case map[string]any: // an error as an object: {"error": {"code": ...}}
			if code, ok := v["code"].(string); ok && name == "error" {
				fields[name] = code
			}
		}
	}
	return fields
}

// lifetime returns how long a token lasts, 0 if it is not said or makes no sense.
func lifetime(fields map[string]string, now time.Time) time.Duration {
	seconds := wholeSeconds(fields["expires_in"])
	if seconds <= 0 {
		seconds = wholeSeconds(fields["expires"]) // Facebook's old name
	}
	if at := wholeSeconds(fields["expires_at"]); seconds <= 0 && at > 0 {
		seconds = at - now.Unix()
	}
	switch {
	case seconds <= 0:
		return 0
	case seconds > int64(longest/time.Second):
		return longest
	}
	return time.Duration(seconds) * time.Second
}

func wholeSeconds(s string) int64 {
	whole, _, _ := strings.Cut(strings.TrimSpace(s), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// oddBody says what came in place of an answer, without showing it: it may
// echo what was asked.
func oddBody(status int, body []byte) string {
	text := bytes.TrimSpace(body)
	switch {
	case len(text) == 0:
		return "the answer is empty"
	case text[0] == '<':
		return "the answer is a page for people"
	case status >= 500 || status == 429:
		return ""
	}
	return "the answer is neither JSON nor a form"
}

// word keeps an error code that is one.
func word(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "odd"
	}
	return s
}

func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "..."
	}
	return s
}
