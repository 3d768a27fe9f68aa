package run_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

// A scriptStep is one answer of a scripted provider.
type scriptStep struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	BodyB64 string            `json:"body_b64"`
	When    *struct {
		Query map[string]*string `json:"query"`
	} `json:"when"`
	Repeat          int    `json:"repeat"`
	Close           any    `json:"close"` // true, or reset_before_headers
	Raw             string `json:"raw"`   // these bytes instead of an answer
	NoContentLength bool   `json:"no_content_length"`
	StallAfterBytes int    `json:"stall_after_bytes"`
}

func (s scriptStep) body() []byte {
	if s.BodyB64 == "" {
		return []byte(s.Body)
	}
	body, err := base64.StdEncoding.DecodeString(s.BodyB64)
	if err != nil {
		panic(err) // the file is wrong
	}
	return body
}

// needsSocket reports whether a step is about the bytes on the wire.
func (s scriptStep) needsSocket() bool {
	return s.Close != nil || s.Raw != "" || s.NoContentLength || s.StallAfterBytes > 0
}

// A script is a provider that answers in the order of a recorded list. It is a
// round tripper, so that time can be faked around it.
type script struct {
	t       *testing.T
	mu      sync.Mutex
	steps   []scriptStep
	asked   []url.Values
	strayed []string // other hosts that a connection was asked for to
}

// readScript reads a script of the shared cases.
func readScript(t *testing.T, name string) *script {
	t.Helper()
	b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name+".http.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t}
	b = bytes.ReplaceAll(b, []byte("{{OTHER_HOST}}"), []byte("http://other.test"))
	if err := json.Unmarshal(b, &s.steps); err != nil {
		t.Fatal(err)
	}
	return s
}

// needsSocket reports whether the script is about the bytes on the wire.
func (s *script) needsSocket() bool { return slices.ContainsFunc(s.steps, scriptStep.needsSocket) }

// stalls reports whether the script makes its client wait for bytes: no fake
// time passes while it does.
func (s *script) stalls() bool {
	return slices.ContainsFunc(s.steps, func(s scriptStep) bool { return s.StallAfterBytes > 0 })
}

// next returns the answer to a request, and false where the script is at its end.
func (s *script) next(query url.Values) (scriptStep, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, query)
	if len(s.steps) == 0 {
		return scriptStep{}, false
	}
	step := s.steps[0]
	switch {
	case step.Repeat > 1:
		s.steps[0].Repeat--
	case step.StallAfterBytes > 0: // as long as anybody asks
	default:
		s.steps = s.steps[1:]
	}
	if step.When != nil {
		for name, want := range step.When.Query {
			if want == nil && query.Has(name) || want != nil && query.Get(name) != *want {
				s.t.Errorf("request %v, want %s=%v", query, name, want)
			}
		}
	}
	return step, true
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	step, ok := s.next(req.URL.Query())
	if !ok {
		return nil, errors.New("the script is at its end")
	}
	body := step.body()
	resp := &http.Response{
		StatusCode: step.Status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for name, value := range step.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// The fields that scripted records have.
type scripted struct {
	ID      syncd.ID        `json:"id"`
	Updated json.RawMessage `json:"updated_at"`
	Created int64           `json:"created"`
	Version int64           `json:"ver"`
}

// A protocol is how a scripted provider is to be read. The zero protocol is
// GET /items?since=TIME&page=TOKEN, answered by {"items": [...], "next": TOKEN}.
type protocol struct {
	list    string // where the records are; "items"
	token   string // where the next page's token is; "next"
	nextURL bool   // the token is a URL
	keyset  bool   // {"data": [...], "has_more": true}: the token is the last record's id
	numbers bool   // pages have numbers, and an empty one is the last
	byTime  bool   // the token of the next page is the last record's time
	version bool   // the mark is `ver`, a sequence number
	created bool   // the mark is `created`, in seconds
}

// stream reads the scripted provider.
func (p protocol) stream(c *syncd.Client, s syncd.Stream) syncd.Stream {
	s.Name, s.Sequence = "items", p.version
	list := p.list
	switch {
	case p.keyset:
		list = "data"
	case p.numbers:
		list = ""
	case list == "":
		list = "items"
	}
	s.Fetch = func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := url.Values{}
		if req.Since > 0 {
			query.Set("since", req.Since.Time().Format(time.RFC3339))
		}
		if req.Page != "" {
			query.Set("page", req.Page)
		}
		resp, err := c.Get(ctx, "/items", query)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, list, p.record)
		if err != nil {
			return syncd.Page{}, err
		}
		page := syncd.Page{Records: records}
		page.Next, err = p.next(req, resp, records)
		return page, err
	}
	return s
}

func (p protocol) record(v scripted) syncd.Record {
	r := syncd.Record{ID: string(v.ID)}
	switch {
	case p.version:
		r.Mark = syncd.Mark(v.Version)
	case p.created:
		r.Mark = syncd.UnixSeconds(v.Created)
	case len(v.Updated) > 0:
		var at syncd.Timestamp
		r.Err = at.UnmarshalJSON(v.Updated)
		r.Mark = at.Mark()
	}
	return r
}

// next returns the token of the page after this one.
func (p protocol) next(req syncd.Request, resp *syncd.Response, records []syncd.Record) (string, error) {
	switch {
	case p.numbers:
		if len(records) == 0 {
			return "", nil
		}
		n, _ := strconv.Atoi(req.Page)
		return strconv.Itoa(max(n, 1) + 1), nil
	case p.keyset:
		var more struct {
			HasMore bool `json:"has_more"`
		}
		if err := syncd.DecodeBody(resp.Body, &more); err != nil || !more.HasMore {
			return "", err
		}
		if len(records) == 0 {
			return "", errors.New("the answer is not as expected: more is to come, but there is no record to go on from")
		}
		return records[len(records)-1].ID, nil
	case p.byTime:
		return records[len(records)-1].Mark.Format(false), nil
	}
	token, err := syncd.Token(resp.Body, or(p.token, "next"))
	if err != nil || !p.nextURL {
		return token, err
	}
	return resp.NextURL(token)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// items makes records 1 to n as a script spells them.
func items(n int) *list {
	l := &list{size: 1000}
	for i := 1; i <= n; i++ {
		l.records = append(l.records, syncd.Record{ID: strconv.Itoa(i), Data: fmt.Appendf(nil, `{"id":%d}`, i)})
	}
	return l
}
