package connectortest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/syncdhq/syncd"
)

// Open returns the streams of a connector's options by their names, over a
// handler that answers for the provider: for tests of what single requests ask
// for and what single answers come to. Between them is nothing that signs,
// paces, retries or checks. base is the base URL, syncd.NoBase for none.
func Open(t testing.TB, base string, o syncd.Options, h http.Handler) map[string]syncd.Stream {
	t.Helper()
	c, err := syncd.NewClient(base, Direct(h), Direct(h))
	if err != nil {
		t.Fatal(err)
	}
	list, err := o.Streams(c)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]syncd.Stream, len(list))
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName
}

// Direct returns a round tripper that calls a handler: no server is needed, and
// time can be faked around it.
func Direct(h http.Handler) http.RoundTripper { return direct{h} }

type direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil { // as a server has it
		req = req.Clone(req.Context())
		req.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}
