// Package recording keeps what a provider was asked and what it answered in
// one file that holds no secret, and answers from such a file in tests.
//
// A Recorder stands above the transport, where requests are not signed yet: the
// source's credentials never pass it. What comes back may repeat them all the
// same, and holds secrets of its own, so every URL, header and body is scrubbed
// before anything is written (see Scrubber). What cannot be scrubbed surely is
// not written at all.
package recording

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/syncdhq/syncd/internal/origin"
)

// version is the number of the format, the value of "recording" in a file.
const version = 1

// A document is a file: one JSON object.
type document struct {
	Recording int        `json:"recording"`      // version
	Base      string     `json:"base,omitempty"` // the base URL that was asked
	Note      string     `json:"note,omitempty"` // what is not in it
	Exchanges []Exchange `json:"exchanges"`      // in the order in which they were asked
}

// An Exchange is a request and what came of it: an answer or an error.
type Exchange struct {
	Request Request `json:"request"`
	Answer  *Answer `json:"answer,omitempty"`
	Error   string  `json:"error,omitempty"` // why there is no answer
}

// A Request is what was asked.
type Request struct {
	Method string `json:"method"`
	URL    string `json:"url"` // path and query below the base URL; a whole URL if it is not below it
	content
}

// An Answer is what came, after the transport's retries and redirects.
type Answer struct {
	Status  int               `json:"status"`
	URL     string            `json:"url,omitempty"` // where redirects led, spelt as Request.URL
	Headers map[string]values `json:"headers,omitempty"`
	content
	Cut bool `json:"cut,omitempty"` // the body was not read to its end
}

// content is the exact bytes of a body: as text, or in base64 if they are not UTF-8.
type content struct {
	Text   string `json:"body,omitempty"`
	Base64 []byte `json:"body_b64,omitempty"`
}

func contentOf(body []byte) content {
	if utf8.Valid(body) {
		return content{Text: string(body)}
	}
	return content{Base64: body}
}

func (c content) bytes() []byte {
	if c.Base64 != nil {
		return slices.Clone(c.Base64)
	}
	return []byte(c.Text)
}

// values are those of one header; a single one is written as a string.
type values []string

func (v values) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var err error
	if len(v) == 1 {
		err = e.Encode(v[0])
	} else {
		err = e.Encode([]string(v))
	}
	return []byte(b.String()), err
}

func (v *values) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*v = values{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(v))
}

// kept are the headers that are recorded, beside those that keeps knows by
// their words. Whatever is not named is left out.
var kept = []string{
	"Accept-Ranges", "Content-Disposition", "Content-Encoding", "Content-Range", "Content-Type", "Date", "Deprecation", "Etag",
	"Last-Modified", "Link", "Location", "Retry-After", "Sunset",
}

// keeps reports whether a header is recorded: those of kept, rate limits, and
// the X- headers that page through lists (X-Next-Page, X-Total-Count). Nothing
// that carries credentials or a session is.
func keeps(name string) bool {
	name = http.CanonicalHeaderKey(name)
	if slices.Contains(kept, name) {
		return true
	}
	if secretName([]byte(name)) {
		return false
	}
	name = strings.ToLower(name)
	words := strings.Split(name, "-")
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(wanted, w) })
	}
	if has("auth", "authorization", "secret", "session", "cookie", "csrf", "xsrf", "key", "apikey", "sid", "signature", "password", "credential", "credentials") {
		return false
	}
	switch {
	case strings.Contains(strings.ReplaceAll(name, "-", ""), "ratelimit"):
		return true
	case words[0] != "x":
		return false
	case strings.HasSuffix(name, "-call-limit"):
		return true
	}
	return has("count", "next", "prev", "previous", "continuation", "offset", "more") ||
		strings.Contains(name, "page") || strings.Contains(name, "total") || strings.Contains(name, "cursor")
}

// relative spells a URL for a recording: path and query if it is below the
// base URL, else with its origin too. It has neither user nor fragment.
func relative(base, u *url.URL) string {
	query := ""
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	if origin.Same(base, u) {
		below := strings.TrimSuffix(base.EscapedPath(), "/")
		if rest, ok := strings.CutPrefix(u.EscapedPath(), below); ok && (rest == "" || rest[0] == '/') {
			return rest + query
		}
	}
	return origin.Bare(u) + query
}

// parse reads a document and says what is wrong with it.
func parse(text []byte) (*document, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("there is more after the recording")
	}
	if doc.Recording != version {
		return nil, fmt.Errorf("it is no recording of version %d: \"recording\" is %d", version, doc.Recording)
	}
	for i, e := range doc.Exchanges {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("exchange %d: %w", i+1, err)
		}
	}
	return &doc, nil
}

func (e *Exchange) check() error {
	switch {
	case e.Request.Method == "":
		return fmt.Errorf("the request has no method")
	case (e.Answer == nil) == (e.Error == ""):
		return fmt.Errorf("there must be an answer or an error")
	case e.Answer != nil && (e.Answer.Status < 100 || e.Answer.Status > 999):
		return fmt.Errorf("the status %d is none", e.Answer.Status)
	case e.Request.Text != "" && e.Request.Base64 != nil, e.Answer != nil && e.Answer.Text != "" && e.Answer.Base64 != nil:
		return fmt.Errorf("a body is either body or body_b64")
	}
	_, err := url.Parse(e.Request.URL)
	return err
}
