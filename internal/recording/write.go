package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Write writes what was recorded until now as a file, one exchange after the
// other. An exchange that cannot be scrubbed surely is an error, which names it
// without a secret; what was written by then is worth nothing.
func (r *Recorder) Write(w io.Writer) error {
	base, err := r.scrub.Text(r.base.String())
	if err != nil {
		return fmt.Errorf("the base URL: %w", err)
	}
	head, err := encode(document{Recording: version, Base: base, Note: r.Note()}, "")
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// The list is written piece by piece: all of it in memory would be the
	// bodies once more.
	text, _ := bytes.CutSuffix(head, []byte("null\n}"))
	text = append(text, '[')
	for _, e := range r.kept {
		if !e.recorded() {
			continue
		}
		out, err := r.scrubbed(e)
		if err != nil {
			return err
		}
		next, err := encode(out, "    ")
		if err != nil {
			return err
		}
		text = append(append(text, "\n    "...), next...)
		if _, err := w.Write(text); err != nil {
			return err
		}
		text = []byte(",")
	}
	if text[0] != ',' {
		text = append(text, "]\n}\n"...)
	} else {
		text = []byte("\n  ]\n}\n")
	}
	_, err = w.Write(text)
	return err
}

// encode writes a value for people: indented, and with < as it is.
func encode(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// scrubbed returns an exchange as it is written.
func (r *Recorder) scrubbed(e *exchange) (Exchange, error) {
	s := scrubbing{scrub: r.scrub}
	asked := relative(r.base, e.url)
	out := Exchange{Request: Request{Method: s.text("the method", e.method), URL: s.text("the URL", asked), content: s.body("the request's body", e.asked)}}
	if e.err != nil {
		out.Error = s.text("the error", e.err.Error())
		return out, s.err(out.Request)
	}
	a := &Answer{Status: e.resp.StatusCode, Cut: !e.complete && int64(len(e.body)) != e.resp.ContentLength, Headers: map[string]values{}}
	if req := e.resp.Request; req != nil && req.URL != nil {
		if led := relative(r.base, req.URL); led != asked {
			a.URL = s.text("the URL that it was redirected to", led)
		}
	}
	for name, list := range e.resp.Header {
		for _, value := range list {
			name := http.CanonicalHeaderKey(s.text("the name of a header", name))
			a.Headers[name] = append(a.Headers[name], s.text("the header "+name, value))
		}
	}
	switch coding := strings.ToLower(strings.Join(e.resp.Header.Values("Content-Encoding"), ", ")); coding {
	case "", "identity", "gzip", "x-gzip":
	default:
		s.fail("the answer's body", errPacked)
	}
	a.content = s.body("the answer's body", e.body)
	out.Answer = a
	return out, s.err(out.Request)
}

// scrubbing scrubs the parts of an exchange and keeps the first error.
type scrubbing struct {
	scrub *Scrubber
	what  string
	cause error
}

func (s *scrubbing) fail(what string, err error) {
	if s.cause == nil {
		s.what, s.cause = what, err
	}
}

func (s *scrubbing) text(what, text string) string {
	out, err := s.scrub.Text(text)
	if err != nil {
		s.fail(what, err)
	}
	return out
}

func (s *scrubbing) body(what string, body []byte) content {
	out, err := s.scrub.Body(body)
	if err != nil {
		s.fail(what, err)
		return content{}
	}
	return contentOf(out)
}

// err words the error with the request, which is scrubbed.
func (s *scrubbing) err(req Request) error {
	if s.cause == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %s: %w", req.Method, req.URL, s.what, s.cause)
}
