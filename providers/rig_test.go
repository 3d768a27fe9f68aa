package providers_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/providers"
)

// connector returns a connector that comes with syncd.
func connector(t *testing.T, name string) syncd.Connector {
	t.Helper()
	all, err := config.Expand([]syncd.Connector{rest.Connector(), providers.Connector(name)})
	if err != nil {
		t.Fatal(err)
	}
	return all[1]
}

// paramsOf returns the params of a connector with their defaults.
func paramsOf(c syncd.Connector) map[string]string { return c.Options().(*rest.Options).Params }

// with returns what makes a connector's options with some params set.
func with(c syncd.Connector, params map[string]string) func() syncd.Options {
	return func() syncd.Options {
		o := c.Options().(*rest.Options)
		for name, value := range params {
			o.Params[name] = value
		}
		return o
	}
}

// only returns what makes a connector's options with some streams alone.
func only(c syncd.Connector, streams ...string) func() syncd.Options {
	return func() syncd.Options {
		o := c.Options().(*rest.Options)
		o.Only = streams
		return o
	}
}

// paged returns what makes a connector's options with small pages of some
// streams, for fakes of providers that always give as many as they are asked for.
func paged(c syncd.Connector, size int, streams ...string) func() syncd.Options {
	return func() syncd.Options {
		o := c.Options().(*rest.Options)
		for _, name := range streams {
			list := o.Lists[name]
			list.Paging.Size = size
			o.Lists[name] = list
		}
		return o
	}
}

// A wire answers a provider's requests and keeps what was asked.
type wire struct {
	answer func(*http.Request) (body string, status int)
	header func(*http.Request, http.Header) // of the answer; nil is none
	asked  []string
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	query, err := url.QueryUnescape(req.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	line := req.Method + " " + req.URL.EscapedPath()
	if query != "" {
		line += "?" + query
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		line += " " + string(body)
	}
	w.asked = append(w.asked, line)
	rec := httptest.NewRecorder()
	body, status := w.answer(req)
	if w.header != nil {
		w.header(req, rec.Header())
	}
	rec.WriteHeader(status)
	io.WriteString(rec, body)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// numeric is an item's id as a number.
func numeric(it connectortest.Item) int64 {
	id, _ := strconv.ParseInt(it.ID, 10, 64)
	return id
}

var began = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// streams returns the streams of a provider at https://provider.test.
func (w *wire) streams(t *testing.T, o syncd.Options) map[string]syncd.Stream {
	t.Helper()
	client, err := syncd.NewClient("https://provider.test", w, w)
	if err != nil {
		t.Fatal(err)
	}
	list, err := o.Streams(client)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]syncd.Stream{}
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName
}

// walk reads a stream, or a part of it, to its end by the rules of the engine.
// It returns the requests of that and the cursor after it.
func (w *wire) walk(t *testing.T, s syncd.Stream, part string, state cursor.State) ([]string, cursor.State) {
	t.Helper()
	w.asked = nil
	state = cursor.Begin(state, s, cursor.Options{Now: began})
	for range 20 {
		page, err := s.Fetch(t.Context(), cursor.Next(state, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if r.Err != nil {
				t.Fatalf("%s: %v", r.Data, r.Err)
			}
		}
		step := cursor.Advance(state, s, page, syncd.At(began), false)
		if step.Broken {
			t.Fatalf("%s is not in the order that it promises", s.Name)
		}
		if state = step.State; step.Done {
			return w.asked, state
		}
	}
	t.Fatal("the walk does not end")
	return nil, state
}

// refused checks what becomes of the answers to a request for the part 7 of
// streams: that nothing is new, or else a failure with the status.
func (w *wire) refused(t *testing.T, c syncd.Connector, streams []string, status int, unchanged bool) {
	t.Helper()
	for _, name := range streams {
		_, err := w.streams(t, c.Options())[name].Fetch(t.Context(), syncd.Request{Part: "7"})
		refusal, ok := errors.AsType[*syncd.HTTPError](err)
		switch {
		case unchanged && !errors.Is(err, syncd.ErrNotModified):
			t.Errorf("%s: %d is %v, want that nothing is new", name, status, err)
		case !unchanged && (!ok || refusal.Status != status):
			t.Errorf("%s: %d is %v, want a failure", name, status, err)
		}
	}
}
