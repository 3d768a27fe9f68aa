package recording

import "github.com/syncdhq/syncd/internal/outfile"

// A File is where a recording will be.
type File = outfile.File

// Create makes room for a recording. A file that is there already is an error
// (fs.ErrExist) unless it may be replaced.
func Create(name string, replace bool) (*File, error) {
	return outfile.Create("record", name, replace)
}
