package connectortest

import (
	"net/http"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
)

// A Subject is a connector to be proved.
type Subject struct {
	Connector syncd.Connector

	// Options returns the options as a user would set them, new at each call;
	// nil is the connector's defaults.
	Options func() syncd.Options

	// Fake returns the provider: a handler that lists the world's items under
	// the paths of the real one. It is called for each scenario and serves
	// several runs. It needs to know nothing of limits, credentials and faults.
	Fake func(w *World) http.Handler

	// Streams are the facts by the name of the stream, where the zero Facts
	// are not right.
	Streams map[string]Facts
}

// Facts are what the suite cannot see from a stream. The zero Facts are of a
// list of things that have whole numbers as ids, a time of their last change,
// exact to the second, as their mark, and that can be deleted without a word.
type Facts struct {
	// Parts are the names of the stream's parts, as its Parts returns them;
	// nil is "7001" and "7002" for a stream that has parts.
	Parts []string

	// ID returns the id of the nth item; nil is 2^53 + n in digits.
	ID func(n int64, created time.Time) string

	// RecordID returns the id that an item's record has; nil is Item.ID.
	RecordID func(Item) string

	// Mark returns the mark that an item's record has. Nil is Item.Changed or,
	// in a stream with Sequence, Item.Seq. See Created and Unmarked.
	Mark func(Item) syncd.Mark

	// Grain is how exact the provider's times are; 0 is a second.
	Grain time.Duration

	// Data returns the data of a record from its element as the fake rendered
	// it; nil is all of it, byte for byte.
	Data func(element string) string

	// Deletions is what the provider says of what was deleted.
	Deletions Deletions

	// EmptyPages says that a page without elements may be followed by others,
	// as where a provider filters its pages after cutting them.
	EmptyPages bool

	// OnePage says that the provider answers everything at once.
	OnePage bool

	// Except are the scenarios that a connector of this provider cannot pass,
	// by name, each with the reason. They are run all the same: one that
	// passes is to be taken out.
	Except map[string]string
}

// Created is for Facts.Mark: records are marked by when they were created.
// What changes later does not move their mark, so that only a full walk finds it.
func Created(it Item) syncd.Mark { return syncd.At(it.Created) }

// Unmarked is for Facts.Mark: the provider does not say when things changed.
func Unmarked(Item) syncd.Mark { return 0 }

// Deletions is what a provider says of what was deleted.
type Deletions int

// What providers say of what was deleted.
const (
	Silent Deletions = iota // it is not listed any more
	Told                    // it is listed, as deleted
	Never                   // nothing is ever deleted
)

// Run proves a connector. Each stream is taken through each scenario that fits
// it, as a subtest named STREAM/SCENARIO; `go test -v` also says which do not
// fit, and why.
func Run(t *testing.T, s Subject) {
	t.Helper()
	streams, err := s.streams()
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range streams {
		t.Run(stream.Name, func(t *testing.T) { newProof(t, s, stream.Name).prove(t) })
	}
	if len(streams) > 1 && !t.Failed() {
		t.Run("all streams", func(t *testing.T) { newProof(t, s, "").prove(t) })
	}
}

// prove plays the scenarios. Where not even the first passes, the others would
// say the same again.
func (p *proof) prove(t *testing.T) {
	t.Helper()
	for _, why := range p.left() {
		t.Logf("not played: %s", why)
	}
	for _, sc := range p.scenarios() {
		passed := t.Run(sc.name, func(t *testing.T) {
			for _, finding := range p.play(t, sc) {
				t.Error(finding)
			}
		})
		if !passed && sc.first {
			t.Logf("the other scenarios were not played")
			return
		}
	}
	if p.broken && !t.Failed() {
		t.Error("the other scenarios were not played: lists that keep still could not be read, and then they could; does the fake answer the same request in the same way?")
	}
}
