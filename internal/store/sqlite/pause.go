package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// withReason returns the set of reasons, as it is stored, with one more, and
// whether it was not there.
func withReason(paused, reason string) (string, bool, error) {
	reasons, err := parsePaused(paused)
	at, found := slices.BinarySearch(reasons, reason)
	if err != nil || found {
		return paused, false, err
	}
	paused, err = formatPaused(slices.Insert(reasons, at, reason))
	return paused, true, err
}

// withoutReason undoes withReason.
func withoutReason(paused, reason string) (string, bool, error) {
	reasons, err := parsePaused(paused)
	at, found := slices.BinarySearch(reasons, reason)
	if err != nil || !found {
		return paused, false, err
	}
	paused, err = formatPaused(slices.Delete(reasons, at, at+1))
	return paused, true, err
}

// parsePaused reads the column paused; no reasons are nil.
func parsePaused(text string) ([]string, error) {
	if text == "[]" {
		return nil, nil
	}
	var reasons []string
	err := json.Unmarshal([]byte(text), &reasons)
	return reasons, err
}

func formatPaused(reasons []string) (string, error) {
	text, err := json.Marshal(reasons) // an empty list is [], as it is not nil
	return string(text), err
}

func setPaused(ctx context.Context, w *writer, key store.Key, paused string) error {
	_, err := w.exec(ctx, "UPDATE sources SET paused = ? WHERE "+ofSource, paused, key.User, key.Provider)
	return err
}

// Pause implements store.Queue.
func (s *Store) Pause(ctx context.Context, key store.Key, reason string) ([]string, error) {
	if err := limits.Reason(reason); err != nil {
		return nil, err
	}
	return s.changePaused(ctx, key, func(paused string) (string, bool, error) { return withReason(paused, reason) })
}

// Resume implements store.Queue.
func (s *Store) Resume(ctx context.Context, key store.Key, reason string) ([]string, error) {
	return s.changePaused(ctx, key, func(paused string) (string, bool, error) {
		if reason == "" {
			return "[]", paused != "[]", nil
		}
		return withoutReason(paused, reason)
	})
}

// SetAccount implements store.Queue.
func (s *Store) SetAccount(ctx context.Context, key store.Key, account string) error {
	if err := limits.Account(account); err != nil {
		return err
	}
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, "UPDATE sources SET account = ? WHERE "+ofSource, account, key.User, key.Provider)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return fail(err, "set the account of source %s", key)
	})
}

func (s *Store) changePaused(ctx context.Context, key store.Key, f func(paused string) (string, bool, error)) ([]string, error) {
	var left []string
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		var after string
		err := repause(ctx, w, key, func(paused string) (string, bool, error) {
			var changed bool
			var err error
			after, changed, err = f(paused)
			return after, changed, err
		})
		if err == nil {
			left, err = parsePaused(after)
		}
		return fail(err, "change why source %s is paused", key)
	})
	return left, err
}

// repause changes the reasons of a source, as they are stored, by f, which
// reports whether it changed them.
func repause(ctx context.Context, w *writer, key store.Key, f func(paused string) (string, bool, error)) error {
	var paused string
	found, err := w.row(ctx, "SELECT paused FROM sources WHERE "+ofSource, []any{key.User, key.Provider}, &paused)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	paused, changed, err := f(paused)
	if err != nil || !changed {
		return err
	}
	return setPaused(ctx, w, key, paused)
}
