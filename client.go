package syncd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/syncdhq/syncd/internal/origin"
)

// A Client makes one source's requests. Below it they are signed, paced,
// retried and kept within limits; above it a connector sees answers with 2xx
// and errors, nothing else. It asks only the origin of its base URL.
type Client struct {
	base   *url.URL
	whole  http.RoundTripper // answers arrive complete: read to the end, within limits
	stream http.RoundTripper // answers are read as they come
}

// NewClient returns a client for the API at base. Answers to Get and Post come
// through whole, which must deliver a body only when it was read to its end;
// those to Open through stream.
func NewClient(base string, whole, stream http.RoundTripper) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("base URL %q: expected http://HOST or https://HOST", base)
	}
	if u.User != nil {
		return nil, errors.New("base URL: take the user and password out of it; they belong under credentials")
	}
	return &Client{base: u, whole: whole, stream: stream}, nil
}

// NoBase is the base URL of a client for a connector that has none and whose
// configuration names none. Nothing is asked there.
const NoBase = "http://base-url.invalid"

// HasBase reports whether the client has a base URL. A connector without a
// BaseURL of its own checks it where its options do not name one either.
func (c *Client) HasBase() bool { return c.base.Host != "base-url.invalid" }

// At returns a client like c for another base URL, which must come from the
// source's configuration and never from an answer.
func (c *Client) At(base string) (*Client, error) {
	return NewClient(base, c.whole, c.stream)
}

// A Response is an answer with a status of 2xx.
type Response struct {
	Status int
	Header http.Header
	Body   []byte   // complete
	URL    *url.URL // of the request that it answers, after redirects
}

// Get asks for ref, which is resolved against the base URL: a path below it, or
// a URL that an earlier answer gave. The query is added to that of ref.
// An answer other than 2xx is an *HTTPError, and 304 is ErrNotModified.
func (c *Client) Get(ctx context.Context, ref string, query url.Values) (*Response, error) {
	req, err := c.request(ctx, http.MethodGet, ref, query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return c.do(req)
}

// Do sends a request made by NewRequest, for headers of one's own.
func (c *Client) Do(req *http.Request) (*Response, error) { return c.do(req) }

// NewRequest returns a GET request for ref, or a POST request if there is a
// body, as Get and Post would send it but without headers.
func (c *Client) NewRequest(ctx context.Context, ref string, query url.Values, body []byte) (*http.Request, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	return c.request(ctx, method, ref, query, body)
}

// Post sends a body that asks and changes nothing: a search, a GraphQL query.
// It may be sent more than once.
func (c *Client) Post(ctx context.Context, ref, contentType string, body []byte) (*Response, error) {
	req, err := c.request(ctx, http.MethodPost, ref, nil, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", contentType)
	return c.do(req)
}

// Open asks for ref and returns the answer with its body unread, for files too
// large to hold. The caller closes it, and must not trust a body before its
// end: a cut one ends in an error other than io.EOF.
func (c *Client) Open(ctx context.Context, ref string, header http.Header) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodGet, ref, nil, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := c.stream.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := refusal(req, resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (c *Client) do(req *http.Request) (*Response, error) {
	resp, err := c.whole.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := refusal(req, resp); err != nil {
		return nil, err
	}
	body, err := wholeBody(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the answer: %w", req.Method, origin.Bare(req.URL), err)
	}
	u := req.URL
	if resp.Request != nil && resp.Request.URL != nil {
		u = resp.Request.URL
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: body, URL: u}, nil
}

// wholeBody reads a body; one that is in memory already is not copied.
func wholeBody(body io.Reader) ([]byte, error) {
	if b, ok := body.(interface{ Bytes() []byte }); ok {
		return b.Bytes(), nil
	}
	return io.ReadAll(body)
}

// refusal returns the error that an answer other than 2xx is.
func refusal(req *http.Request, resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return ErrNotModified
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return &HTTPError{Method: req.Method, URL: origin.Bare(req.URL), Status: resp.StatusCode, Header: resp.Header, Body: body}
}

func (c *Client) request(ctx context.Context, method, ref string, query url.Values, body []byte) (*http.Request, error) {
	u, err := c.resolve(ref)
	if err != nil {
		return nil, err
	}
	if len(query) > 0 {
		q := u.Query()
		for name, values := range query {
			q[name] = values
		}
		u.RawQuery = q.Encode()
	}
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	return http.NewRequestWithContext(ctx, method, u.String(), r)
}

// resolve returns the URL of ref: a path is below the base URL's path.
func (c *Client) resolve(ref string) (*url.URL, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is not a URL or a path", ref)
	}
	if u.IsAbs() || u.Host != "" {
		u = c.base.ResolveReference(u)
		if !origin.Same(u, c.base) {
			return nil, fmt.Errorf("%s is another origin than the configured %s", origin.Of(u), origin.Of(c.base))
		}
		return u, nil
	}
	if ref == "" {
		copied := *c.base
		return &copied, nil
	}
	joined := *c.base
	joined.Path = strings.TrimSuffix(c.base.Path, "/") + "/" + strings.TrimPrefix(u.Path, "/")
	joined.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/") + "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	joined.RawQuery, joined.Fragment = u.RawQuery, ""
	return &joined, nil
}
