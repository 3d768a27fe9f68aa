// Package outside gives tests servers that were not written here: programs that
// others made, with the manners that others gave them. A connector that reads
// them as they are has been tried against more than our idea of an API.
//
//	[PocketBase]  records by HTTP: numbered pages, filters, times that are not RFC 3339
//	[Miniflux]    feeds and their entries: offsets, filters by id and time, API keys
//	[StripeMock]  Stripe's published description, answered with its examples
//	[S3]          buckets: XML and continuation tokens
//	[Nginx]       static files or another server, behind a limit of requests
//	[Gitea]       an API and the authorization server for it, whose refresh tokens are good once
//	[OAuth2Mock]  an authorization server that answers as badly as it is told to
//	[Browser]     and who consents: a Chromium for the pages of these
//
// The file of each says how it behaves, with answers that it gave.
//
// Servers written in Go are built and those for Node.js installed, once for the
// machine, into a cache outside the module; nginx, Chromium and Node.js are what the
// system's packages installed: scripts/outside.sh does both. Every server listens on loopback alone, at a
// port of its own, and ends with its test; on Linux it ends with the test's
// process too, however that ends. What it printed is in the log of a test that
// fails. It takes real time: start it outside a testing/synctest bubble.
//
// The environment:
//
//	SYNCD_OUTSIDE_CACHE    the folder of what was built, instead of syncd-outside in the user's cache
//	SYNCD_REQUIRE_OUTSIDE  1: a server that cannot be had fails its tests instead of skipping them
package outside

import (
	"errors"
	"os"
	"testing"
)

// errNotHere says that a server cannot be had on this machine; the rest of the
// text is why.
var errNotHere = errors.New("scripts/outside.sh installs it where it can")

// giveUp ends the test: skipped if all that is wrong is that the server cannot
// be had here and none is required.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errNotHere) && os.Getenv("SYNCD_REQUIRE_OUTSIDE") != "1" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}
