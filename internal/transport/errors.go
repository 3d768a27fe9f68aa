package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"syscall"
)

// A problem is an error that this package made: its text holds nothing that
// came from outside and might be secret.
type problem struct {
	text  string
	again bool // another attempt may do better
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

// permanent returns an error that another attempt would meet again.
func permanent(format string, args ...any) error {
	return &problem{text: fmt.Sprintf(format, args...)}
}

// passing returns an error that may be gone on another attempt.
func passing(cause error, format string, args ...any) error {
	return &problem{text: fmt.Sprintf(format, args...), again: true, cause: cause}
}

// A Timeout of ours is one of net.Error as well.
type timeout struct{ text string }

func (t *timeout) Error() string   { return t.text }
func (t *timeout) Timeout() bool   { return true }
func (t *timeout) Temporary() bool { return true }

// A requestError is what went wrong with a request. Its cause is kept only
// where that is a plain sentinel, so that nobody who prints the chain prints a URL.
type requestError struct {
	text  string
	cause error
}

func (e *requestError) Error() string { return e.text }
func (e *requestError) Unwrap() error { return e.cause }

// repeatable reports whether another attempt may do better.
func repeatable(err error) bool {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.again
	}
	if _, ok := errors.AsType[*WaitError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	return true
}

// dropped reports whether a connection went away before any answer came: one
// that was kept alive and that the server closed just then.
func dropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}

var (
	quotedText = regexp.MustCompile(`"[^"]*("|$)`)
	queryText  = regexp.MustCompile(`\?\S*`)
	userText   = regexp.MustCompile(`//[^/\s@]*@`)
)

// describe says what an error of the standard library is, without anything
// that was quoted from an answer, a URL's query or the credentials.
func describe(err error, redact func(string) string) (text string, cause error) {
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		cause = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		cause = context.DeadlineExceeded
	case errors.Is(err, io.ErrUnexpectedEOF):
		cause = io.ErrUnexpectedEOF
	case errors.As(err, &errno):
		cause = errno
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p.text, cause
	}
	if t, ok := errors.AsType[*timeout](err); ok {
		return t.text, t
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil && errno != 0 {
		return fmt.Sprintf("%s %s: %s", op.Op, op.Addr, errno), cause // without the port of our end
	}
	switch {
	case cause == context.Canceled || cause == context.DeadlineExceeded:
		return cause.Error(), cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed in the middle of the answer", cause
	case errors.Is(err, io.EOF):
		return "the connection was closed without an answer", io.ErrUnexpectedEOF
	}
	text = quotedText.ReplaceAllString(err.Error(), `"..."`)
	text = queryText.ReplaceAllString(text, "")
	text = userText.ReplaceAllString(text, "//")
	text = redact(text)
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return text, cause
}
