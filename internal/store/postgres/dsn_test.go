package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// No error about a DSN quotes its password, or a piece of it that a mistake
// made look like something else.
func TestOpenHidesThePassword(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:hunter2hunter2@127.0.0.1:1/db?connect_timeout=2",
		"postgres://u:hunter2hunter2@127.0.0.1:notaport/db",
		"postgres://u:hunter2hunter2@127.0.0.1:1/db?sslmode=odd",
		"postgres://u:hunter2hunter2@127.0.0.1:1/db?pooler=odd",
		"postgres://u:hunter2/hunter2@127.0.0.1/db",
		"postgres://u:9#hunter2hunter2@127.0.0.1/db",
		"postgres://u:hunter2%hunter2@127.0.0.1/db",
		"postgres://u:hunter2 hunter2@127.0.0.1/db",
		"host=127.0.0.1 port=1 user=u password=hunter2hunter2 connect_timeout=2",
		"host=127.0.0.1 port=odd user=u password=hunter2hunter2",
		"host=127.0.0.1 user=u password='hunter2hunter2",
		"host=127.0.0.1 user=u password=hunter2 hunter2",
		"u:hunter2hunter2@127.0.0.1/db",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := Open(ctx, dsn)
		cancel()
		switch {
		case err == nil:
			t.Errorf("%s: got no error", dsn)
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error tells it: %v", dsn, err)
		}
	}
}

func TestParse(t *testing.T) {
	direct, pooled, err := parse("postgres://u:p@h/db")
	if err != nil || pooled {
		t.Fatalf("got pooled %v, error %v", pooled, err)
	}
	for name, want := range map[string]string{
		"statement_timeout": "60000", "idle_in_transaction_session_timeout": "60000", "application_name": "syncd",
	} {
		if got := direct.ConnConfig.RuntimeParams[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	own, _, err := parse("postgres://u:p@h/db?statement_timeout=7&application_name=me&pool_max_conns=3")
	if err != nil {
		t.Fatal(err)
	}
	if got := own.ConnConfig.RuntimeParams; got["statement_timeout"] != "7" || got["application_name"] != "me" || own.MaxConns != 3 {
		t.Errorf("the DSN's own settings: got %v, %d connections", got, own.MaxConns)
	}
	for _, dsn := range []string{"postgres://u:p@h/db?pooler=transaction", "host=h user=u pooler=transaction"} {
		config, pooled, err := parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		params := config.ConnConfig.RuntimeParams
		_, sent := params["pooler"]
		_, timeout := params["statement_timeout"]
		if !pooled || sent || timeout || config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheDescribe {
			t.Errorf("%s: got pooled %v, mode %v, parameters %v", dsn, pooled, config.ConnConfig.DefaultQueryExecMode, params)
		}
	}
}
