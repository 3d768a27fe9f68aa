package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/recording"
	"github.com/syncdhq/syncd/internal/run"
)

// A tape is the recording that a run by hand makes. A nil one records nothing.
type tape struct {
	name string
	file *recording.File
	rec  *recording.Recorder
}

// newTape makes ready to record what the fleet asks for the source. All that can
// be wrong with the file's place is found here, before anything is asked.
func newTape(f *fleet, src *config.Source, name string, replace bool) (*tape, error) {
	if name == "" {
		return nil, nil
	}
	secrets := make(map[string]string, len(src.Credentials))
	for key, secret := range src.Credentials {
		secrets[key] = secret.Reveal()
	}
	rec, err := recording.NewRecorder(or(f.baseURL(src.Of), noBase), secrets)
	if err != nil {
		return nil, err
	}
	file, err := recording.Create(name, replace)
	if errors.Is(err, fs.ErrExist) {
		return nil, usageError{fmt.Errorf("%w (--force overwrites it)", err)}
	}
	if err != nil {
		return nil, err
	}
	f.tap = rec.Around
	return &tape{name, file, rec}, nil
}

// end writes what was recorded, of a run that failed as well, and notes it in
// the run's result. A recording without an exchange is not written.
func (t *tape) end(res *run.Result) error {
	if t == nil {
		return nil
	}
	n := t.rec.Len()
	if n == 0 {
		t.file.Drop()
		res.Notes = append(res.Notes, fmt.Sprintf("nothing was asked over HTTP: %s was not written", t.name))
		return nil
	}
	if err := t.file.Write(t.rec.Write); err != nil {
		return err
	}
	until := ""
	if res.Err != nil {
		until = ", up to where the run failed"
	}
	res.Notes = append(res.Notes, fmt.Sprintf("recorded %d exchanges in %s%s: read it before you share it", n, t.name, until))
	if note := t.rec.Note(); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return nil
}

// drop removes what there is of a recording that was not written.
func (t *tape) drop() {
	if t != nil {
		t.file.Drop()
	}
}

// worse returns the error of a run and that of its recording. That records were
// rejected is said already.
func worse(ran, recorded error) error {
	switch {
	case recorded == nil:
		return ran
	case errors.Is(ran, errRejected):
		return recorded
	}
	return errors.Join(ran, recorded)
}

// tapped returns what a source's client asks through: above the transport,
// where requests hold no credentials yet.
func (f *fleet) tapped(rt http.RoundTripper) http.RoundTripper {
	if f.tap == nil {
		return rt
	}
	return f.tap(rt)
}
