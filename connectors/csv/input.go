package csv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An input is one file of a feed, or what was downloaded from its URL.
type input struct {
	name string // for people
	path string
	temp *download   // of a URL; then there is no path
	info fs.FileInfo // of the file when its sum was taken
	sum  [sha256.Size]byte
}

// list returns the files of a path, in the order of their names: one file, the
// matches of a glob, or the feeds in a folder. Their names are those of the
// path where there is one file, else relative to what they have in common.
func list(path string) ([]*input, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []*input{{name: path, path: path}}, nil
	case err == nil:
		return folder(path)
	case !strings.ContainsAny(path, "*?["):
		return nil, err // it names the path
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("path %s: %w", path, err)
	}
	root := path[:strings.IndexAny(path, "*?[")]
	root = root[:strings.LastIndexByte(filepath.ToSlash(root), '/')+1]
	var files []string
	for _, m := range matches {
		if hidden(m) && !hidden(path) {
			continue
		}
		if info, err := os.Stat(m); err != nil || !info.IsDir() {
			files = append(files, m)
		}
	}
	return inputs(filepath.Clean(root), files)
}

// hidden reports whether a path's last part is a name that listings leave out,
// as shells do.
func hidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

func folder(path string) ([]*input, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := strings.TrimSuffix(strings.ToLower(e.Name()), ".gz")
		switch filepath.Ext(name) {
		case ".csv", ".tsv", ".tab", ".psv", ".txt":
			if !hidden(name) && !e.IsDir() {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return inputs(path, files)
}

func inputs(root string, files []string) ([]*input, error) {
	slices.Sort(files)
	var ins []*input
	for _, f := range files {
		name, err := filepath.Rel(root, f)
		if err != nil {
			name = f
		}
		ins = append(ins, &input{name: name, path: f})
	}
	return ins, nil
}

// open returns the input's bytes as they are stored. The caller closes it.
func (in *input) open() (*os.File, error) {
	if in.temp != nil {
		return in.temp.file, nil
	}
	info, err := os.Stat(in.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", in.name)
	}
	return os.Open(in.path)
}

// close closes what open returned. A download stays.
func (in *input) close(f *os.File) {
	if in.temp == nil {
		f.Close()
	}
}

// digest takes the checksum of the input's content, decompressed.
func (in *input) digest(ctx context.Context) (sum [sha256.Size]byte, info fs.FileInfo, err error) {
	f, err := in.open()
	if err != nil {
		return sum, nil, err
	}
	defer in.close(f)
	if info, err = f.Stat(); err != nil {
		return sum, nil, err
	}
	r, _, err := unpack(f)
	if err == nil {
		h := sha256.New()
		if _, err = io.Copy(h, reader{ctx, r}); err == nil {
			h.Sum(sum[:0])
			return sum, info, nil
		}
	}
	return sum, nil, fmt.Errorf("read %s: %w", in.name, err)
}

// touched reports whether the file at the path is another one than that whose
// checksum was taken, or was written to since. False proves nothing.
func (in *input) touched() bool {
	if in.temp != nil {
		return false
	}
	now, err := os.Stat(in.path)
	return err != nil || !os.SameFile(now, in.info) || now.Size() != in.info.Size() || !now.ModTime().Equal(in.info.ModTime())
}

// total is the checksum of all inputs: of one, that of its content; of
// several, that of the list of theirs, in hexadecimal, a line each.
func total(ins []*input) string {
	if len(ins) == 1 {
		return "sha256:" + hex.EncodeToString(ins[0].sum[:])
	}
	h := sha256.New()
	for _, in := range ins {
		fmt.Fprintf(h, "%x\n", in.sum)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// A reader stops when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
