// Package syncd is the kit for authors of connectors: the code that reads one
// kind of provider, such as GitHub, for the sync daemon of the same name.
//
// A connector is a list of streams, and a stream is one repeatable function
// that returns a page. The daemon owns everything else: the loop over the
// pages, cursors, pacing, retries, storage, schedules and locks.
//
// The words user, provider, source, stream, record, mark, walk and cursor mean
// the same here as in the tables and in the command line; docs/design.md
// explains each.
package syncd
