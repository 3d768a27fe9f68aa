package csv

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd"
)

const feedURL = "https://vendor.example/feeds/orders.csv?sig=s3cret"

// A trip answers requests by calling the handler.
type trip struct {
	handler  http.HandlerFunc
	requests []*http.Request
}

func (s *trip) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, req)
	w := httptest.NewRecorder()
	s.handler(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// served returns the stream of the URL's feed.
func served(t *testing.T, from http.RoundTripper, set func(*Options)) syncd.Stream {
	t.Helper()
	c, err := syncd.NewClient("http://unused.invalid", nil, from)
	if err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	o.Path, o.Key, o.PageRows = feedURL, []string{"id"}, 1
	if set != nil {
		set(o)
	}
	streams, err := o.Streams(c)
	if err != nil {
		t.Fatal(err)
	}
	return streams[0]
}

func TestURL(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		refused string
	}{
		{"plain", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "id,n\n1,a\n2,b\n") }, ""},
		{"compressed file", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, gzipped(t, "id,n\n1,a\n2,b\n")) }, ""},
		{"compressed on the way", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, gzipped(t, "id,n\n1,a\n2,b\n"))
		}, ""},
		{"compressed file, compressed on the way", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, gzipped(t, gzipped(t, "id,n\n1,a\n2,b\n")))
		}, ""},
		{"cut compressed file", func(w http.ResponseWriter, _ *http.Request) {
			z := gzipped(t, "id,n\n1,a\n2,b\n")
			io.WriteString(w, z[:len(z)-5])
		}, "unexpected EOF"},
		{"fewer bytes than announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "14")
			io.WriteString(w, "id,n\n1,a\n")
		}, "9 bytes of 14"},
		{"another compression", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "x")
		}, `Content-Encoding is "br"`},
		{"a part", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, "id,n\n1,a\n")
		}, "206"},
		{"a page to log in, by its type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "id,n\n1,a\n")
		}, "an HTML page"},
		{"a page to log in, by its content", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			io.WriteString(w, "\n<!DOCTYPE html>\n<p>Sign in</p>\n")
		}, "an HTML page"},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) {}, "the file is empty"},
		{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "404"},
	}
	for _, test := range tests {
		from := &trip{handler: test.handler}
		r, err := walkAll(t, served(t, from, nil), "")
		if len(from.requests) != 1 {
			t.Errorf("%s: %d requests, want 1", test.name, len(from.requests))
		}
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v, want %q in it and no secret", test.name, err, test.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff([]string{`1 {"id":"1","n":"a"}`, `2 {"id":"2","n":"b"}`}, rows(r.records)); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
		if strings.Contains(r.sync+strings.Join(r.next, ""), "s3cret") {
			t.Errorf("%s: the URL's secret is in a token: %s %s", test.name, r.sync, r.next)
		}
	}
}

// A body that ends in an error is none, however much of it came.
func TestURLCutBody(t *testing.T) {
	broken := errors.New("connection reset")
	from := roundTrip(func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("id,n\n1,a\n2,b\n"), errorReader{broken})
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1, Request: req}, nil
	})
	if _, err := served(t, from, nil).Fetch(t.Context(), syncd.Request{}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestURLConditional(t *testing.T) {
	const sent = "Tue, 01 Dec 2026 10:00:00 GMT"
	tests := []struct {
		name   string
		header map[string]string // of the first answer
		asked  string            // a header of the second request, "" for none
		value  string
	}{
		{"etag", map[string]string{"ETag": `"x"`, "Date": sent, "Last-Modified": "Tue, 01 Dec 2026 09:00:00 GMT"}, "If-None-Match", `"x"`},
		{"date", map[string]string{"Date": sent, "Last-Modified": "Tue, 01 Dec 2026 09:00:00 GMT"}, "If-Modified-Since", "Tue, 01 Dec 2026 09:00:00 GMT"},
		{"a date too young to be trusted", map[string]string{"Date": sent, "Last-Modified": "Tue, 01 Dec 2026 09:59:30 GMT"}, "", ""},
		{"nothing", nil, "", ""},
	}
	for _, test := range tests {
		from := &trip{handler: func(w http.ResponseWriter, req *http.Request) {
			if test.asked != "" && req.Header.Get(test.asked) == test.value {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			for name, value := range test.header {
				w.Header().Set(name, value)
			}
			io.WriteString(w, "id,n\n1,a\n2,b\n")
		}}
		r := mustWalk(t, served(t, from, nil), "")
		if _, err := walkAll(t, served(t, from, nil), r.sync); !errors.Is(err, syncd.ErrNotModified) {
			t.Errorf("%s: %v, want ErrNotModified", test.name, err)
		}
		if len(from.requests) != 2 {
			t.Fatalf("%s: %d requests, want 2", test.name, len(from.requests))
		}
		for _, name := range []string{"If-None-Match", "If-Modified-Since"} {
			want := ""
			if name == test.asked {
				want = test.value
			}
			if got := from.requests[1].Header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", test.name, name, got, want)
			}
		}
		// Another reading of the same bytes needs the bytes.
		other := mustWalk(t, served(t, from, func(o *Options) { o.Key = []string{"n"} }), r.sync)
		if len(other.records) != 2 {
			t.Errorf("%s: another key: %d records, want 2", test.name, len(other.records))
		}
		// So does another URL.
		if _, err := walkAll(t, served(t, from, func(o *Options) { o.Path += "&v=2" }), r.sync); !errors.Is(err, syncd.ErrNotModified) {
			t.Errorf("%s: the same content at another URL: %v, want ErrNotModified", test.name, err)
		}
		if got := from.requests[3].Header; got.Get("If-None-Match")+got.Get("If-Modified-Since") != "" {
			t.Errorf("%s: another URL was asked conditionally", test.name)
		}
	}
}

// A walk that is resumed downloads the file once more, and goes on where it was
// if the file is the same. If not, what was downloaded is what is read anew.
func TestURLResume(t *testing.T) {
	body := "id,n\n1,a\n2,b\n"
	from := &trip{handler: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }}
	page, err := served(t, from, nil).Fetch(t.Context(), syncd.Request{})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := served(t, from, nil).Fetch(t.Context(), syncd.Request{Page: page.Next})
	if err != nil || len(rest.Records) != 1 || rest.Records[0].ID != "2" || rest.Next != "" {
		t.Errorf("resumed: %v, %v; want row 2 and the end", rows(rest.Records), err)
	}
	body = "id,n\n1,x\n2,b\n"
	s := served(t, from, nil)
	if _, err := s.Fetch(t.Context(), syncd.Request{Page: page.Next}); !errors.Is(err, syncd.ErrResync) {
		t.Errorf("resumed with other content: %v, want ErrResync", err)
	}
	if r := mustWalk(t, s, ""); r.records[0].Raw[2] != 'x' {
		t.Errorf("read anew: %q", rows(r.records))
	}
	if got, want := len(from.requests), 3; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}
