package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/syncdhq/syncd"
)

// A result is what one attempt came to: an answer or an error, and what it means.
type result struct {
	verdict
	resp    *http.Response
	err     error
	home    bool // the answer is the provider's own
	dropped bool // no answer: the connection went away
}

func failure(err error) result {
	text, _ := describe(err, func(s string) string { return s })
	return result{verdict: verdict{outcome: failed, why: text}, err: err}
}

// attempt sends a request once, with the redirects that it leads to.
func (s *Stack) attempt(req *http.Request, stream bool, secondary int) result {
	h, err := s.guard.first(req)
	if err != nil {
		return failure(err)
	}
	unpack := h.header.Get("Accept-Encoding") == ""
	w := newWatch(req.Context())
	r := s.follow(req, h, w, unpack)
	if r.err == nil {
		r = s.receive(req, r, stream, unpack, w, secondary)
	}
	if r.err != nil || !stream || r.resp.StatusCode/100 != 2 {
		w.stop() // else the body's Close does
	}
	return r
}

// follow sends the request, hop by hop, to the answer that is no redirect.
func (s *Stack) follow(req *http.Request, h hop, w *watch, unpack bool) result {
	for {
		if h.home {
			if err := s.pace(req.Context()); err != nil {
				return failure(err)
			}
		}
		resp, err := s.send(req, h, w, unpack)
		if err != nil {
			r := failure(err)
			r.dropped = dropped(err)
			return r
		}
		next, more, err := s.guard.next(h, resp)
		if err != nil {
			resp.Body.Close()
			return failure(err)
		}
		if !more {
			return result{resp: resp, home: h.home}
		}
		discard(resp)
		h = next
	}
}

// send makes one request and waits for the header of its answer, whose Request
// is as it would be without credentials.
func (s *Stack) send(req *http.Request, h hop, w *watch, unpack bool) (*http.Response, error) {
	out := &http.Request{
		Method: h.method, URL: h.url, Host: h.url.Host, Header: h.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body, out.ContentLength, out.GetBody = body, req.ContentLength, req.GetBody
	} else if req.Body != nil && req.Body != http.NoBody {
		out.Body, out.ContentLength = req.Body, req.ContentLength
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", s.cfg.UserAgent)
	}
	if unpack && out.Header.Get("Range") == "" && h.method != http.MethodHead {
		out.Header.Set("Accept-Encoding", "gzip")
	}
	asked := out.Clone(req.Context())
	asked.Body, asked.GetBody = nil, nil
	out = out.WithContext(w.ctx)
	if h.home {
		s.sign.sign(out)
	}
	s.requests.Add(1)
	var resp *http.Response
	err := w.over(s.cfg.HeaderTimeout, fmt.Sprintf("no answer within %s", s.cfg.HeaderTimeout), func() (err error) {
		resp, err = s.cfg.Base.RoundTrip(out)
		return err
	})
	if err != nil {
		return nil, err
	}
	if h.home {
		s.sawDate(resp.Header)
	}
	resp.Request = asked
	return resp, nil
}

// refusalLimit is how much of the body of a refusal is read.
const refusalLimit = 64 << 10

// receive reads and judges an answer.
func (s *Stack) receive(req *http.Request, r result, stream, unpack bool, w *watch, secondary int) result {
	resp := r.resp
	good := resp.StatusCode/100 == 2
	var body []byte
	err := s.open(resp, w, unpack)
	switch {
	case !good:
		// The status says enough: what can be had of the body is only for people.
		if err == nil {
			_ = w.over(s.cfg.IdleTimeout, "the answer's body does not end", func() (err error) {
				body, _, err = readAll(io.LimitReader(resp.Body, refusalLimit), 0, refusalLimit)
				return err
			})
		}
		resp.Body.Close()
		body, err = []byte(s.sign.redact(string(body))), nil
		setBody(resp, body)
	case err == nil && stream:
		err = checkType(req, resp, nil)
	case err == nil:
		body, err = s.readWhole(req, resp)
	}
	s.sign.redactHeader(resp.Header)
	if err != nil {
		resp.Body.Close()
		home := r.home
		r = failure(err)
		r.home = home
		return r
	}
	throttled := s.cfg.Throttled != nil && s.cfg.Throttled(resp.StatusCode, resp.Header, body) ||
		good && isThrottledGraphQL(body)
	now := time.Now()
	r.verdict = judge(answer{resp.StatusCode, resp.Header, body, now, s.ownQuota(resp.Header, now), throttled, secondary})
	if r.quiet > 0 && r.home {
		s.quiet(now.Add(min(r.quiet, s.cfg.MaxPark)), "the provider's quota is used up")
	}
	if r.outcome == limited && good {
		r.err = errors.New(r.why) // an answer with 2xx must not be taken for one
	}
	return r
}

// readWhole reads the body of a good answer to its end, checks it, and gives
// the answer the body that was read.
func (s *Stack) readWhole(req *http.Request, resp *http.Response) ([]byte, error) {
	if bodyless(resp) {
		resp.Body.Close()
		setBody(resp, nil)
		return nil, nil
	}
	if resp.ContentLength > s.cfg.MaxBody {
		return nil, tooLarge(s.cfg.MaxBody)
	}
	body, more, err := readAll(resp.Body, resp.ContentLength, s.cfg.MaxBody)
	resp.Body.Close()
	if more {
		return nil, tooLarge(s.cfg.MaxBody)
	}
	if err != nil {
		return nil, err
	}
	if err := checkType(req, resp, body); err != nil {
		return nil, err
	}
	if wantsJSON(req) {
		contentType := resp.Header.Get("Content-Type")
		if body, err = checkJSON(contentType, body, s.cfg.MaxBody); err != nil {
			return nil, err
		}
	}
	body = s.withoutKey(body)
	setBody(resp, body)
	return body, nil
}

// withoutKey takes the key that requests carry in their query out of a body:
// some providers put the URL that was asked into links to further pages and
// into every record, and both are stored.
func (s *Stack) withoutKey(body []byte) []byte {
	if !s.sign.signs || s.sign.auth.Scheme != syncd.QueryKey {
		return body
	}
	for _, name := range []string{s.sign.auth.Name, url.QueryEscape(s.sign.auth.Name)} {
		for _, secret := range s.sign.spellings() {
			body = bytes.ReplaceAll(body, []byte(name+"="+secret), []byte(name+"=redacted"))
		}
	}
	return body
}
