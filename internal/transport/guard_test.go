package transport

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/origin"
)

// A witness is a host that notes what it is asked.
type witness struct {
	mu    sync.Mutex
	asked []string
}

func (w *witness) saw(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\r\n", r.Method, r.RequestURI)
	_ = r.Header.Write(&b)
	body, _ := io.ReadAll(r.Body)
	w.asked = append(w.asked, b.String()+"\r\n"+string(body))
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// storage answers 400 to any request with credentials, as signed storage URLs do.
func (w *witness) storage(n int, c net.Conn, r *http.Request) bool {
	w.saw(r)
	if r.Header.Get("Authorization") != "" {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		return true
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")
	return true
}

func redirectTo(location string, status int) handle {
	return func(_ int, c net.Conn, _ *http.Request) bool {
		fmt.Fprintf(c, "HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, location)
		return true
	}
}

// TestRedirectToAnotherHost sends every kind of credential along with a
// request that is redirected: to another port of the host, to the host by
// another name, and to both where they are allowed.
func TestRedirectToAnotherHost(t *testing.T) {
	var other witness
	otherURL := listen(t, other.storage)
	u, err := url.Parse(otherURL)
	if err != nil {
		t.Fatal(err)
	}
	byName := "http://localhost:" + u.Port()
	auths := []syncd.Auth{{Scheme: syncd.Bearer}, {Scheme: syncd.HeaderKey, Name: "X-Api-Key"}, {Scheme: syncd.QueryKey, Name: "access_token"}}
	for _, auth := range auths {
		for _, target := range []string{otherURL, byName} {
			for _, allowed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s to %s, allowed %v", auth.Scheme, target, allowed), func(t *testing.T) {
					before := len(other.all())
					cfg := Config{Auth: auth, Credentials: token(canary)}
					if allowed {
						cfg.Allow = []string{strings.TrimPrefix(target, "http://")}
					}
					location := target + "/x?sig=a%2Fb&access_token=" + url.QueryEscape(canary)
					c := newClient(t, newStack(t, cfg), listen(t, redirectTo(location, 302)))
					req, err := c.NewRequest(t.Context(), "p?access_token="+url.QueryEscape(canary), nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					req.Header = http.Header{"Accept": {"application/json"}, "Cookie": {"s=" + canary}, "X-Other-Key": {canary}, "Referer": {"http://x/?" + canary}}
					resp, err := c.Do(req)
					asked := other.all()[before:]
					if !allowed {
						if err == nil || len(asked) != 0 {
							t.Fatalf("got %v, %v, and the other host was asked %d times", resp, err, len(asked))
						}
						if want := "302 redirect to " + target + ", which is another origin and not allowed"; !strings.Contains(err.Error(), want) || leaks(err.Error()) {
							t.Errorf("got %v, want %s", err, want)
						}
						return
					}
					if err != nil || len(asked) != 1 {
						t.Fatalf("got %v, and the other host was asked %d times", err, len(asked))
					}
					if leaks(asked[0]) || strings.Contains(asked[0], "Referer") || strings.Contains(asked[0], "Cookie") {
						t.Errorf("the other host saw\n%s", asked[0])
					}
					if !strings.HasPrefix(asked[0], "GET /x?sig=a%2Fb\r\n") || !strings.Contains(asked[0], "Accept: application/json") {
						t.Errorf("the other host saw\n%s", asked[0])
					}
				})
			}
		}
	}
}

func TestRedirectWithinTheOrigin(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var seen []string
		s := newStack(t, Config{Auth: syncd.Auth{Scheme: syncd.Bearer}, Credentials: token("t"), Base: handler(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body)+r.Header.Get("Authorization")+r.Header.Get("Referer"))
			if r.URL.Path != "/b" {
				w.Header().Set("Location", "b#top")
				w.WriteHeader(status)
				return
			}
			io.WriteString(w, "[]")
		})})
		c := newClient(t, s, "http://api.test")
		resp, err := c.Get(t.Context(), "a", nil)
		if err != nil || resp.URL.String() != "http://api.test/b" || strings.Join(seen, ", ") != "GET /a Bearer t, GET /b Bearer t" {
			t.Errorf("GET, %d: got %v, %v after %v", status, resp, err, seen)
		}
		seen = nil
		resp, err = c.Post(t.Context(), "a", "application/json", []byte("{}"))
		if status < 307 {
			if err == nil || len(seen) != 1 || !strings.Contains(err.Error(), fmt.Sprintf("%d redirect of a POST", status)) {
				t.Errorf("POST, %d: got %v, %v after %v", status, resp, err, seen)
			}
		} else if err != nil || strings.Join(seen, ", ") != "POST /a {}Bearer t, POST /b {}Bearer t" {
			t.Errorf("POST, %d: got %v, %v after %v", status, resp, err, seen)
		}
	}
}

func TestNextHop(t *testing.T) {
	sign, err := newSigner(syncd.Auth{Scheme: syncd.QueryKey, Name: "key"}, token(canary))
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{allow: []string{"files.test", "[::1]:8080", "Ports.test:8443"}, sign: sign}
	tests := []struct {
		name, from, location string
		to, err              string
	}{
		{"path", "https://api.test/v1/a", "/v1/b?x=1", "https://api.test/v1/b?x=1", ""},
		{"relative", "https://api.test/v1/a", "b", "https://api.test/v1/b", ""},
		{"query only", "https://api.test/v1/a", "?p=2", "https://api.test/v1/a?p=2", ""},
		{"the default port, spelled", "https://api.test/a", "https://API.test:443/b", "https://API.test:443/b", ""},
		{"the key is ours to add", "https://api.test/a", "/b?key=old&x=1", "https://api.test/b?x=1", ""},
		{"user and fragment", "https://api.test/a", "https://u:p@api.test/b#f", "https://api.test/b", ""},
		{"none", "https://api.test/a", "", "", ""},
		{"allowed", "https://api.test/a", "https://files.test/f?key=other", "https://files.test/f?key=other", ""},
		{"allowed, with the key", "https://api.test/a", "https://files.test/f?a=1&k=" + url.QueryEscape(canary) + "&b=%2f", "https://files.test/f?a=1&b=%2f", ""},
		{"allowed port", "https://api.test/a", "https://ports.test:8443/f", "https://ports.test:8443/f", ""},
		{"allowed address", "http://api.test/a", "http://[::1]:8080/f", "http://[::1]:8080/f", ""},
		{"another port of an allowed host", "https://api.test/a", "https://files.test:444/f", "", "302 redirect to https://files.test:444, which"},
		{"another port", "https://api.test/a", "https://api.test:444/b", "", "302 redirect to https://api.test:444, which"},
		{"another scheme", "http://api.test/a", "https://api.test/b", "", "302 redirect to https://api.test, which"},
		{"less secure", "https://api.test/a", "http://api.test/b", "", "302 redirect from https to http"},
		{"less secure, allowed", "https://api.test/a", "http://files.test/b", "", "302 redirect from https to http"},
		{"no HTTP", "http://api.test/a", "ftp://api.test/b", "", "302 redirect from http to ftp"},
		{"a file", "http://api.test/a", "file:///etc/passwd", "", "302 redirect to what is not a URL"},
		{"no scheme", "https://api.test/a", "//evil.test/b", "", "302 redirect to https://evil.test, which"},
		{"a longer name", "https://api.test/a", "https://api.test.evil.test/b", "", "302 redirect to https://api.test.evil.test, which"},
		{"a user that looks like a host", "https://api.test/a", "https://api.test@evil.test/b", "", "302 redirect to https://evil.test, which"},
		{"no URL", "https://api.test/a", "https://%zz/?" + canary, "", "302 redirect to what is not a URL"},
		{"the key in the path", "https://api.test/a", "https://files.test/" + url.PathEscape(canary), "", "that carries the credentials along"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := url.Parse(tt.from)
			if err != nil {
				t.Fatal(err)
			}
			h := hop{url: u, method: "GET", header: http.Header{"X-Key": {"k"}, "Accept": {"*/*"}}, home: true}
			to, follow, err := g.next(h, &http.Response{StatusCode: 302, Header: http.Header{"Location": {tt.location}}})
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) || leaks(err.Error()) || repeatable(err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
			case err != nil || follow != (tt.to != ""):
				t.Errorf("got %v, %v", follow, err)
			case follow && to.url.String() != tt.to:
				t.Errorf("got %s, want %s", to.url, tt.to)
			case follow && (to.home != origin.Same(u, to.url) || to.home != (to.header.Get("X-Key") != "") || to.header.Get("Accept") == ""):
				t.Errorf("home %v with the header %v", to.home, to.header)
			}
		})
	}
}

// Who was sent away is not trusted on coming back.
func TestNoWayBack(t *testing.T) {
	var seen []string
	s := newStack(t, Config{Auth: syncd.Auth{Scheme: syncd.Bearer}, Credentials: token("t"), Allow: []string{"files.test", "api.test"},
		Base: handler(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.URL.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
			switch r.URL.Host + r.URL.Path {
			case "api.test/a":
				w.Header().Set("Location", "http://files.test/b")
			case "files.test/b":
				w.Header().Set("Location", "http://api.test/delete-everything")
			default:
				io.WriteString(w, "[]")
				return
			}
			w.WriteHeader(302)
		})})
	if _, err := newClient(t, s, "http://api.test").Get(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(seen, ", "), "api.test/a Bearer t, files.test/b , api.test/delete-everything "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTooManyRedirects(t *testing.T) {
	n := 0
	s := newStack(t, Config{Base: handler(func(w http.ResponseWriter, r *http.Request) {
		n++
		http.Redirect(w, r, fmt.Sprintf("/%d", n), http.StatusFound)
	})})
	_, err := newClient(t, s, "http://api.test").Get(t.Context(), "0", nil)
	if err == nil || !strings.Contains(err.Error(), "more than 5 redirects") || n != 6 {
		t.Errorf("got %v after %d requests", err, n)
	}
}

func TestOrigin(t *testing.T) {
	var seen []string
	base := handler(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Host+" "+r.Header.Get("Authorization"))
		io.WriteString(w, "[]")
	})
	home, err := url.Parse("https://api.test/v1")
	if err != nil {
		t.Fatal(err)
	}
	s := newStack(t, Config{Auth: syncd.Auth{Scheme: syncd.Bearer}, Credentials: token(canary), Origin: home, Allow: []string{"files.test"}, Base: base})
	for _, tt := range []struct{ base, err string }{
		{"https://api.test:443/other", ""},
		{"https://files.test", ""},
		{"https://evil.test", "https://evil.test is not the configured origin https://api.test"},
		{"http://api.test", "http://api.test is not the configured origin https://api.test"},
	} {
		_, err := newClient(t, s, tt.base).Get(t.Context(), "x", nil)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, want %s", tt.base, err, tt.err)
		}
	}
	if got, want := strings.Join(seen, ", "), "api.test:443 Bearer "+canary+", files.test "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
