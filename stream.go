package syncd

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Stream is one list of records, such as the issues of a repository.
type Stream struct {
	Name      string        // lower case letters, digits and underscores; never renamed
	Order     Order         // a promise about Fetch that syncd checks on every page
	Overlap   time.Duration // how late a change may show up: each walk starts this far before the watermark
	Precision time.Duration // of the provider's filter on Since, which is rounded towards the past to it; 0 is exact
	Sequence  bool          // marks are sequence numbers, not times
	Snapshot  bool          // a walk lists every record there is, so what it does not list is gone
	Append    bool          // records never change once written (events, ledgers): the first copy stays
	// Increments says that even a walk over everything may not list all that
	// there is (files that come and go): nothing is deleted by absence.
	Increments bool
	Version    int // raised when the records' meaning changes: everything is read once more
	// Settings identify what decides the content of this list alone, beside the
	// connector's options as a whole: when they change, it is read once more.
	Settings string

	// Parts returns the sub-lists that are read one by one, each with its own
	// cursor (calendars, repositories). A part is named by what never changes,
	// without a slash. Nil means that the stream is one list.
	Parts func(ctx context.Context) ([]string, error)

	// Fetch returns one page of what changed at or after req.Since. It may be
	// called again with the same request, and must then do the same.
	Fetch func(ctx context.Context, req Request) (Page, error)

	// Replay turns the bytes of a record that was set aside into a record, as
	// Fetch would today. Nil means that Data alone is enough: the record that
	// was set aside is tried again as it was.
	Replay func(ctx context.Context, raw []byte) (Record, error)
}

// Choose returns those of all streams that the option `streams` names, in the
// order of all; without a name it is all of them. A name that is none of a
// stream is an *OptionError. The option is one for the tag `settings:"-"`.
func Choose(all []Stream, only []string) ([]Stream, error) {
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, BadOption("streams", "there is no stream %q, only %s", name, strings.Join(known, ", "))
		}
	}
	var chosen []Stream
	for _, s := range all {
		if len(only) == 0 || slices.Contains(only, s.Name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// Order is a promise about the marks that Fetch returns.
type Order int

// The orders. Records without a mark do not count.
const (
	Unordered  Order = iota
	Ascending        // oldest change first over the whole list, and Fetch honours Since: what a page leaves out is not older than its end
	Descending       // newest change first
)

func (o Order) String() string {
	switch o {
	case Ascending:
		return "ascending"
	case Descending:
		return "descending"
	}
	return "unordered"
}

// A Request asks a stream for one page.
type Request struct {
	Part  string // of Parts; "" if the stream has none
	Since Mark   // inclusive; 0 means everything
	Sync  string // Page.Sync of the last finished walk, for providers with sync tokens
	Page  string // Page.Next of the previous page; "" on the first
}

// A Page is what one request returned. It is committed as a whole.
type Page struct {
	Records []Record
	Next    string // continues the walk; "" ends it
	Sync    string // on the last page: the provider's token for the next walk, if it has such tokens

	// Fingerprint identifies all the input of the walk, where the connector
	// knows it (a file's checksum). It is shown in the run log.
	Fingerprint string
	// Notes are what an operator should know of this page, such as "2 lines at
	// the end left out". They are shown in the run log, each once.
	Notes []string
}
