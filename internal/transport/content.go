package transport

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

var (
	utf8BOM  = []byte("\xef\xbb\xbf")
	utf16BOM = [][]byte{[]byte("\xff\xfe"), []byte("\xfe\xff")}
)

// checkType refuses a page for people in the place of data: a login form, a
// notice of maintenance. body may be nil.
func checkType(req *http.Request, resp *http.Response, body []byte) error {
	accept := strings.ToLower(strings.Join(req.Header.Values("Accept"), ","))
	if accept == "" || strings.Contains(accept, "html") || strings.Contains(accept, "*/*") && !wantsJSON(req) {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	return permanent("unexpected content type %s%s", kind, title(body))
}

var titleElement = regexp.MustCompile(`(?is)<title[^>]*>([^<]{1,200})</title`)

func title(body []byte) string {
	m := titleElement.FindSubmatch(body[:min(len(body), 16<<10)])
	if m == nil {
		return ""
	}
	text := strings.Join(strings.Fields(html.UnescapeString(string(m[1]))), " ")
	return fmt.Sprintf(", a page with the title %.60q", text)
}

// wantsJSON reports whether a request asks for JSON: application/json or a
// type with the suffix +json (RFC 6839).
func wantsJSON(req *http.Request) bool {
	for accept := range strings.SplitSeq(strings.Join(req.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(accept, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
		if kind == "application/json" || strings.HasSuffix(kind, "+json") {
			return true
		}
	}
	return false
}

// checkJSON returns the body as UTF-8, or why it cannot be one JSON value. It
// looks at both ends only: that the rest is valid is for who decodes it.
func checkJSON(contentType string, body []byte, limit int64) ([]byte, error) {
	body, err := toUTF8(contentType, body)
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(limit)
	}
	for _, bom := range utf16BOM {
		if bytes.HasPrefix(body, bom) {
			return nil, permanent("the answer is UTF-16; JSON is UTF-8 (RFC 8259, section 8.1)")
		}
	}
	text := bytes.Trim(bytes.TrimPrefix(body, utf8BOM), " \t\r\n")
	if len(text) == 0 {
		return nil, passing(nil, "the answer is empty")
	}
	if err := checkEnds(text[0], text[len(text)-1], len(text)); err != nil {
		return nil, err
	}
	return body, nil
}

// checkEnds compares the first and the last significant byte of a JSON value.
func checkEnds(first, last byte, length int) error {
	fits := false
	switch first {
	case '{':
		fits = last == '}' && length > 1
	case '[':
		fits = last == ']' && length > 1
	case '"':
		fits = last == '"' && length > 1
	case 't', 'f':
		fits = last == 'e'
	case 'n':
		fits = last == 'l'
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		fits = isDigit(last)
	default:
		return passing(nil, "the answer is not JSON: it begins with %q", first)
	}
	if !fits {
		return passing(io.ErrUnexpectedEOF, "the answer is not one whole JSON value: it begins with %q and ends with %q", first, last)
	}
	return nil
}

// toUTF8 decodes a body whose Content-Type names another charset, by the names
// of the WHATWG. A byte that the charset does not have is an error and never a
// replacement character, which could end up in a key.
func toUTF8(contentType string, body []byte) ([]byte, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return body, nil // there are many odd ones; a charset there is, is then UTF-8
	}
	charset := strings.ToLower(params["charset"])
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return body, nil
	}
	encoding, err := htmlindex.Get(charset)
	if err != nil {
		return nil, permanent("the answer has the unknown charset %s", named(charset))
	}
	if name, err := htmlindex.Name(encoding); err == nil && name == "utf-8" {
		return body, nil
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil || bytes.ContainsRune(decoded, '\ufffd') {
		return nil, permanent("the answer is not in the charset that it declares, %s", named(charset))
	}
	return decoded, nil
}

var plainName = regexp.MustCompile(`^[a-z0-9_.:-]{1,20}$`)

// named quotes a name that an answer gives to something, if it can be one.
func named(text string) string {
	if !plainName.MatchString(text) {
		return "of no known name"
	}
	return strconv.Quote(text)
}

func tooLarge(limit int64) error {
	return permanent("the answer is larger than %d bytes", limit)
}
