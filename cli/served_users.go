package cli

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/web"
)

// known returns what there is about a user of whom there is something.
func (s served) known(ctx context.Context, user string) ([]store.Trace, error) {
	found, err := s.store.Traces(ctx, user)
	if err == nil && len(found) == 0 {
		err = web.Fault(http.StatusNotFound, "no_such_user", "there is nothing of this user")
	}
	return found, problem(err)
}

// Erase implements web.Accounts.
func (s served) Erase(ctx context.Context, user string, rewrite bool) (any, error) {
	if err := declaredHere(s.config(), user); err != nil {
		return nil, problem(errConfigured)
	}
	if _, err := s.known(ctx, user); err != nil {
		return nil, err
	}
	// What was begun is ended: half an erasure helps nobody.
	r, err := s.erase(context.WithoutCancel(ctx), user, rewrite)
	if _, running := errors.AsType[*store.LeasedError](err); r == nil || running {
		return nil, problem(err)
	}
	return r, err
}

// Export implements web.Accounts.
func (s served) Export(ctx context.Context, user string, w io.Writer) error {
	found, err := s.known(ctx, user)
	if err != nil {
		return err
	}
	return newExport(s.store, user, found).write(ctx, w)
}
