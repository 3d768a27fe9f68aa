package store

import (
	"context"
	"time"
)

// Memos is what daemons remember together for a short while.
type Memos interface {
	// Memo returns a memo; ErrNotFound if there is none or it has expired by
	// the database's clock.
	Memo(ctx context.Context, kind, id string) (Memo, error)

	// PutMemo writes a memo, which then lasts for ttl from the database's now,
	// and returns its new version, if the one that is there has m.Version (0:
	// there is none, or it has expired). Otherwise it is ErrConflict, and
	// nothing is written.
	PutMemo(ctx context.Context, m Memo, ttl time.Duration) (version int64, err error)

	// SweepMemos deletes up to limit memos that have expired, and returns how many.
	SweepMemos(ctx context.Context, limit int) (int64, error)
}

// Kinds of memos.
const (
	MemoConnect = "connect" // a session in which a user connects
	MemoAnswer  = "answer"  // the answer to a request that may be sent again
)

// A Memo is a row of `memos`.
type Memo struct {
	Kind, ID  string
	User      string // whom it is about; "" if nobody
	Body      string // JSON; no secrets
	Version   int64
	ExpiresAt time.Time // filled in by the store
}
