package recording

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"
)

// canary is a token with everything that some encoding spells in its own way.
const canary = `c4nary/k+y=&"<%41> é\z`

func scrubber(t *testing.T, credentials map[string]string) *Scrubber {
	t.Helper()
	s, err := NewScrubber(credentials)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// spelt returns a secret in the spellings that a provider could give it.
func spelt(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	var escaped, unicode, entities, percent, script strings.Builder
	for _, r := range secret {
		fmt.Fprintf(&unicode, `\u%04X`, r)
		fmt.Fprintf(&entities, "&#x%x;", r)
	}
	for _, c := range []byte(secret) {
		fmt.Fprintf(&percent, "%%%02x", c)
		fmt.Fprintf(&script, `\x%02x`, c)
	}
	e := json.NewEncoder(&escaped)
	e.SetEscapeHTML(false)
	e.Encode(secret)
	return map[string]string{
		"raw":             secret,
		"query":           url.QueryEscape(secret),
		"path":            url.PathEscape(secret),
		"query twice":     url.QueryEscape(url.QueryEscape(secret)),
		"lower percent":   percent.String(),
		"json":            strings.Trim(string(quoted), `"`),
		"json plain":      strings.Trim(strings.TrimSpace(escaped.String()), `"`),
		"json slashes":    strings.ReplaceAll(strings.Trim(string(quoted), `"`), "/", `\/`),
		"unicode escapes": unicode.String(),
		"html":            html.EscapeString(secret),
		"entities":        entities.String(),
		"hex":             hex.EncodeToString([]byte(secret)),
		"HEX":             strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64":          base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 url":      base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 of basic": base64.StdEncoding.EncodeToString([]byte("alice:" + secret)),
		"escaped, base64": base64.StdEncoding.EncodeToString([]byte("page=2&access_token=" + url.QueryEscape(secret))),
		"json, base64":    base64.StdEncoding.EncodeToString([]byte(`{"n":12,"t":"` + strings.ReplaceAll(strings.Trim(string(quoted), `"`), "/", `\/`) + `"}`)),
		"script":          script.String(),
		"base64 within":   base64.StdEncoding.EncodeToString([]byte(`{"n":12,"t":"` + secret + `","x":7}`)),
	}
}

// shows says in which spelling a text shows a secret, "" if in none.
func shows(text []byte, secret string) string {
	for how, spelling := range spelt(secret) {
		if bytes.Contains(text, []byte(spelling)) {
			return how
		}
	}
	return ""
}

func TestCredentialsAreScrubbedInAllSpellings(t *testing.T) {
	for _, secret := range []string{canary, "plaintoken123", "with space and+plus"} {
		s := scrubber(t, map[string]string{"token": secret})
		for how, spelling := range spelt(secret) {
			quoted, _ := json.Marshal(spelling)
			nested, _ := json.Marshal(map[string]any{"deep": []any{map[string]string{"text": "before " + spelling + " after"}}})
			in, _ := json.Marshal(string(nested))
			for where, body := range map[string]string{
				"text":            "a line\nbefore " + spelling + " after\nanother",
				"json":            `{"a":1.50,"b":[true,` + string(quoted) + `],"c":null}`,
				"json in json":    `{"a":` + string(in) + `}`,
				"ndjson":          "{\"a\":1}\n{\"b\":" + string(quoted) + "}\n",
				"name of a field": `{` + string(quoted) + `:1}`,
				"xml":             "<a b='1'>" + spelling + "</a>",
				"url in json":     `{"next":"https:\/\/x.test\/a?b=` + strings.Trim(string(quoted), `"`) + `#1"}`,
			} {
				out, err := s.Body([]byte(body))
				if err != nil {
					t.Errorf("%s, %s in %s: %v", secret, how, where, err)
					continue
				}
				if shown := shows(out, secret); shown != "" || !bytes.Contains(out, []byte(placeholder)) {
					t.Errorf("%s, %s in %s: got %s, which shows it as %s", secret, how, where, out, shown)
				}
				if json.Valid([]byte(body)) && !json.Valid(out) {
					t.Errorf("%s, %s in %s: got %s, which is not JSON", secret, how, where, out)
				}
			}
			out, err := s.Text("https://x.test/v1?page=2&q=" + spelling)
			if err != nil || shows([]byte(out), secret) != "" {
				t.Errorf("%s, %s in a URL: got %s, %v", secret, how, out, err)
			}
		}
	}
}

func TestWhatIsScrubbed(t *testing.T) {
	s := scrubber(t, map[string]string{"username": "alice", "password": "wonder-land"})
	for in, want := range map[string]string{
		// By the name of a field.
		`{"access_token":"abc","id":7}`:                                        `{"access_token":"#","id":7}`,
		`{"a":{"clientSecret" : "x\"y" , "b":1e2}}`:                            `{"a":{"clientSecret" : "#" , "b":1e2}}`,
		`{"api-key":["k1","k2",3]}`:                                            `{"api-key":["#","#",0]}`,
		`{"X-Authorization":{"by":"k1","n":3,"ok":true}}`:                      `{"X-Authorization":{"by":"#","n":3,"ok":true}}`,
		`{"password":123456,"pwd":null,"secret":""}`:                           `{"password":0,"pwd":null,"secret":""}`,
		`{"\u0070assword":"x"}`:                                                `{"\u0070assword":"#"}`,
		`{"url":"https://x.test/a?access_token=abc&page=2"}`:                   `{"url":"https://x.test/a?access_token=#&page=2"}`,
		`{"payload":"{\"refresh_token\":\"abc\"}"}`:                            `{"payload":"{\"refresh_token\":\"#\"}"}`,
		`{"api_keys":["k1",{"id":"7"}],"access_tokens":"k2","secrets":5}`:      `{"api_keys":["#",{"id":"7"}],"access_tokens":"#","secrets":5}`,
		`{"JSESSIONID":"k1","url":"/a;jsessionid=k2?b=c"}`:                     `{"JSESSIONID":"#","url":"/a;jsessionid=#"}`,
		`[{"key":"DB_PASSWORD","value":"k1"},{"value":"k2","name":"Api-Key"}]`: `[{"key":"DB_PASSWORD","value":"#"},{"value":"#","name":"Api-Key"}]`,
		`[{"key":"token","value":{"by":"b"}},{"name":"colour","value":"red"}]`: `[{"key":"token","value":{"by":"b"}},{"name":"colour","value":"red"}]`,
		// Tokens that continue a list stay.
		`{"nextPageToken":"abc","next_sync_token":"d","continuationToken":"e"}`: `{"nextPageToken":"abc","next_sync_token":"d","continuationToken":"e"}`,
		`{"has_password":true,"tokens":5,"keys":["a"],"key":"ABC-1"}`:           `{"has_password":true,"tokens":5,"keys":["a"],"key":"ABC-1"}`,
		// In what is not JSON.
		"access_token=abc&expires=3600":                 "access_token=#&expires=3600",
		"user: x\npassword: hunter 2\nport: 80":         "user: x\npassword: #\nport: 80",
		"f({\"api_key\": \"abc\", \"n\": 1})":           "f({\"api_key\": \"#\", \"n\": 1})",
		"<r><s:private-token>abc</s:private-token></r>": "<r><s:private-token>#</s:private-token></r>",
		`<a secret="abc" n="1"/>`:                       `<a secret="#" n="1"/>`,
		// By its form.
		`["sk_live_abcdefgh123","pk_live_abcdefgh123"]`:                                `["#","pk_live_abcdefgh123"]`,
		`{"note":"use ghp_abcdefghijklmnopqrstuv now"}`:                                `{"note":"use # now"}`,
		"xoxb-1234-5678-abc ya29.a0AfH6SMBx AKIAIOSFODNN7EXAMPLE":                      "# # #",
		`{"t":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"}`:                `{"t":"#"}`,
		"https://bob:pa55@x.test/a, https://x.test/b@c":                                "https://#@x.test/a, https://x.test/b@c",
		"Bearer abcdefgh1 and a basic account":                                         "Bearer # and a basic account",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nx": "-----BEGIN RSA PRIVATE KEY-----#-----END RSA PRIVATE KEY-----\nx",
		// The source's own. A short user name only as a word.
		`{"malice":"alice, malice","n":"wonder-lands"}`: `{"malice":"#, malice","n":"#s"}`,
		"\xff\xfe wonder-land \x80":                     "\xff\xfe # \x80",
		"\xef\xbb\xbf{\"password\":\"a\"}":              "\xef\xbb\xbf{\"password\":\"#\"}",
		// Nothing.
		``: ``, `""`: `""`, `[1.0,-0,1e400,"\ud800","\/"]`: `[1.0,-0,1e400,"\ud800","\/"]`,
		"100% of a\\b & c; 10:30, x=1": "100% of a\\b & c; 10:30, x=1",
	} {
		got, err := s.Body([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if text := placeholders.ReplaceAllString(string(got), "#"); text != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, text, want)
		}
	}
}

// behind returns a text with its escapes undone, in any order.
func behind(text []byte, depth int) (all [][]byte) {
	for _, layer := range layers {
		if v, ok := layer(text); ok && depth > 0 {
			all = append(append(all, v.text), behind(v.text, depth-1)...)
		}
	}
	return all
}

// A body may be cut anywhere, in the middle of a credential as well: no more
// than three bytes of it show.
func TestABodyThatIsCutInACredential(t *testing.T) {
	const secret = "c4nary/k+y=&%41-of-the-operator"
	s := scrubber(t, map[string]string{"token": secret})
	for how, spelling := range spelt(secret) {
		for n := 1; n < len(spelling); n++ {
			body := `{"a":[1,{"echo":"` + spelling[:n]
			out, err := s.Body([]byte(body))
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			for _, text := range append(behind(out, 2), out) {
				if bytes.Contains(text, []byte("c4na")) || bytes.Contains(bytes.ToLower(text), []byte(hex.EncodeToString([]byte("c4na")))) {
					t.Errorf("%s, %s: got %s", how, body, out)
				}
			}
		}
	}
	for _, whole := range []string{"a,b\n1,c4na\n", `{"a":"c4na"}`, "a,b\n1,c4n"} {
		if out, err := s.Body([]byte(whole)); err != nil || string(out) != whole {
			t.Errorf("%q became %q, %v", whole, out, err)
		}
	}
}

// What differs still does, and what is equal stays so.
func TestPlaceholdersTellSecretsApart(t *testing.T) {
	s := scrubber(t, map[string]string{"token": "the-token"})
	first, err := s.Body([]byte(`{"token":"a","b":"the-token","c":{"token":"d"}}`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Text("/list?token=d&x=the-token")
	if got, want := string(first)+second, `{"token":"scrubbed","b":"scrubbed-2","c":{"token":"scrubbed-3"}}/list?token=scrubbed-3&x=scrubbed-2`; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// What cannot be scrubbed is refused.
func TestUnscrubbable(t *testing.T) {
	packed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.Bytes()
	}
	deflated := func(text string) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.Bytes()
	}
	s := scrubber(t, map[string]string{"token": "the-token", "password": "another-longer-token"})
	little, big := utf16Of("x,the-token\n")
	wrapped := base64.StdEncoding.EncodeToString([]byte("somebody:another-longer-token"))
	for name, test := range map[string]struct {
		body []byte
		want error
	}{
		"utf-16 le":        {little, errUnscrubbed},
		"utf-16 be":        {big, errUnscrubbed},
		"gzip":             {packed("a,the-token"), errUnscrubbed},
		"gzip, by name":    {packed(`{"password":"x"}`), errUnscrubbed},
		"gzip, harmless":   {packed("a,b"), nil},
		"gzip, cut":        {packed("a,b")[:15], errPacked},
		"gzip within gzip": {packed(string(packed("the-token"))), errPacked},
		"wrapped":          {[]byte("x: " + wrapped[:25] + "\r\n " + wrapped[25:]), errUnscrubbed},
		"wrapped in JSON":  {[]byte(`{"x":"` + wrapped[:25] + `\n` + wrapped[25:] + `"}`), errUnscrubbed},
		"zlib":             {deflated("a,the-token"), errUnscrubbed},
		"zlib, harmless":   {deflated("a,b"), nil},
		"text like zlib":   {[]byte("x\xe4\xff, no more"), nil},
		"zstandard":        {[]byte("\x28\xb5\x2f\xfd...."), errPacked},
	} {
		out, err := s.Body(test.body)
		if !errors.Is(err, test.want) || err == nil && !bytes.Equal(out, test.body) {
			t.Errorf("%s: got %q, %v, want %v", name, out, err, test.want)
		}
	}
	// The placeholder itself would show this one.
	if _, err := scrubber(t, map[string]string{"token": "crub"}).Body([]byte("crub")); !errors.Is(err, errUnscrubbed) {
		t.Errorf("got %v, want %v", err, errUnscrubbed)
	}
	if _, err := NewScrubber(map[string]string{"token": "abc"}); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("got %v, want an error that says that it is too short", err)
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"access_token": true, "accessToken": true, "X-Access-Token": true, "page_access_token": true, "refresh_token": true, "client_secret": true,
		"password": true, "db_password": true, "api_key": true, "apikey": true, "Api-Key": true, "authorization": true, "Private-Token": true,
		"token": true, "secret": true, "sig": true, "X-Amz-Signature": true, "X-Amz-Credential": true, "X-Amz-Security-Token": true,
		"exchange_token": true, "preview_token": true, "webhook_secret": true, "secretAccessKey": true,
		"pageToken": false, "next_page_token": false, "nextSyncToken": false, "$skiptoken": false, "continuation_token": false, "start_token": false,
		"change_token": false, "prev_token": false, "starting_token": false, "cursor": false,
		"key": false, "id": false, "keys": false, "tokens": false, "signed": false, "passwords_total": false, "": false, "a": false,
	} {
		if got := secretName([]byte(name)); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// A body made to be slow is done with in the time of any other: nothing is
// looked at once more for each time that it repeats.
func TestHostileBodies(t *testing.T) {
	s := scrubber(t, map[string]string{"token": "the-token", "username": "bob1", "password": "aaaa"})
	for _, unit := range []string{
		"a", "eyJ", "ghp_", "xoxb-", "token=", "token:", "token='", `"token":"`, "<token>", "%25", "%2525252525", `\\`, `\u0026amp;%255c`, "&amp;amp;",
		"://a@", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "the-token", "dGhlLXRva2Vu", "bearer a", `{"a":`, "{}\n",
	} {
		text := strings.Repeat(unit, 256<<10/len(unit))
		quoted, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range [][]byte{[]byte(text), quoted} {
			began := time.Now()
			s.Body(body)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%q, repeated: %v", unit, took)
			}
		}
	}
}

func BenchmarkBody(b *testing.B) {
	s, err := NewScrubber(map[string]string{"username": "alice-b", "password": "c4nary-of-the-operator"})
	if err != nil {
		b.Fatal(err)
	}
	record := `{"id":123456789,"title":"Something went wrong at \"start\"","url":"https:\/\/api.x.test\/repos\/a\/b\/issues\/12?page=2&per_page=100","user":{"login":"bob","id":7,"admin":false},"body":"It says 100% and a\\nb, see <a href='x'>here<\/a> &amp; there","created_at":"2026-01-02T03:04:05Z"},`
	json := []byte("[" + strings.Repeat(record, 4000) + "0]")
	csv := bytes.Repeat([]byte("1,2026-01-02T03:04:05Z,\"a, b\",Something went wrong,12.50\n"), 20000)
	for name, body := range map[string][]byte{"json": json, "csv": csv} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := s.Body(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzScrub(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"access_token":"abc","a":["the-token",1.0e5]}`, "the-token"},
		{"a=1&token=%74he-token\n", "the-token"},
		{`{"a":"{\"b\":\"dGhlLXRva2Vu\"}"}`, "the-token"},
		{`["\ud83d\ude00\u00e9\\", 12345678]`, "345678"},
		{"\xff<a>&amp;b</a>://u:p@h/ eyJ.eyJ.eyJ", "&b</a"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, body []byte, secret string) {
		s, err := NewScrubber(map[string]string{"token": secret})
		if err != nil {
			t.Skip()
		}
		before := bytes.Clone(body)
		spans := join(s.inBody(body))
		end := 0
		for _, sp := range spans {
			if sp.from < end || sp.to <= sp.from || sp.to > len(body) {
				t.Fatalf("%q: the spans %v are out of order", body, spans)
			}
			end = sp.to
		}
		out, err := s.Body(body)
		if !bytes.Equal(before, body) {
			t.Fatalf("%q became %q", before, body)
		}
		if err != nil {
			return
		}
		if json.Valid(body) && !json.Valid(out) {
			t.Fatalf("%q was JSON, and %q is not", body, out)
		}
		if secret != "" && bytes.Contains(out, []byte(secret)) {
			t.Fatalf("%q shows %q", out, secret)
		}
		if len(spans) == 0 && !bytes.Equal(out, body) {
			t.Fatalf("%q became %q with nothing to scrub", body, out)
		}
		// Between the spans every byte is as it was: take the placeholders out again.
		rest, end := out, 0
		for _, sp := range spans {
			kept := body[end:sp.from]
			if !bytes.HasPrefix(rest, kept) {
				t.Fatalf("%q became %q: %q is gone", body, out, kept)
			}
			rest = rest[len(kept):]
			put := "0"
			if !sp.number {
				put = s.standIn(sp.secret)
			}
			if !bytes.HasPrefix(rest, []byte(put)) {
				t.Fatalf("%q became %q: want %q for %q", body, out, put, body[sp.from:sp.to])
			}
			rest, end = rest[len(put):], sp.to
		}
		if !bytes.Equal(rest, body[end:]) {
			t.Fatalf("%q became %q: its end is not %q", body, out, body[end:])
		}
	})
}
