package run_test

import (
	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
)

// described reads the scripted provider by a description of it in the options
// of the connector rest.
func (p protocol) described(c *syncd.Client, s syncd.Stream) syncd.Stream {
	o := rest.Stream{
		Path: "/items", Records: "body.items",
		Mark:    rest.Mark{Field: "updated_at"},
		Overlap: s.Overlap, Snapshot: s.Snapshot,
		Paging: rest.Paging{By: "cursor", Param: "page", Next: "body." + or(p.token, "next")},
	}
	if !s.Snapshot {
		o.Since = rest.Since{Param: "since"}
	}
	if s.Order != syncd.Unordered {
		o.Order = s.Order.String()
	}
	if p.list != "" {
		o.Records = "body." + p.list
	}
	switch {
	case p.keyset:
		o.Records = "body.data"
		o.Paging.Next, o.Paging.More = "last.id", "body.has_more"
	case p.numbers:
		o.Records = "body"
		o.Paging = rest.Paging{By: "page", Param: "page"}
	case p.byTime:
		o.Paging.Next = "last.updated_at"
	case p.nextURL:
		o.Paging.By, o.Paging.Param = "url", ""
	}
	switch {
	case p.version:
		o.Mark = rest.Mark{Field: "ver", Format: "integer"}
	case p.created:
		o.Mark = rest.Mark{Field: "created", Format: "unix"}
	}
	options := &rest.Options{Lists: map[string]rest.Stream{"items": o}}
	streams, err := options.Streams(c)
	if err != nil {
		panic(err)
	}
	streams[0].Settings = "" // cases begin with cursors of no settings
	return streams[0]
}
