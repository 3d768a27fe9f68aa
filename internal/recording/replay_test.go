package recording

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

// byHand is a recording as somebody would write it.
const byHand = `{
  "recording": 1,
  "base": "https://x.test/api",
  "exchanges": [
    {"request": {"method": "GET", "url": "/a?x=1&y=2"}, "answer": {"status": 200, "headers": {"ETag": "v1"}, "body": "first"}},
    {"request": {"method": "GET", "url": "/a?x=1&y=2"}, "answer": {"status": 200, "body": "second"}},
    {"request": {"method": "GET", "url": "/b?token=scrubbed&page=1"}, "answer": {"status": 200, "body": "b1"}},
    {"request": {"method": "GET", "url": "/b?token=scrubbed&page=scrubbed-2"}, "answer": {"status": 200, "body": "b2"}},
    {"request": {"method": "POST", "url": "/q", "body": "{\"key\":\"scrubbed\",\"n\":1}"}, "answer": {"status": 200, "body_b64": "/w=="}},
    {"request": {"method": "GET", "url": "https://x.test/other"}, "answer": {"status": 200, "url": "/moved", "body": "o"}}
  ]
}`

func opened(t *testing.T, text string) (*Replayer, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(name)
}

func TestReplay(t *testing.T) {
	rep, err := opened(t, byHand)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rep.Client()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(rep.Unused()); got != 6 {
		t.Errorf("%d unused, want all", got)
	}
	for _, test := range []struct{ ref, post, want string }{
		{ref: "/a?y=2&x=1", want: "first"},
		{ref: "/a?x=%31&y=2", want: "second"},
		{ref: "/a?x=1&y=2", want: "second"},
		{ref: "/b?page=7&token=other", want: "b2"},
		{ref: "/b?page=1&token=other", want: "b1"},
		{ref: "/b?page=1&token=other", want: "b1"},
		{ref: "/q", post: `{"key":"mine","n":1}`, want: "\xff"},
		{ref: "https://x.test/other", want: "o"},
	} {
		var body []byte
		if test.post != "" {
			body = []byte(test.post)
		}
		req, err := c.NewRequest(t.Context(), test.ref, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Errorf("%s: %v", test.ref, err)
			continue
		}
		if string(resp.Body) != test.want {
			t.Errorf("%s: got %q, want %q", test.ref, resp.Body, test.want)
		}
		if test.want == "first" && resp.Header.Get("Etag") != "v1" {
			t.Errorf("%s: got the headers %v", test.ref, resp.Header)
		}
		if test.want == "o" && resp.URL.String() != "https://x.test/api/moved" {
			t.Errorf("%s: answered by %s", test.ref, resp.URL)
		}
	}
	if left := rep.Unused(); len(left) > 0 {
		t.Errorf("not asked: %v", left)
	}
}

func TestUnknownRequests(t *testing.T) {
	rep, err := opened(t, byHand)
	if err != nil {
		t.Fatal(err)
	}
	c, err := syncd.NewClient(rep.Base(), rep, rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ ref, post, want string }{
		{"/a?x=1&y=3", "", `GET /a?x=1&y=3 was not recorded; the closest is GET /a?x=1&y=2: the parameter y is "3", recorded "2"`},
		{"/a?x=1", "", `the closest is GET /a?x=1&y=2: the recorded parameter y=2 is missing`},
		{"/a?x=1&y=2&z=3", "", `the parameter z=3 was not recorded`},
		{"/a?x=1&y=2&api_key=k3y", "", `GET /a?x=1&y=2&api_key=scrubbed was not recorded; the closest is GET /a?x=1&y=2: the parameter api_key=scrubbed was not recorded`},
		{"/aa", "", `the path is "/aa", recorded "/a"`},
		{"/q", `{"key":"k","n":2}`, `the closest is POST /q: the body differs`},
		{"/q", "", `the method is GET, recorded POST`},
	} {
		var body []byte
		if test.post != "" {
			body = []byte(test.post)
		}
		req, err := c.NewRequest(t.Context(), test.ref, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(req)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "k3y") {
			t.Errorf("%s: got %v\nwant %s", test.ref, err, test.want)
		}
	}
}

func TestWhatIsNoRecording(t *testing.T) {
	for text, want := range map[string]string{
		``:                                 "EOF",
		`{}`:                               "no recording of version 1",
		`{"recording":2,"exchanges":[]}`:   "no recording of version 1",
		`{"recording":1,"exchange":[]}`:    "unknown field",
		`{"recording":1,"exchanges":[]} 1`: "more after",
		`{"recording":1,"exchanges":[{"request":{"method":"GET","url":"/"}}]}`:                                                      "exchange 1: there must be an answer",
		`{"recording":1,"exchanges":[{"request":{"method":"GET","url":"/"},"answer":{"status":7}}]}`:                                "status 7",
		`{"recording":1,"exchanges":[{"request":{"url":"/"},"answer":{"status":200}}]}`:                                             "no method",
		`{"recording":1,"exchanges":[{"request":{"method":"GET","url":"/"},"answer":{"status":200,"body":"a","body_b64":"YQ=="}}]}`: "body or body_b64",
		`{"recording":1,"base":"/x","exchanges":[]}`:                                                                                "is no URL",
	} {
		if _, err := opened(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(err) && (err == nil || !strings.Contains(err.Error(), "no such file")) {
		t.Errorf("got %v", err)
	}
}

func TestKeptHeaders(t *testing.T) {
	for name, want := range map[string]bool{
		"content-type": true, "Link": true, "Etag": true, "ETag": true, "Retry-After": true, "Location": true, "Date": true, "Last-Modified": true,
		"RateLimit": true, "X-RateLimit-Remaining": true, "X-Rate-Limit-Reset": true, "X-Discord-Ratelimit-Scope": true,
		"X-Shopify-Shop-Api-Call-Limit": true, "X-Next-Page": true, "X-Total": true, "X-Wp-Totalpages": true, "X-Next-Cursor": true,
		"Set-Cookie": false, "Authorization": false, "Cookie": false, "X-Auth-Token": false, "X-Session-Count": false, "X-Api-Key": false,
		"X-Request-Id": false, "Server": false, "Next": false, "Www-Authenticate": false,
	} {
		if got := keeps(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, test := range []struct{ base, ref, want string }{
		{"https://x.test", "/a?b=c", "/a?b=c"},
		{"https://x.test/", "https://X.test:443/a%2Fb", "/a%2Fb"},
		{"https://x.test/v1/", "https://x.test/v1/a", "/a"},
		{"https://x.test/v1", "https://x.test/v1", ""},
		{"https://x.test/v1", "https://x.test/v10/a", "https://x.test/v10/a"},
		{"https://x.test/v1", "https://u:p@y.test/v1/a?b#c", "https://y.test/v1/a?b"},
	} {
		base, err := http.NewRequest("GET", test.base, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := base.URL.Parse(test.ref)
		if err != nil {
			t.Fatal(err)
		}
		if got := relative(base.URL, u); got != test.want {
			t.Errorf("%s below %s: got %q, want %q", test.ref, test.base, got, test.want)
		}
	}
}
