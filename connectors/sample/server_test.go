package sample

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// Over a real connection, every kind of fault comes, and none after another.
func TestFaults(t *testing.T) {
	srv := httptest.NewServer(Connector().Demo())
	defer srv.Close()
	count := map[string]int{}
	last := ""
	for range 200 {
		resp, err := srv.Client().Get(srv.URL + "/v1/customers?account=x")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		kind := http.StatusText(resp.StatusCode)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			kind = "cut"
		case err != nil:
			t.Fatal(err)
		case resp.StatusCode == 429 && resp.Header.Get("Retry-After") != "1":
			t.Errorf("throttled without Retry-After: 1")
		}
		if kind != "OK" && last != "OK" && last != "" {
			t.Errorf("%s came after %s", kind, last)
		}
		count[kind]++
		last = kind
	}
	if count["Too Many Requests"] != 5 || count["Service Unavailable"] != 5 || count["cut"] != 5 || count["OK"] != 185 {
		t.Errorf("got %v, want 5 of each fault in 200 requests", count)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/v1/customers", 200},
		{"GET", "/v1/customers?page=99", 200},
		{"GET", "/v1/customers?page=0", 400},
		{"GET", "/v1/customers?page=x", 400},
		{"GET", "/v1/customers?since=yesterday", 400},
		{"GET", "/v1/customers?since=2026-06-01T11:00:00%2B02:00", 200},
		{"GET", "/v1/customers?size=1000000000", 400},
		{"GET", "/v1/customers?change_every=1ns", 400},
		{"GET", "/v1/customers?faults=perhaps", 400},
		{"GET", "/v1/orders?from=0", 200},
		{"GET", "/v1/orders?from=-5", 200},
		{"GET", "/v1/orders?from=9223372036854775807", 200},
		{"GET", "/v1/orders?cursor=!", 400},
		{"GET", "/v1/orders?cursor=AAAA", 400},
		{"GET", "/v1/tickets?before=0", 200},
		{"GET", "/v1/tickets?before=soon", 400},
		{"GET", "/v1/else", 404},
		{"POST", "/v1/customers", 405},
	} {
		rec := httptest.NewRecorder()
		s := &Server{Now: newClock().now}
		s.ServeHTTP(rec, httptest.NewRequest(c.method, "http://sample.test"+c.target, nil))
		if rec.Code != c.want {
			t.Errorf("%s %s: got %d %s, want %d", c.method, c.target, rec.Code, rec.Body, c.want)
		}
		if got := rec.Header().Get("Date"); got != "Sun, 25 Jan 2026 09:00:07 GMT" {
			t.Errorf("%s: got the Date %q, want the clock's", c.target, got)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) {}, ""},
		{func(o *Options) { o.Account = string(make([]byte, 201)) }, "account"},
		{func(o *Options) { o.Size = 9 }, "size"},
		{func(o *Options) { o.Size = 5001 }, "size"},
		{func(o *Options) { o.Seed = -1 }, "seed"},
		{func(o *Options) { o.ChangeEvery = 0 }, "change_every"},
		{func(o *Options) { o.ChangeEvery = 25 * time.Hour }, "change_every"},
	} {
		o := Connector().Options().(*Options)
		c.change(o)
		_, err := o.Streams(nil)
		got := ""
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			got = bad.Option
		}
		if got != c.want {
			t.Errorf("%+v: got %v, want the option %q", o, err, c.want)
		}
	}
}

// The longest rotation that the options allow fits behind a clock of 2000, where
// fake clocks begin.
func TestEarlyClock(t *testing.T) {
	c := &clock{at: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	streams, _ := setup(t, c, func(o *Options) { o.Size, o.ChangeEvery = maxSize, maxEvery })
	for _, s := range streams {
		walk(t, s, 0, false)
	}
}
