package recording

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"unicode/utf8"
)

// errPacked: what is in a compressed body can neither be seen nor replaced.
var errPacked = errors.New("it is compressed in a way that cannot be looked into")

// opaque is how other compressed files begin.
var opaque = [][]byte{
	[]byte("\x28\xb5\x2f\xfd"), []byte("\xfd7zXZ\x00"), []byte("BZh"), []byte("7z\xbc\xaf\x27\x1c"), []byte("\x04\x22\x4d\x18"), []byte("Rar!\x1a\x07"),
}

// unpackedLimit is how much of a compressed body is looked into.
const unpackedLimit = 64 << 20

// packed reports whether a body is a compressed file, which is kept as it is
// or not at all: one with a secret in it is an error, as is one that cannot be
// looked into.
func (s *Scrubber) packed(body []byte) (bool, error) {
	for _, magic := range opaque {
		if bytes.HasPrefix(body, magic) {
			return true, errPacked
		}
	}
	var err error
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(body)); err != nil {
			return true, errPacked
		}
		err = s.inside(r)
	case bytes.HasPrefix(body, []byte("PK\x03\x04")):
		err = s.archive(body)
	case len(body) > 2 && body[0] == 0x78 && !utf8.Valid(body):
		r, broken := zlib.NewReader(bytes.NewReader(body))
		if broken != nil {
			return false, nil // RFC 1950, section 2.2: its first two bytes are a sum
		}
		err = s.inside(r)
	default:
		return false, nil
	}
	if err == nil && s.known().holds(body) { // in the name of a file, say
		err = errUnscrubbed
	}
	return true, err
}

func (s *Scrubber) archive(body []byte) error {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return errPacked
	}
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			return errPacked
		}
		err = s.inside(r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// inside looks at what was unpacked. What is packed once more is refused.
func (s *Scrubber) inside(r io.Reader) error {
	unpacked, err := io.ReadAll(io.LimitReader(r, unpackedLimit+1))
	if err != nil || len(unpacked) > unpackedLimit {
		return errPacked
	}
	if bytes.HasPrefix(unpacked, []byte("\x1f\x8b")) || bytes.HasPrefix(unpacked, []byte("PK\x03\x04")) {
		return errPacked
	}
	scrubbed, err := s.Body(unpacked)
	if err == nil && !bytes.Equal(scrubbed, unpacked) {
		err = errUnscrubbed
	}
	return err
}
