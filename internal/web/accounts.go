package web

import (
	"context"
	"io"
	"time"

	"github.com/syncdhq/syncd/internal/connect"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// Accounts is what the API and the pages for users do. Errors that are the
// caller's to mend are *Problems.
type Accounts interface {
	// Sources returns the sources that match, by user and provider.
	Sources(ctx context.Context, f store.SourceFilter) ([]Source, error)
	// Declare adds a source or changes one that was added; added tells which.
	// Keys that a user gave are kept with it, if the provider takes them; nil is none.
	Declare(ctx context.Context, key store.Key, declaration string, keys map[string]vault.Secret) (added bool, err error)
	// Give keeps the keys that a user gave, if the provider takes them.
	Give(ctx context.Context, key store.Key, keys map[string]vault.Secret) error
	// Pause and Resume give and take a reason.
	Pause(ctx context.Context, key store.Key, reason string) error
	Resume(ctx context.Context, key store.Key, reason string) error
	// Sync makes a source due now.
	Sync(ctx context.Context, key store.Key) error
	// Confirm says what is to become of the records of the account before.
	Confirm(ctx context.Context, key store.Key, purge bool) error
	// Disconnect gives an account back, and says how that went. purge is nil
	// for what the configuration says.
	Disconnect(ctx context.Context, key store.Key, purge *bool) (said string, err error)
	// Remove forgets a source that was added.
	Remove(ctx context.Context, key store.Key, purge bool) (said string, err error)
	// Events returns what happened to accounts, newest first.
	Events(ctx context.Context, f store.EventFilter) ([]store.Event, error)
	// Erase removes every trace of a user and returns the receipt, a JSON value.
	// rewrite is whether an SQLite file is written anew.
	Erase(ctx context.Context, user string, rewrite bool) (receipt any, err error)
	// Export writes all that there is of a user.
	Export(ctx context.Context, user string, w io.Writer) error

	// Way says how a session's user connects.
	Way(ctx context.Context, session connect.Session) (Way, error)
	// Begin checks a session before there is one.
	Begin(ctx context.Context, key store.Key, declaration, returnTo string) error
	// AuthURL returns where the user consents.
	AuthURL(ctx context.Context, session connect.Session, state string, verifier vault.Secret) (string, error)
	// Exchange turns the code that the user came back with into an account.
	Exchange(ctx context.Context, session connect.Session, code string, verifier vault.Secret) error
	// GiveIn is Give for a session.
	GiveIn(ctx context.Context, session connect.Session, keys map[string]vault.Secret) error
}

// A Way is how users of a provider connect.
type Way struct {
	Provider string   // as it is to be called
	Consent  bool     // on its page
	Fields   []string // the keys that they give otherwise
}

// A Source is a source for programs.
type Source struct {
	User      string     `json:"user"`
	Provider  string     `json:"provider"`
	Connector string     `json:"connector"`
	Schedule  string     `json:"schedule"`
	Added     bool       `json:"added"`             // at run time: it is not in the configuration
	Account   string     `json:"account,omitempty"` // whose records these are, by the provider's id
	Paused    []string   `json:"paused"`
	NextAt    *time.Time `json:"next_at"`
	DueAt     *time.Time `json:"due_at"`
	FullAt    *time.Time `json:"full_at,omitempty"`
	Resume    string     `json:"resume,omitempty"` // why it is due other than by its schedule
	Failures  int        `json:"failures"`
	Owner     string     `json:"owner,omitempty"`
	LastRun   string     `json:"last_run,omitempty"`
	LastState string     `json:"last_state,omitempty"`
	LastDone  *time.Time `json:"last_done_at,omitempty"`
	Rejects   int64      `json:"open_rejects"`
	CreatedAt time.Time  `json:"created_at"`
}

// SourceOf returns a row of the store for programs.
func SourceOf(s store.Source) Source {
	return Source{
		User: s.User, Provider: s.Provider, Connector: s.Connector, Schedule: s.Schedule,
		Added: s.Declared != "", Account: s.Account, Paused: append([]string{}, s.Paused...),
		NextAt: maybe(s.NextAt), DueAt: maybe(s.DueAt), FullAt: maybe(s.FullAt), Resume: s.Resume, Failures: s.Failures, Owner: s.Owner,
		LastRun: s.LastRunID, LastState: s.LastState, LastDone: maybe(s.LastDoneAt), Rejects: s.OpenRejects, CreatedAt: s.CreatedAt,
	}
}

// maybe is a time for JSON: null where there is none.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
