package outside

import (
	"slices"
	"strings"
	"testing"
)

func TestNginx(t *testing.T) {
	t.Parallel()
	n := Nginx(t, NginxConfig{
		Files:      map[string]string{"orders.json": `[{"id":1}]`, "eu/orders.json": `[]`},
		Directives: "location = /moved { return 301 /orders.json; }",
	})
	answer := n.Call(t, "GET", "/orders.json?page=2", nil) // a file takes any query
	if got, want := string(answer.Body), `[{"id":1}]`; got != want {
		t.Errorf("a file: got %s, want %s", got, want)
	}
	if got, want := answer.Header.Get("Content-Type"), "application/json"; got != want {
		t.Errorf("its type: got %s, want %s", got, want)
	}
	known := n.AskAs(t, "If-None-Match", answer.Header.Get("ETag"), "GET", "/orders.json", nil)
	if got, want := known.Status, 304; got != want {
		t.Errorf("the same file again: got status %d, want %d", got, want)
	}
	n.Call(t, "GET", "/eu/orders.json", nil)
	for path, want := range map[string]int{"/nothing.json": 404, "/moved": 301} {
		if got := n.Ask(t, "GET", path, nil).Status; got != want {
			t.Errorf("%s: got status %d, want %d", path, got, want)
		}
	}
}

func TestNginxLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		config NginxConfig
		want   []int
	}{
		{"none", NginxConfig{}, []int{200, 200, 200}},
		{"without a header", NginxConfig{Rate: "1r/m"}, []int{200, 429, 429}},
		{"with a header", NginxConfig{Rate: "1r/m", Burst: 1, RetryAfter: "60"}, []int{200, 200, 429}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.config.Files = map[string]string{"orders.json": "[]"}
			n := Nginx(t, test.config)
			var got []int
			for range test.want {
				answer := n.Ask(t, "GET", "/orders.json", nil)
				got = append(got, answer.Status)
				header := ""
				if answer.Status == 429 {
					header = test.config.RetryAfter
					if !strings.HasPrefix(string(answer.Body), "<html>") {
						t.Errorf("the body of a 429: got %s, want HTML", answer.Body)
					}
				}
				if got := answer.Header.Get("Retry-After"); got != header {
					t.Errorf("Retry-After of a %d: got %q, want %q", answer.Status, got, header)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestNginxProxy(t *testing.T) {
	t.Parallel()
	s := S3(t)
	s.Put(t, "a.json", "{}")
	for _, files := range []map[string]string{nil, {"orders.json": "[]"}} {
		n := Nginx(t, NginxConfig{Proxy: s.URL, Rate: "1r/m", Burst: 1, Files: files})
		direct := s.Call(t, "GET", "/"+Bucket+"?list-type=2&prefix=a", nil)
		proxied := n.Call(t, "GET", "/"+Bucket+"?list-type=2&prefix=a", nil)
		if got, want := string(proxied.Body), string(direct.Body); got != want {
			t.Errorf("by way of nginx, which has %d files: got %s, want %s", len(files), got, want)
		}
		n.Call(t, "GET", "/"+Bucket+"/a.json", nil)
		if got, want := n.Ask(t, "GET", "/"+Bucket, nil).Status, 429; got != want {
			t.Errorf("one request too many: got status %d, want %d", got, want)
		}
	}
}
