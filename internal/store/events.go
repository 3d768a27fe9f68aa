package store

import (
	"context"
	"time"
)

// Events is the log of what happened to the accounts of users.
type Events interface {
	// Tell adds events to the log.
	Tell(ctx context.Context, events ...Event) error
	// Events returns the events that match, newest first.
	Events(ctx context.Context, f EventFilter) ([]Event, error)
}

// Kinds of events.
const (
	EventConnected    = "connected"         // a user connected an account, or connected it again
	EventDisconnected = "disconnected"      // its credential was given back
	EventNeedsReauth  = "needs_reauth"      // only its user can bring it back
	EventScope        = "scope_shrank"      // the provider allows less than was asked for
	EventAccount      = "account_changed"   // what was connected is another account than the records are of
	EventConfirmed    = "account_confirmed" // somebody said what is to become of that
)

// An Event is a row of `events`.
type Event struct {
	Seq int64 // given by the store: newer events have higher ones
	Key
	Kind   string
	Detail string    // for people
	At     time.Time // by the database's clock
}

// An EventFilter selects events; zero fields select all.
type EventFilter struct {
	User, Provider string
	Before         int64 // Seq: only older ones, for paging
	Limit          int
}
