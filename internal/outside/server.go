package outside

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A Server is what all servers have: an address, and a way to ask as its owner
// does. Tests bring records about with it; what reads them is what is tested.
type Server struct {
	URL string // without a slash at the end, such as http://127.0.0.1:8090

	client *http.Client
	sign   func(*http.Request) // adds the owner's credentials; nil if there are none
}

// newServer returns the server at an address. Its connections end with the test.
func newServer(tb testing.TB, address string) Server {
	transport := &http.Transport{} // no proxy, whatever the environment says
	tb.Cleanup(transport.CloseIdleConnections)
	return Server{URL: "http://" + address, client: &http.Client{
		Transport: transport,
		Timeout:   30 * time.Second,
		// A redirect is an answer like any other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An Answer is one response, of any status, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Ask sends one request, with the owner's credentials, and returns whatever
// the answer is. The path has the query; a body is sent as it is if it is
// bytes, as a form if it is url.Values, and else as JSON.
func (s Server) Ask(tb testing.TB, method, path string, body any) Answer {
	tb.Helper()
	return s.ask(tb, method, path, body, s.sign)
}

// AskAs is Ask with other credentials: the header's name and value.
func (s Server) AskAs(tb testing.TB, name, value, method, path string, body any) Answer {
	tb.Helper()
	return s.ask(tb, method, path, body, func(req *http.Request) { req.Header.Set(name, value) })
}

func (s Server) ask(tb testing.TB, method, path string, body any, sign func(*http.Request)) Answer {
	tb.Helper()
	var content []byte
	kind := "application/octet-stream"
	switch body := body.(type) {
	case nil:
	case []byte:
		content = body
	case url.Values:
		kind, content = "application/x-www-form-urlencoded", []byte(body.Encode())
	default:
		kind = "application/json"
		var err error
		if content, err = json.Marshal(body); err != nil {
			tb.Fatalf("%s %s: encode the body: %v", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, s.URL+path, bytes.NewReader(content))
	if err != nil {
		tb.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if sign != nil {
		sign(req)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	answer := Answer{Status: resp.StatusCode, Header: resp.Header}
	if answer.Body, err = io.ReadAll(resp.Body); err != nil {
		tb.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return answer
}

// Call is Ask where only success will do: any other status ends the test.
func (s Server) Call(tb testing.TB, method, path string, body any) Answer {
	tb.Helper()
	answer := s.Ask(tb, method, path, body)
	if answer.Status < 200 || answer.Status > 299 {
		tb.Fatalf("%s %s: status %d: %s", method, path, answer.Status, answer.Body)
	}
	return answer
}

// Object reads the answer as one JSON object.
func (a Answer) Object(tb testing.TB) Object {
	tb.Helper()
	var o Object
	if err := json.Unmarshal(a.Body, &o); err != nil {
		tb.Fatalf("read %s: %v", a.Body, err)
	}
	return o
}

// An Object is a JSON object whose members are as the server spelled them.
type Object map[string]json.RawMessage

// Text returns a member: a string without its quotes, anything else as it is
// spelled; "" if there is none.
func (o Object) Text(name string) string {
	var s string
	if err := json.Unmarshal(o[name], &s); err == nil {
		return s
	}
	return strings.TrimSpace(string(o[name]))
}

// Objects returns a member that is a list of objects.
func (o Object) Objects(tb testing.TB, name string) []Object {
	tb.Helper()
	var list []Object
	if err := json.Unmarshal(o[name], &list); err != nil {
		tb.Fatalf("read %s: %s: %v", name, o[name], err)
	}
	return list
}

// await asks again until the condition holds, for what a server does after it answered.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	const patience = 20 * time.Second
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%s: not after %s", what, patience)
		}
	}
}
