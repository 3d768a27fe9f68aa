// Package csv reads feeds: files of rows with named columns, on disk or at a
// URL. It has one stream, whose records are the rows.
//
// A feed is only as good as its last byte. So a file is known by the checksum
// of its content and by nothing else, a row that can't be read is set aside by
// itself, and a file that can't be trusted as a whole (empty, cut in a quoted
// field, wrong delimiter, changed while it was read) is an error that leaves
// everything as it was.
package csv

import (
	"fmt"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "csv",
		Summary: "rows of delimited text files, on disk or at a URL",
		Auth:    syncd.Auth{Scheme: syncd.Basic, Optional: true},
		Options: func() syncd.Options { return Defaults() },
	}
}

// Streams implements syncd.Options. The client is used for a URL alone.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if isURL(o.Path) {
		if c == nil {
			return nil, fmt.Errorf("path: there is no client to ask a URL with")
		}
		if p.client, err = c.At(o.Path); err != nil {
			return nil, &syncd.OptionError{Option: "path", Err: err}
		}
	}
	f := &feed{plan: p}
	return []syncd.Stream{{
		Name:       o.Stream,
		Order:      syncd.Unordered,
		Sequence:   o.Mark != "" && o.MarkFormat == "integer",
		Snapshot:   o.Listing,
		Increments: !o.Listing,
		Fetch:      f.fetch,
		Replay:     f.replay,
	}}, nil
}
