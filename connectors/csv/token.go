package csv

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
)

// A position is where a walk goes on: Page.Next, as JSON. It holds for the
// content and the options that it was made with, and for no other.
type position struct {
	Sum     string `json:"sum"`            // of all inputs of the walk
	Reading string `json:"reading"`        // of the options
	File    int    `json:"file"`           // counted from 0 in the order of names
	Offset  int64  `json:"off"`            // of the next row, in the content as it is split
	Line    int64  `json:"line"`           // its line in the file; 0: the file has not been begun
	Before  int64  `json:"before"`         // lines of the files before
	Held    []int  `json:"held,omitempty"` // files whose last line was held back
}

// in reports whether the position is one of the walk.
func (at position) in(w *walk, p *plan) bool {
	return at.Reading == p.reading && at.File >= 0 && at.File < len(w.inputs) && at.Sum == w.upTo(at.File, p)
}

// upTo is the Sum of a position in a file. In a listing it is of all inputs. Of
// increments it is of those up to that file, so that the ones that come later,
// by time and by name, do not send a long walk back to its start.
func (w *walk) upTo(file int, p *plan) string {
	if p.Listing {
		return w.sum
	}
	return total(w.inputs[:file+1])
}

// A memory is what a finished walk leaves for the next one: Page.Sync, as JSON.
type memory struct {
	Reading string  `json:"reading"`
	Sum     string  `json:"sum,omitempty"`  // listing: of all inputs
	Read    digests `json:"read,omitempty"` // increments: of the files read, oldest first
	validity
}

// recall reads a sync token. One made with other options says nothing.
func recall(token, reading string) memory {
	var m memory
	if json.Unmarshal([]byte(token), &m) != nil || m.Reading != reading {
		return memory{Reading: reading}
	}
	return m
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// digests is a list of checksums, 12 bytes of each: enough to tell a million
// files apart with one chance in 10^17 of an error.
type digests []digest

type digest [12]byte

func short(sum [sha256.Size]byte) digest { return digest(sum[:12]) }

// MarshalText spells the list in 16 characters a checksum.
func (d digests) MarshalText() ([]byte, error) {
	var b []byte
	for _, x := range d {
		b = append(b, x[:]...)
	}
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what MarshalText wrote.
func (d *digests) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	*d = nil
	for c := range slices.Chunk(b, len(digest{})) {
		if len(c) == len(digest{}) {
			*d = append(*d, digest(c))
		}
	}
	return nil
}

// gone is how many checksums of files that are no longer there are kept, so
// that one that comes back is not read again.
const gone = 4096

// remember returns the list with those of read, without the oldest of the files
// that are not among present.
func (d digests) remember(read, present map[digest]bool, order []digest) digests {
	out := slices.Clone(d)
	for _, x := range order {
		if read[x] && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	absent := 0
	for _, x := range out {
		if !present[x] {
			absent++
		}
	}
	return slices.DeleteFunc(out, func(x digest) bool {
		if present[x] || absent <= gone {
			return false
		}
		absent--
		return true
	})
}
