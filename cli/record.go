package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/recording"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/vault"
)

// A tape is the recording that a run by hand makes. A nil one records nothing.
type tape struct {
	name  string
	file  *recording.File
	rec   *recording.Recorder
	fresh func() error // reports a secret that came into being during the run; nil: none can
}

// newTape makes ready to record what the fleet asks for the source. All that can
// be wrong with the file's place is found here, before anything is asked.
func newTape(ctx context.Context, f *fleet, src *config.Source, name string, replace bool) (*tape, error) {
	if name == "" {
		return nil, nil
	}
	secrets := make(map[string]string, len(src.Credentials))
	for key, secret := range src.Credentials {
		secrets[key] = secret.Reveal()
	}
	fresh, err := f.accountSecrets(ctx, src, secrets)
	if err != nil {
		return nil, err
	}
	rec, err := recording.NewRecorder(or(f.baseURL(src.Of), syncd.NoBase), secrets)
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
	return &tape{name, file, rec, fresh}, nil
}

// accountSecrets adds the tokens of a connected account to the secrets that are
// not to get into a recording. What it returns reports whether others have come
// in their place since.
func (f *fleet) accountSecrets(ctx context.Context, src *config.Source, secrets map[string]string) (fresh func() error, err error) {
	signed, err := f.signing(ctx, src, "")
	if err != nil || signed.tokens == nil && src.Declared == "" || wayOf(src.Of) == byNobody {
		return nil, err
	}
	if signed.tokens != nil {
		if _, err := signed.tokens.Token(ctx); err != nil { // refreshes one that is about to end
			return nil, err
		}
	}
	book, err := f.accounts(ctx)
	if err != nil {
		return nil, err
	}
	now, err := book.Tokens(ctx, keyOf(src))
	if err != nil {
		return nil, err
	}
	for i, secret := range now {
		secrets[fmt.Sprint("token ", i)] = secret.Reveal()
	}
	return func() error {
		then, err := book.Tokens(context.WithoutCancel(ctx), keyOf(src))
		if err == nil && !slices.EqualFunc(now, then, vault.Secret.Equal) {
			err = errors.New("the account's token was refreshed during the run, and the answers may hold either: run it once more")
		}
		return err
	}, nil
}

// end writes what was recorded, of a run that failed as well, and notes it in
// the run's result. A recording without an exchange is not written.
func (t *tape) end(res *run.Result) error {
	if t == nil {
		return nil
	}
	if t.fresh != nil {
		if err := t.fresh(); err != nil {
			t.file.Drop()
			return fmt.Errorf("nothing was recorded: %w", err)
		}
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
