package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/store"
)

// held selects the source's row while the lease ($1 to $3) holds by the
// database's clock at the moment of the look.
const held = "FROM sources WHERE " + ofSource + " AND lease_token = $3 AND lease_until > clock_timestamp()"

// beginStatement is the first statement of a transaction under a lease: it
// locks the source's row, and returns no row if the lease does not hold.
//
// It also sets, for this transaction, that a plan never scans a whole table:
// a plan that was made while a table was small would be kept as it grows.
// Behind a pooler the time limits are set here too, as a session's settings
// may be another's.
func beginStatement(pooled bool) string {
	settings := [][2]string{{"enable_seqscan", "off"}, {"jit", "off"}}
	if pooled {
		settings = append(settings,
			[2]string{"statement_timeout", milliseconds(statementTimeout)},
			[2]string{"idle_in_transaction_session_timeout", milliseconds(idleTimeout)})
	}
	var calls []string
	for _, s := range settings {
		calls = append(calls, "set_config('"+s[0]+"', '"+s[1]+"', true)")
	}
	return "SELECT " + strings.Join(calls, ", ") + " " + held + " FOR UPDATE"
}

// stillHeld fails with division_by_zero, and with it the COMMIT behind it, if
// the lease has run out meanwhile.
const stillHeld = "SELECT 1 / count(*) " + held

func leaseArgs(l store.Lease) []any { return []any{l.User, l.Provider, l.Token} }

// oneRow reads the answer to beginStatement.
func oneRow(answer pgx.Rows) error {
	if !answer.Next() {
		answer.Close()
		if err := answer.Err(); err != nil {
			return err
		}
		return store.ErrLeaseLost
	}
	return nil
}
