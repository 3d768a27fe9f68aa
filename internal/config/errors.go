package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Error is something wrong at one place of the configuration. It holds no secret.
type Error struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in characters
	Message string
	Hint    string // what to do instead; may be ""
}

// Error returns "FILE:LINE:COLUMN: message", and the hint after another colon.
func (e Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	switch {
	case e.Hint == "":
		return s
	case strings.HasSuffix(s, "?"):
		return s + " " + e.Hint
	}
	return s + ": " + e.Hint
}

// Errors are all the errors of a file, by position.
type Errors []Error

// Error returns one line per error.
func (list Errors) Error() string {
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap returns the single errors.
func (list Errors) Unwrap() []error {
	out := make([]error, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}

// sorted returns the errors by file and position, each once: what an alias brings to
// many places is wrong in one.
func sorted(list []Error) []Error {
	slices.SortStableFunc(list, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}
