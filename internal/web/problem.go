package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// A Problem is why a request is not done, for programs and for people (RFC 9457).
// It holds no secret.
type Problem struct {
	Status int      `json:"status"`
	Code   string   `json:"code"`             // for programs: source_exists
	Title  string   `json:"title"`            // the status, in words
	Detail string   `json:"detail,omitempty"` // for people
	Errors []string `json:"errors,omitempty"` // each thing that is wrong with what was sent
}

func (p *Problem) Error() string {
	s := p.Code
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	for _, e := range p.Errors {
		s += "; " + e
	}
	return s
}

// Fault returns a Problem.
func Fault(status int, code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

// internal is what is said of an error that is none of the caller's: the log has
// the rest.
func internal(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	return Fault(http.StatusInternalServerError, "internal", "something went wrong here; the daemon's log says what")
}

func (p *Problem) write(w http.ResponseWriter) {
	writeJSON(w, "application/problem+json", p.Status, p)
}

// writeJSON answers with a value. Nothing that the API says is to be kept by caches.
func writeJSON(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"status":500,"code":"internal"}`)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
