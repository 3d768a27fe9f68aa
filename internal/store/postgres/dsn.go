package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The limits on one statement, unless the DSN sets them, and what the client
// waits on top before it gives a connection up.
const (
	statementTimeout = time.Minute
	idleTimeout      = time.Minute // inside a transaction: a frozen daemon's locks end with it
	grace            = 10 * time.Second
)

// parse reads a DSN. Its errors never quote it, because it may hold a password.
func parse(dsn string) (config *pgxpool.Config, pooled bool, err error) {
	if isURL(dsn) {
		u, err := url.Parse(dsn)
		if err != nil || u.Fragment != "" {
			return nil, false, errors.New("read the store's DSN: it is not a URL (in a password, write /, @, #, ? and % as %2F, %40, %23, %3F and %25)")
		}
	}
	config, err = pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, false, fmt.Errorf("read the store's DSN: %s", withoutDSN(err))
	}
	params := config.ConnConfig.RuntimeParams
	mode := params["pooler"]
	delete(params, "pooler")
	// The server ends what takes too long, whatever became of the client.
	switch mode {
	case "":
		setDefault(params, "statement_timeout", milliseconds(statementTimeout))
		setDefault(params, "idle_in_transaction_session_timeout", milliseconds(idleTimeout))
	case "session": // a pooler takes no such startup parameters
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET statement_timeout = "+milliseconds(statementTimeout)+
				"; SET idle_in_transaction_session_timeout = "+milliseconds(idleTimeout))
			return err
		}
	case "transaction":
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		config.ConnConfig.StatementCacheCapacity = 0
		pooled = true
	default:
		return nil, false, fmt.Errorf("read the store's DSN: pooler=%s is not known; it is transaction or session", mode)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, 10)
	}
	setDefault(params, "application_name", "syncd")
	return config, pooled, nil
}

func isURL(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// withoutDSN is the driver's error about a DSN without the DSN that it quotes,
// and without the texts that may quote pieces of it.
func withoutDSN(err error) string {
	text := err.Error()
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		if _, after, found := strings.Cut(text, "`: "); found && !strings.Contains(after, "`") {
			text = after
		} else {
			return "it is neither a URL nor a list of key=value pairs"
		}
	}
	if strings.Contains(text, "keyword/value") || strings.Contains(text, "URL") {
		return "it is neither a URL nor a list of key=value pairs"
	}
	return text
}

func setDefault(params map[string]string, name, value string) {
	if _, ok := params[name]; !ok {
		params[name] = value
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
