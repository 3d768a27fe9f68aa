package ingest

import (
	"github.com/syncdhq/syncd/internal/store"
)

// An Action is what becomes of an incoming record.
type Action int

// The actions. Each record of a page is counted under exactly one of them.
const (
	Insert    Action = iota
	Update           // newer, and another value
	Unchanged        // the same value
	Stale            // older than what is stored
	Delete           // it was live
	Restore          // it was deleted
)

// A Decision is an action and the row that it writes, if any.
type Decision struct {
	Action Action
	Row    store.Row
	Touch  bool // Unchanged, but newer: the mark alone moves
}

// Decide says what becomes of a record, given what is stored under its key.
// same says that both hold the same JSON value though not the same bytes;
// replayed that the record comes from the rejects and not from the provider.
//
// A record is newer than what is stored if its mark is, and also if either has
// no mark: then the order of arrival counts. Of two states with the same mark
// and other content the one that the provider told last is taken, but a
// deletion by the provider's word stands, and a replay never wins.
func Decide(head store.Head, in Incoming, appendOnly, same, replayed bool) Decision {
	row := store.Row{
		ID: in.ID, Data: in.Data, Hash: in.Hash, Deleted: in.Deleted,
		Mark: max(in.Mark, head.Mark), Version: head.Version + 1,
	}
	same = same || in.Data != nil && head.Hash == in.Hash
	older := in.Mark != 0 && in.Mark < head.Mark
	tie := in.Mark == head.Mark
	switch {
	case !head.Found && in.Deleted:
		return Decision{Action: Delete, Row: row}
	case !head.Found:
		return Decision{Action: Insert, Row: row}
	case appendOnly && !head.Deleted && !in.Deleted:
		return Decision{Action: Unchanged}
	case older || replayed && in.Mark <= head.Mark && !same:
		return Decision{Action: Stale}
	case head.Deleted && in.Deleted, !head.Deleted && !in.Deleted && same:
		return Decision{Action: Unchanged, Row: row, Touch: row.Mark > head.Mark}
	case in.Deleted:
		row.Data = nil // the last live state stays readable
		return Decision{Action: Delete, Row: row}
	case head.Deleted && tie && in.Mark != 0 && !head.Absent:
		return Decision{Action: Stale}
	case head.Deleted:
		return Decision{Action: Restore, Row: row}
	}
	return Decision{Action: Update, Row: row}
}

// count adds one record under its action.
func count(c *store.Counters, a Action) {
	switch a {
	case Insert:
		c.Inserted++
	case Update:
		c.Updated++
	case Unchanged:
		c.Unchanged++
	case Stale:
		c.Stale++
	case Delete:
		c.Deleted++
	case Restore:
		c.Restored++
	}
}

// kind names the change that an action is in the outbox, "" for none.
func (a Action) kind() string {
	switch a {
	case Insert:
		return "inserted"
	case Update:
		return "updated"
	case Delete:
		return "deleted"
	case Restore:
		return "restored"
	}
	return ""
}
