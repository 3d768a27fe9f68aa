package csv

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

// A content is the bytes of one input as they are split: the file itself, or a
// copy where it had to be decompressed or decoded.
type content struct {
	file    *os.File
	close   func()
	start   int64 // past the byte order mark
	end     int64
	charset charset // of what is in file
	newline byte
}

// content opens the input for reading at any offset. A copy of other bytes than
// those whose checksum was taken is errChanged.
func (in *input) content(ctx context.Context, declared charset) (*content, error) {
	f, err := in.open()
	if err != nil {
		return nil, err
	}
	c := &content{file: f, close: func() { in.close(f) }}
	if err := c.prepare(ctx, in, declared); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *content) prepare(ctx context.Context, in *input, declared charset) error {
	r, packed, err := unpack(c.file)
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(r, chunk)
	head, err := buffered.Peek(4096)
	if err != nil && err != io.EOF {
		return err
	}
	cs, mark, err := sniff(head, declared)
	if err != nil {
		return err
	}
	c.charset, c.start = cs, int64(mark)
	if packed || cs.whole != nil {
		if err := c.copy(ctx, in, buffered, mark); err != nil {
			return err
		}
	}
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	c.end = info.Size()
	c.newline, err = newline(ctx, io.NewSectionReader(c.file, 0, c.end))
	return err
}

// copy puts a decompressed and decoded copy in the place of the file.
func (c *content) copy(ctx context.Context, in *input, r io.Reader, mark int) error {
	temp, remove, err := spool()
	if err != nil {
		return err
	}
	h := sha256.New()
	r = io.TeeReader(reader{ctx, r}, h)
	if _, err = io.CopyN(io.Discard, r, int64(mark)); err == nil {
		decoded := r
		if c.charset.whole != nil {
			decoded = c.charset.whole(r)
		}
		if _, err = io.Copy(temp, decoded); err == nil && in.info != nil && [sha256.Size]byte(h.Sum(nil)) != in.sum {
			err = errChanged
		}
	}
	if err != nil {
		remove()
		return err
	}
	c.close()
	c.file, c.close, c.start = temp, remove, 0
	return nil
}

// unpack returns the bytes of a file, decompressed if they begin as those of
// gzip do (RFC 1952, 2.3.1), which no text does.
func unpack(f io.ReaderAt) (r io.Reader, packed bool, err error) {
	const endless = 1<<63 - 1
	magic := make([]byte, 3)
	n, err := f.ReadAt(magic, 0)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	r = io.NewSectionReader(f, 0, endless)
	if !bytes.Equal(magic[:n], []byte{0x1f, 0x8b, 8}) {
		return r, false, nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(r, chunk))
	if err != nil {
		return nil, false, fmt.Errorf("gzip: %w", err)
	}
	return z, true, nil
}

// newline returns what ends the lines: LF if there is any, else CR.
func newline(ctx context.Context, r io.Reader) (byte, error) {
	buf := make([]byte, chunk)
	cr := false
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(buf)
		if bytes.IndexByte(buf[:n], '\n') >= 0 {
			return '\n', nil
		}
		cr = cr || bytes.IndexByte(buf[:n], '\r') >= 0
		switch {
		case err == io.EOF && cr:
			return '\r', nil
		case err == io.EOF:
			return '\n', nil
		case err != nil:
			return 0, err
		}
	}
}

// spool returns an empty file that is gone when it is closed, or when the
// program ends where the system lets open files be removed.
func spool() (f *os.File, remove func(), err error) {
	f, err = os.CreateTemp("", "syncd-feed-*")
	if err != nil {
		return nil, nil, err
	}
	name := f.Name()
	unlinked := os.Remove(name) == nil
	return f, func() {
		f.Close()
		if !unlinked {
			os.Remove(name)
		}
	}, nil
}
