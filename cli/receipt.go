package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// A receipt says what became of a user's data.
type receipt struct {
	User     string        `json:"user"`
	Complete bool          `json:"complete"`
	Error    string        `json:"error,omitempty"` // why it is not
	Began    time.Time     `json:"began_at"`
	Ended    time.Time     `json:"ended_at"`
	By       string        `json:"by"`
	Store    string        `json:"store"`
	Removed  []store.Trace `json:"removed"` // by this call
	Tokens   []givenBack   `json:"tokens"`
	Left     []string      `json:"not_removed"`
}

// A givenBack is what became of a credential at its provider.
type givenBack struct {
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Revoked  bool   `json:"revoked"`
	Said     string `json:"said"`
}

// notRemoved lists what cannot be removed from here: first what is of this user
// and this store, then what is so everywhere.
func notRemoved(r *receipt, left []string) []string {
	var at []string
	for _, t := range r.Removed {
		if name, _, _ := strings.Cut(t.Provider, "@"); name != "" && !slices.Contains(at, name) {
			at = append(at, name)
		}
	}
	var out []string
	if len(at) > 0 {
		out = append(out, "the providers' own copies: "+strings.Join(at, ", "))
	}
	for _, t := range r.Tokens {
		if !t.Revoked {
			out = append(out, fmt.Sprintf("access that was granted at %s: %s", t.Provider, t.Said))
		}
	}
	for _, l := range left {
		out = append(out, "bytes in "+l)
	}
	return append(out,
		"backups and replicas of the database, and archives of its logs",
		"log lines of syncd, and of what runs before it, which name users",
		"files that sources were read from, recordings (syncd sync --record), exports (syncd users export) and receipts such as this",
		"what applications have copied out of the tables or were sent",
	)
}

// print writes the receipt for people.
func (r *receipt) print(w io.Writer) {
	if r.Complete {
		fmt.Fprintf(w, "nothing is left of %s in %s\n", oneLine(r.User), oneLine(r.Store))
	} else {
		fmt.Fprintf(w, "%s is not erased whole: %s\n", oneLine(r.User), block(r.Error, "  "))
	}
	fmt.Fprintf(w, "from %s to %s by %s\n\n", r.Began.Format(time.RFC3339), r.Ended.Format(time.RFC3339), oneLine(r.By))
	var rows [][]string
	for _, t := range r.Removed {
		rows = append(rows, []string{or(t.Provider, "-"), t.Table, fmt.Sprint(t.Rows)})
	}
	tabulate(w, []string{"PROVIDER", "TABLE", "ROWS REMOVED"}, rows)
	if len(r.Tokens) > 0 {
		fmt.Fprintln(w, "\nWhat became of credentials:")
	}
	for _, t := range r.Tokens {
		fmt.Fprintf(w, "  %s: %s\n", oneLine(t.Provider), oneLine(t.Said))
	}
	if len(r.Left) > 0 {
		fmt.Fprintln(w, "\nNot removed, and to be looked after elsewhere:")
	}
	for _, l := range r.Left {
		fmt.Fprintf(w, "  - %s\n", oneLine(l))
	}
}
