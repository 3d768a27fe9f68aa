package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncdhq/syncd/internal/store"
)

// errAgain marks what a repetition of the whole transaction may cure: a
// serialization failure, a deadlock, a plan that a migration made stale.
var errAgain = errors.New("the transaction collided with another")

// ErrPooler: prepared statements got lost, as they do behind a pooler in
// transaction mode, or a startup parameter was refused, as poolers do.
var ErrPooler = errors.New("a pooler is between syncd and PostgreSQL: add pooler=transaction to the store's DSN (or pooler=session, if that is its mode)")

// ErrSchema: a table or column is not there.
var ErrSchema = errors.New("the schema is not up to date: run `syncd migrate`")

// fail gives an error of the driver the kind that callers tell apart, and says
// what was attempted. It returns nil for nil.
func fail(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if _, ok := errors.AsType[*store.DataError](err); ok || isKind(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if kind := kindOf(pg); kind != nil {
			return fmt.Errorf("%s: %w: %w", what, kind, err)
		}
		if refusesData(pg.Code) {
			return fmt.Errorf("%s: %w", what, &store.DataError{Err: err})
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	if isConnection(err) {
		return fmt.Errorf("%s: %w: %w", what, store.ErrUnreachable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isKind reports whether the error has its kind already.
func isKind(err error) bool {
	for _, kind := range []error{
		store.ErrLeaseLost, store.ErrConflict, store.ErrNotFound, store.ErrTickTaken,
		store.ErrFull, store.ErrUnreachable, errAgain, ErrPooler, ErrSchema,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// kindOf maps the SQLSTATEs of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func kindOf(pg *pgconn.PgError) error {
	switch pg.Code {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return errAgain
	case "0A000": // feature_not_supported, which this one is not
		if strings.Contains(pg.Message, "cached plan must not change result type") {
			return errAgain
		}
		return nil
	case "23505": // unique_violation
		return store.ErrConflict
	case "53100", "25006": // disk_full, read_only_sql_transaction
		return store.ErrFull
	case "42P05", "26000": // duplicate_prepared_statement, invalid_sql_statement_name
		return ErrPooler
	case "42P01", "42703", "3F000": // undefined_table, undefined_column, invalid_schema_name
		return ErrSchema
	case "57P01", "57P02", "57P03", "57P05", // the server shuts down, crashed, starts up, ends idle sessions
		"57014",          // query_canceled: the statement took too long
		"25P03", "55P03", // idle_in_transaction_session_timeout, lock_not_available
		"53000", "53200", "53300": // out of resources, memory, connections
		return store.ErrUnreachable
	case "58030": // io_error
		if strings.Contains(pg.Message, "No space left") || strings.Contains(pg.Message, "quota") {
			return store.ErrFull
		}
		return store.ErrUnreachable
	}
	if pg.Code == "08P01" && strings.Contains(pg.Message, "unsupported startup parameter") {
		return ErrPooler // https://www.pgbouncer.org/config.html#ignore_startup_parameters
	}
	if strings.HasPrefix(pg.Code, "08") { // connection exceptions
		return store.ErrUnreachable
	}
	return nil
}

// refusesData reports whether a SQLSTATE blames the rows: data exceptions
// (class 22), constraints (class 23; a duplicate key has its own kind) and
// values that are too big or too deeply nested (class 54).
func refusesData(code string) bool {
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54")
}

// isConnection reports whether the driver's error is about the way to the
// database or the time that it took.
func isConnection(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || pgconn.SafeToRetry(err)
}

// missing turns "no rows" into ErrNotFound.
func missing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}
