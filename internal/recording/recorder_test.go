package recording

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// handler answers without a network, as the base of a stack does.
type handler struct{ http.Handler }

func (h handler) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func recorder(t *testing.T, base string, credentials map[string]string) *Recorder {
	t.Helper()
	r, err := NewRecorder(base, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func client(t *testing.T, base string, rt http.RoundTripper) *syncd.Client {
	t.Helper()
	c, err := syncd.NewClient(base, rt, rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write puts a recording into a file and returns its name.
func write(t *testing.T, r *Recorder) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "recording.json")
	f, err := Create(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(r.Write); err != nil {
		t.Fatal(err)
	}
	return name
}

func replayer(t *testing.T, name string) *Replayer {
	t.Helper()
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Bodies come back byte for byte, however odd they are.
func TestBodiesComeBackByteForByte(t *testing.T) {
	bodies := []string{
		"", " ", "\n", `{"a": 1.0, "b":[ ]}` + "\r\n", "\xef\xbb\xbf[]", "\xff\xfe\x00", "a\x00b", "\ufffd", "<&>\u2028\u2029", "\"\\\\u0041\"",
		strings.Repeat("é", 70000), "\xc3", "\xed\xa0\x80", "\x7f\x1b[31m", `"\ud800"`, "scrubbed", "null",
	}
	rec := recorder(t, "http://x.test/v1", nil)
	next := handler{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Header()["Link"] = []string{"<a>; rel=next", "<b>; rel=prev"}
		w.Header().Set("X-Total-Count", "7")
		w.Header().Set("Set-Cookie", "sid=1")
		w.Header().Set("X-Auth-Total", "1")
		w.Header().Set("X-Page-Access-Token", "f0reign")
		w.Header().Set("X-Total-Jwt", "f0reign")
		w.WriteHeader(http.StatusAccepted)
		w.Write(body)
	})}
	c := client(t, "http://x.test/v1", rec.Around(next))
	for _, body := range bodies {
		if resp, err := c.Post(t.Context(), "/echo", "text/plain", []byte(body)); err != nil || string(resp.Body) != body {
			t.Fatalf("recording %q changed it: %v", body, err)
		}
	}
	name := write(t, rec)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "{\n  \"recording\": 1,\n  \"base\": \"http://x.test/v1\",\n  \"exchanges\": [\n    {\n      \"request\": {\n        \"method\": \"POST\",\n        \"url\": \"/echo\"\n") {
		t.Errorf("got %s", text[:300])
	}
	rep := replayer(t, name)
	again, err := rep.Client()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{3, 0, 5, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16} {
		resp, err := again.Post(t.Context(), "/echo", "text/plain", []byte(bodies[i]))
		if err != nil {
			t.Fatalf("%.20q: %v", bodies[i], err)
		}
		if string(resp.Body) != bodies[i] || resp.Status != 202 {
			t.Errorf("got %d %.60q, want %.60q", resp.Status, resp.Body, bodies[i])
		}
		want := http.Header{"Link": {"<a>; rel=next", "<b>; rel=prev"}, "X-Total-Count": {"7"}}
		if fmt.Sprint(resp.Header) != fmt.Sprint(want) {
			t.Errorf("got the headers %v, want %v", resp.Header, want)
		}
	}
	if left := rep.Unused(); len(left) > 0 {
		t.Errorf("not asked: %v", left)
	}
	// The recording of the replay is the recording.
	rec2 := recorder(t, rep.Base(), nil)
	c = client(t, rep.Base(), rec2.Around(replayer(t, name)))
	for _, body := range bodies {
		if _, err := c.Post(t.Context(), "/echo", "text/plain", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if second, err := os.ReadFile(write(t, rec2)); err != nil || !bytes.Equal(second, text) {
		t.Errorf("the recording of a replay is %.600s, want %.600s, %v", second, text, err)
	}
}

// A provider that repeats all it was told, wherever it can, shows nothing in the file.
func TestNoCanaryInTheFile(t *testing.T) {
	const own = "conn3ctors-own-key"
	for scheme, auth := range map[string]syncd.Auth{
		"bearer": {Scheme: syncd.Bearer}, "basic": {Scheme: syncd.Basic},
		"header": {Scheme: syncd.HeaderKey, Name: "X-Api-Key", Prefix: "key "}, "query": {Scheme: syncd.QueryKey, Name: "key"},
	} {
		credentials := map[string]string{"token": "c4nary/k+y=&%41é", "username": "alice-b", "password": "c4nary/k+y=&%41é"}
		if scheme == "basic" {
			delete(credentials, "token")
		} else {
			delete(credentials, "username")
			delete(credentials, "password")
		}
		secret := "c4nary/k+y=&%41é"
		provider := http.NewServeMux()
		all := func(h http.Header, query string) string {
			return h.Get("Authorization") + " " + h.Get("X-Api-Key") + " " + secret + " " + query + " " + base64.StdEncoding.EncodeToString([]byte("alice-b:"+secret))
		}
		echo := func(w http.ResponseWriter, req *http.Request) string {
			text := all(req.Header, req.URL.RawQuery)
			w.Header().Set("Link", `<https://x.test/list?page=2&access_token=`+url.QueryEscape(secret)+`>; rel="next"`)
			w.Header().Set("Location", "/elsewhere/"+url.PathEscape(secret))
			w.Header().Set("Etag", `"`+text+`"`)
			w.Header().Set("X-Next-Cursor", base64.StdEncoding.EncodeToString([]byte("n=1&"+secret)))
			w.Header().Set("Set-Cookie", "sid="+secret)
			w.Header().Set("X-Echo", text)
			return text
		}
		provider.HandleFunc("/json", func(w http.ResponseWriter, req *http.Request) {
			text := echo(w, req)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"list":[{"id":1,"echo":%q,"refresh_token":"t0p-%s"}],"next":"https:\/\/x.test\/list?key=%s"}`, text, own, url.QueryEscape(secret))
		})
		provider.HandleFunc("/text", func(w http.ResponseWriter, req *http.Request) { fmt.Fprintf(w, "a,b\n%s,1\n", echo(w, req)) })
		provider.HandleFunc("/error", func(w http.ResponseWriter, req *http.Request) {
			text := echo(w, req)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "no: %s, Bearer %s", text, secret)
		})
		provider.HandleFunc("/moved", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/json?session="+own+"&q="+url.QueryEscape(secret), http.StatusFound)
		})
		secrets := map[string]vault.Secret{}
		for k, v := range credentials {
			secrets[k] = vault.NewSecret(v)
		}
		stack, err := transport.New(transport.Config{Auth: auth, Credentials: secrets, Base: handler{provider}, Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		rec := recorder(t, "https://x.test", credentials)
		c, err := syncd.NewClient("https://x.test", rec.Around(stack.Whole()), rec.Around(stack.Stream()))
		if err != nil {
			t.Fatal(err)
		}
		ask := func(c *syncd.Client) (answers []string) {
			for _, path := range []string{"/json", "/text", "/error", "/moved"} {
				req, err := c.NewRequest(t.Context(), path, url.Values{"api_key": {own}, "page": {"1"}, "q": {secret}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req)
				var status *syncd.HTTPError
				if errors.As(err, &status) {
					answers = append(answers, fmt.Sprint(status.Status))
				} else if err != nil {
					t.Fatalf("%s, %s: %v", scheme, path, err)
				} else {
					answers = append(answers, fmt.Sprint(resp.Status, resp.URL.Path))
				}
			}
			if _, err := c.Post(t.Context(), "/json", "application/json", []byte(`{"token":"`+own+`","q":"`+secret+`"}`)); err != nil {
				t.Fatal(err)
			}
			resp, err := c.Open(t.Context(), "/text", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
			return answers
		}
		want := ask(c)
		name := write(t, rec)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{secret, own, "alice-b:" + secret} {
			if how := shows(text, hidden); how != "" {
				t.Errorf("%s: the file shows %q as %s:\n%s", scheme, hidden, how, text)
			}
		}
		for _, never := range []string{"Set-Cookie", "X-Echo", "c4nary", "c4nary"[2:] + "/k"} {
			if bytes.Contains(text, []byte(never)) {
				t.Errorf("%s: the file has %q in it:\n%s", scheme, never, text)
			}
		}
		again, err := replayer(t, name).Client()
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(again); !slices.Equal(got, want) {
			t.Errorf("%s: the replay answered %v, want %v", scheme, got, want)
		}
	}
}

// A stream is recorded as it is read, and one that is left early says so.
func TestStreams(t *testing.T) {
	rec := recorder(t, "http://x.test", nil)
	c := client(t, "http://x.test", rec.Around(handler{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, strings.Repeat("line\n", 1000))
	})}))
	read := func(c *syncd.Client, path string, n int64) (string, error) {
		resp, err := c.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, n))
		return string(body), err
	}
	for path, n := range map[string]int64{"/whole": 1 << 20, "/part": 1000} {
		if _, err := read(c, path, n); err != nil {
			t.Fatal(err)
		}
	}
	again, err := replayer(t, write(t, rec)).Client()
	if err != nil {
		t.Fatal(err)
	}
	if body, err := read(again, "/whole", 1<<20); len(body) != 5000 || err != nil {
		t.Errorf("got %d bytes, %v, want all", len(body), err)
	}
	if body, err := read(again, "/part", 1<<20); len(body) != 1000 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d bytes, %v, want those that were read and an error", len(body), err)
	}
}

func TestErrorsAreRecorded(t *testing.T) {
	rec := recorder(t, "http://x.test", map[string]string{"token": "the-token"})
	gone := errors.New("GET http://x.test/a: no answer to the-token")
	c := client(t, "http://x.test", rec.Around(roundTrip(func(req *http.Request) (*http.Response, error) {
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		return nil, gone
	})))
	if _, err := c.Get(t.Context(), "/a", nil); err != gone {
		t.Fatalf("got %v, want %v", err, gone)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(cancelled, "/b", nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if rec.Len() != 1 {
		t.Errorf("%d exchanges, want 1: that a run was stopped is not the provider's word", rec.Len())
	}
	again, err := replayer(t, write(t, rec)).Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Get(t.Context(), "/a", nil); err == nil || err.Error() != "GET http://x.test/a: no answer to scrubbed" {
		t.Errorf("got %v", err)
	}
}

// What is too much is left out, and both the file and an unknown request say so.
func TestLimits(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 20<<20)
	rec := recorder(t, "http://x.test", nil)
	c := client(t, "http://x.test", rec.Around(handler{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { w.Write(big) })}))
	for i := range 5 {
		if _, err := c.Get(t.Context(), fmt.Sprint("/", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if note := rec.Note(); rec.Len() != 3 || !strings.Contains(note, "the last 2 exchanges are left out") {
		t.Errorf("kept %d, note %q", rec.Len(), note)
	}
	rec = recorder(t, "http://x.test", nil)
	c = client(t, "http://x.test", rec.Around(handler{http.NotFoundHandler()}))
	for i := range 1003 {
		c.Get(t.Context(), fmt.Sprint("/", i), nil)
	}
	again, err := replayer(t, write(t, rec)).Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Get(t.Context(), "/1001", nil); err == nil || !strings.Contains(err.Error(), "the last 3 exchanges are left out") {
		t.Errorf("got %v", err)
	}
}

// What cannot be scrubbed leaves no file, and an error that says where it was.
func TestNothingIsWrittenInDoubt(t *testing.T) {
	rec := recorder(t, "http://x.test", map[string]string{"token": "the-token"})
	_, big := utf16Of("the-token")
	c := client(t, "http://x.test", rec.Around(handler{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { w.Write(big) })}))
	if _, err := c.Get(t.Context(), "/report", url.Values{"q": {"the-token"}}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	f, err := Create(filepath.Join(folder, "r.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Write(rec.Write)
	if !errors.Is(err, errUnscrubbed) || !strings.Contains(err.Error(), "GET /report?q=scrubbed: the answer's body: it holds a secret") || strings.Contains(err.Error(), "the-token") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// Which coding a body has is in all the lines of its header.
func TestCodingsThatCannotBeLookedInto(t *testing.T) {
	for _, codings := range [][]string{{"br"}, {"identity", "br"}, {"gzip, br"}} {
		rec := recorder(t, "http://x.test", nil)
		c := client(t, "http://x.test", rec.Around(handler{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header()["Content-Encoding"] = codings
			w.Write([]byte("\x0b\x02\x80abc\x03"))
		})}))
		if _, err := c.Get(t.Context(), "/a", nil); err != nil {
			t.Fatal(err)
		}
		if err := rec.Write(io.Discard); !errors.Is(err, errPacked) {
			t.Errorf("%q: got %v, want %v", codings, err, errPacked)
		}
	}
}

// A request belongs to its caller again once it is answered.
func TestARequestThatIsUsedAgain(t *testing.T) {
	rec := recorder(t, "http://x.test", nil)
	c := client(t, "http://x.test", rec.Around(handler{http.NotFoundHandler()}))
	req, err := c.NewRequest(t.Context(), "/list", url.Values{"page": {"1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Do(req)
	req.URL.RawQuery = "page=2"
	c.Do(req)
	want := []string{"GET /list?page=1", "GET /list?page=2"}
	if got := replayer(t, write(t, rec)).Unused(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
