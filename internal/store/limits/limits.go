// Package limits holds what every store refuses and what every store makes fit,
// as functions of the rows alone.
//
// PostgreSQL refuses by itself: text with a NUL or bytes that are not UTF-8,
// JSON that is not JSON, keys beyond their CHECK. The other stores accept all
// of that, so they ask here first, and data that runs on one store runs on all.
package limits

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/syncdhq/syncd/internal/rawjson"
	"github.com/syncdhq/syncd/internal/store"
)

// The most bytes of each part of a key, as in the CHECKs of the migrations.
// PostgreSQL's index holds no key above 2,704 bytes.
const (
	MaxUser       = 255
	MaxProvider   = 128
	MaxStream     = 255
	MaxPart       = 1200
	MaxExternalID = 1200
)

// User reports, as a *store.DataError, why nobody can have this id.
func User(id string) error { return text("user", id, 1, MaxUser) }

// Key reports, as a *store.DataError, why a source can't have this key.
func Key(k store.Key) error {
	if err := User(k.User); err != nil {
		return err
	}
	return text("provider", k.Provider, 1, MaxProvider)
}

// ID reports, as a *store.DataError, why no record can have this external id.
func ID(id string) error { return text("external id", id, 1, MaxExternalID) }

// Row reports, as a *store.DataError, why a record can't be stored.
func Row(r store.Row) error {
	if err := ID(r.ID); err != nil {
		return err
	}
	if err := text("stream", r.Stream, 1, MaxStream); err != nil {
		return err
	}
	if r.Data == nil {
		return nil
	}
	if err := rawjson.Check(r.Data, rawjson.MaxDepth); err != nil {
		return refuse(fmt.Errorf("data of record %q: %w", r.ID, err))
	}
	return nil
}

// Cursor reports, as a *store.DataError, why a cursor can't be stored.
func Cursor(c store.Cursor) error {
	if err := text("stream", c.Stream, 1, MaxStream); err != nil {
		return err
	}
	if err := text("part", c.Part, 0, MaxPart); err != nil {
		return err
	}
	return text("cursor state", c.State, 0, -1)
}

// Spec reports, as a *store.DataError, why a source can't be stored.
func Spec(s store.Spec) error {
	if err := Key(s.Key); err != nil {
		return err
	}
	for _, t := range []struct{ name, value string }{
		{"connector", s.Connector}, {"schedule", s.Schedule}, {"schedule of full walks", s.Full}, {"declaration", s.Declared},
	} {
		if err := text(t.name, t.value, 0, -1); err != nil {
			return fmt.Errorf("source %s: %w", s.Key, err)
		}
	}
	return nil
}

// Credential reports, as a *store.DataError, why a credential can't be stored.
func Credential(c store.Credential) error {
	if err := Key(c.Key); err != nil {
		return err
	}
	if len(c.Sealed) == 0 {
		return refuse(fmt.Errorf("there is nothing sealed"))
	}
	if err := text("key's id", c.KeyID, 1, 64); err != nil {
		return err
	}
	for _, t := range []struct{ name, value string }{{"kind", c.Kind}, {"identity", c.Identity}, {"refusal", c.Refused}} {
		if err := text(t.name, t.value, 0, -1); err != nil {
			return err
		}
	}
	return nil
}

// Event reports, as a *store.DataError, why an event can't be stored.
func Event(e store.Event) error {
	if err := Key(e.Key); err != nil {
		return err
	}
	return text("kind", e.Kind, 1, -1)
}

// Memo reports, as a *store.DataError, why a memo can't be stored.
func Memo(m store.Memo) error {
	for _, t := range []struct {
		name, value string
		least, most int
	}{{"kind", m.Kind, 1, 64}, {"id", m.ID, 1, MaxUser}, {"user", m.User, 0, MaxUser}, {"memo", m.Body, 0, -1}} {
		if err := text(t.name, t.value, t.least, t.most); err != nil {
			return err
		}
	}
	return nil
}

// Account reports, as a *store.DataError, why an account's id can't be stored.
func Account(id string) error { return text("account", id, 0, -1) }

// Reason reports, as a *store.DataError, why a source can't be paused for it.
func Reason(reason string) error { return text("reason", reason, 1, -1) }

// Text makes a text for people storable: a NUL and each run of bytes that are
// not UTF-8 become U+FFFD. An error that quotes a provider must not keep a run
// from being closed.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Reject cuts a reject to what is kept of it, and says how much there was.
func Reject(r store.Reject) store.Reject {
	r.RawSize = max(r.RawSize, int64(len(r.Raw)))
	if len(r.Raw) > store.MaxRaw {
		r.Raw = r.Raw[:store.MaxRaw]
	}
	return r
}

// text checks one text column; most < 0 is no limit.
func text(name, value string, least, most int) error {
	switch {
	case len(value) < least:
		return refuse(fmt.Errorf("the %s is empty", name))
	case most >= 0 && len(value) > most:
		return refuse(fmt.Errorf("the %s %s is %d bytes long, at most %d are stored", name, short(value), len(value), most))
	case strings.IndexByte(value, 0) >= 0:
		return refuse(fmt.Errorf("the %s %s has a NUL", name, short(value)))
	case !utf8.ValidString(value):
		return refuse(fmt.Errorf("the %s %s is not valid UTF-8", name, short(value)))
	}
	return nil
}

func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q...", s[:40])
	}
	return fmt.Sprintf("%q", s)
}

func refuse(err error) error { return &store.DataError{Err: err} }
