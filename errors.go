package syncd

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrNotModified says that there is nothing new: the walk ends well and the
// cursor stays as it is.
var ErrNotModified = errors.New("not modified")

// ErrResync says that what the request continues from is no more: a sync token
// that the provider has forgotten, a file that changed while it was read. The
// walk starts over and reads everything.
var ErrResync = errors.New("the provider asks for a new read from the start")

// An HTTPError is an answer other than 2xx, after all retries.
type HTTPError struct {
	Method string
	URL    string // without its query, which may hold secrets
	Status int
	Header http.Header
	Body   []byte // at most the first 4 KiB
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
}

// An OptionError names the option that is wrong, and why.
type OptionError struct {
	Option string // its key in the configuration
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// BadOption returns an OptionError.
func BadOption(option, format string, args ...any) error {
	return &OptionError{option, fmt.Errorf(format, args...)}
}

// A RejectError is why one record can't be ingested: a reason that programs
// can select by, and what people read.
type RejectError struct {
	Reason string // lower case words joined by underscores: bad_time
	Err    error
}

func (e *RejectError) Error() string { return e.Err.Error() }
func (e *RejectError) Unwrap() error { return e.Err }

// Reject returns a RejectError.
func Reject(reason, format string, args ...any) error {
	return &RejectError{reason, fmt.Errorf(format, args...)}
}
