package store

import (
	"context"
	"time"
)

// Credentials is what the vault needs: each source's credential, sealed.
type Credentials interface {
	// Credential returns a source's credential; ErrNotFound if it has none.
	Credential(ctx context.Context, key Key) (Credential, error)

	// PutCredential writes c and returns its new version, if the one that is
	// stored has the version c.Version (0: none is stored) and, where c.Refresher
	// is not empty, that note. Otherwise it is ErrConflict, and nothing is
	// written. The note is taken out; CreatedAt, UpdatedAt and RefresherUntil of
	// c do not count.
	PutCredential(ctx context.Context, c Credential) (version int64, err error)

	// HoldCredential notes that owner refreshes a credential, for ttl from the
	// database's now, unless another does: then held is false. It returns the
	// credential as it was before. With a ttl of 0 an owner lets go, and leaves
	// the note: the provider was asked, and it is not known what it answered.
	HoldCredential(ctx context.Context, key Key, owner string, ttl time.Duration) (c Credential, held bool, err error)

	// FreeCredential takes out owner's note, where the provider was not asked
	// or refused. A note that is another's is left.
	FreeCredential(ctx context.Context, key Key, owner string) error

	// DropCredential deletes a source's credential. None is nothing to it.
	DropCredential(ctx context.Context, key Key) error

	// Credentials returns those that match, ordered by user and provider.
	Credentials(ctx context.Context, f CredentialFilter) ([]Credential, error)
}

// A CredentialFilter selects credentials; zero fields select all.
type CredentialFilter struct {
	User  string
	NotBy string // sealed by another key than this one
	Due   bool   // DueAt has come by the database's clock
	After Key    // sort after this one: for paging
	Limit int    // 0 is no limit
}

// A Credential is a row of `credentials`.
type Credential struct {
	Key
	Kind           string
	Sealed         []byte
	KeyID          string
	Version        int64
	Identity       string
	Refused        string
	ExpiresAt      time.Time // zero if nobody knows
	DueAt          time.Time // zero for never
	Refresher      string    // "" if nobody refreshes it, or the answer was stored
	RefresherUntil time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
}
