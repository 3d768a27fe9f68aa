package postgres

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncdhq/syncd/internal/store"
)

func TestFail(t *testing.T) {
	for code, want := range map[string]error{
		"40001": errAgain, "40P01": errAgain,
		"23505": store.ErrConflict,
		"53100": store.ErrFull, "25006": store.ErrFull,
		"42P05": ErrPooler, "26000": ErrPooler,
		"42P01": ErrSchema, "42703": ErrSchema,
		"57P01": store.ErrUnreachable, "57P03": store.ErrUnreachable, "57014": store.ErrUnreachable,
		"08006": store.ErrUnreachable, "53300": store.ErrUnreachable, "25P03": store.ErrUnreachable,
	} {
		err := fail(&pgconn.PgError{Code: code}, "try %s", "it")
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", code, err, want)
		}
		if _, refused := errors.AsType[*store.DataError](err); refused {
			t.Errorf("%s: got a DataError", code)
		}
	}
	for _, code := range []string{"22021", "22P02", "22003", "22P05", "23514", "23502", "54000", "54001"} {
		if _, refused := errors.AsType[*store.DataError](fail(&pgconn.PgError{Code: code}, "try")); !refused {
			t.Errorf("%s: got no DataError", code)
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, io.EOF, pgconn.ErrConnClosed, context.DeadlineExceeded, context.Canceled} {
		got := fail(err, "try")
		if !errors.Is(got, store.ErrUnreachable) || !errors.Is(got, err) {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if err := fail(nil, "try"); err != nil {
		t.Errorf("nil: got %v", err)
	}
	other := errors.New("a bug")
	if got := fail(other, "try"); !errors.Is(got, other) || errors.Is(got, store.ErrUnreachable) {
		t.Errorf("another error: got %v", got)
	}
	parameter := &pgconn.PgError{Code: "08P01", Message: "unsupported startup parameter: statement_timeout"}
	if got := fail(parameter, "open"); !errors.Is(got, ErrPooler) {
		t.Errorf("a refused startup parameter: got %v", got)
	}
}
