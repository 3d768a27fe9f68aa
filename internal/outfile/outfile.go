// Package outfile is files that are written whole or not at all, and that only
// their owner can read.
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A File is where a file will be. Until then there is a temporary file beside
// it, so that a folder that cannot be written, or a full disk, is found before
// anything else is done.
type File struct {
	what    string // is done with it, for errors: "record"
	name    string
	replace bool
	temp    *os.File
}

// reserve is how much room there must be at first: not for the content, whose
// size nobody knows, but a disk that is full has none for this.
const reserve = 64 << 10

// Create makes room for a file. One that is there already is an error
// (fs.ErrExist) unless it may be replaced. Errors begin with what is done.
func Create(what, name string, replace bool) (*File, error) {
	switch info, err := os.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %s: it is there already and no file", what, name)
	case err == nil && !replace:
		return nil, fmt.Errorf("%s %s: %w", what, name, fs.ErrExist)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp") // of mode 0600
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, name, err)
	}
	f := &File{what, name, replace, temp}
	_, err = temp.Write(make([]byte, reserve))
	err = errors.Join(err, temp.Sync(), temp.Truncate(0))
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Drop()
		return nil, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return f, nil
}

// Write has fill write the file and puts it in its place: all of it, or
// nothing. Either way, f is used up.
func (f *File) Write(fill func(io.Writer) error) error {
	defer f.Drop()
	w := bufio.NewWriterSize(f.temp, 1<<16)
	if err := fill(w); err != nil {
		return fmt.Errorf("%s %s: nothing was written: %w", f.what, f.name, err)
	}
	if err := errors.Join(w.Flush(), f.temp.Sync()); err != nil {
		return fmt.Errorf("%s %s: %w", f.what, f.name, err)
	}
	if err := f.temp.Close(); err != nil {
		return fmt.Errorf("%s %s: %w", f.what, f.name, err)
	}
	if err := f.place(); err != nil {
		return fmt.Errorf("%s %s: %w", f.what, f.name, err)
	}
	return syncFolder(filepath.Dir(f.name))
}

// place moves the temporary file. What came there meanwhile is not overwritten,
// where the file system has links; elsewhere it is looked for once more.
func (f *File) place() error {
	if !f.replace {
		err := os.Link(f.temp.Name(), f.name)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err := os.Lstat(f.name); err == nil {
			return fs.ErrExist
		}
	}
	return os.Rename(f.temp.Name(), f.name)
}

// Drop removes what there is of a file that was not written. It may be called
// at any time.
func (f *File) Drop() {
	f.temp.Close()
	os.Remove(f.temp.Name())
}

// syncFolder makes the name as durable as the file; Windows has no way to.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
