package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

const credentialColumns = `user_id, provider, kind, sealed, key_id, version, identity, refused,
	expires_at, due_at, refresher, refresher_until, created_at, updated_at`

// scanCredential reads credentialColumns.
func scanCredential(r *sql.Rows) (store.Credential, error) {
	var c store.Credential
	var expires, due, until, created, updated sql.NullInt64
	err := r.Scan(&c.User, &c.Provider, &c.Kind, &c.Sealed, &c.KeyID, &c.Version, &c.Identity, &c.Refused,
		&expires, &due, &c.Refresher, &until, &created, &updated)
	c.ExpiresAt, c.DueAt, c.RefresherUntil = moment(expires), moment(due), moment(until)
	c.CreatedAt, c.UpdatedAt = moment(created), moment(updated)
	return c, err
}

// Credential implements store.Credentials.
func (s *Store) Credential(ctx context.Context, key store.Key) (store.Credential, error) {
	return one(ctx, s, "credential of "+key.String(), "SELECT "+credentialColumns+" FROM credentials WHERE "+ofSource, []any{key.User, key.Provider}, scanCredential)
}

// PutCredential implements store.Credentials.
func (s *Store) PutCredential(ctx context.Context, c store.Credential) (int64, error) {
	if err := limits.Credential(c); err != nil {
		return 0, fail(err, "write the credential of %s", c.Key)
	}
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		now := s.now()
		statement := `UPDATE credentials SET kind = ?, sealed = ?, key_id = ?, version = version + 1, identity = ?, refused = ?,
			expires_at = ?, due_at = ?, refresher = '', refresher_until = NULL, updated_at = ? WHERE ` + ofSource + ` AND version = ? AND (? = '' OR refresher = ?)`
		args := []any{c.Kind, c.Sealed, c.KeyID, c.Identity, c.Refused, stamp(c.ExpiresAt), stamp(c.DueAt), now, c.User, c.Provider, c.Version, c.Refresher, c.Refresher}
		if c.Version == 0 {
			statement = `INSERT INTO credentials (user_id, provider, kind, sealed, key_id, version, identity, refused, expires_at, due_at, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, provider) DO NOTHING`
			args = []any{c.User, c.Provider, c.Kind, c.Sealed, c.KeyID, c.Identity, c.Refused, stamp(c.ExpiresAt), stamp(c.DueAt), now, now}
		}
		n, err := w.exec(ctx, statement, args...)
		if err == nil && n == 0 {
			err = store.ErrConflict
		}
		return fail(err, "write the credential of %s", c.Key)
	})
	if err != nil {
		return 0, err
	}
	return c.Version + 1, nil
}

// HoldCredential implements store.Credentials.
func (s *Store) HoldCredential(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Credential, bool, error) {
	var before store.Credential
	var held bool
	err := s.transact(ctx, func(ctx context.Context, w *writer) error {
		found := false
		err := w.rows(ctx, "SELECT "+credentialColumns+" FROM credentials WHERE "+ofSource, []any{key.User, key.Provider}, func(r *sql.Rows) (err error) {
			found = true
			before, err = scanCredential(r)
			return err
		})
		if err == nil && !found {
			err = store.ErrNotFound
		}
		now := s.now()
		if err == nil && (before.Refresher == "" || before.Refresher == owner || before.RefresherUntil.UnixMicro() <= now) {
			held = true
			_, err = w.exec(ctx, "UPDATE credentials SET refresher = ?, refresher_until = ? WHERE "+ofSource, owner, now+ttl.Microseconds(), key.User, key.Provider)
		}
		return fail(err, "hold the credential of %s", key)
	})
	return before, held && err == nil, err
}

// FreeCredential implements store.Credentials.
func (s *Store) FreeCredential(ctx context.Context, key store.Key, owner string) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, "UPDATE credentials SET refresher = '', refresher_until = NULL WHERE "+ofSource+" AND refresher = ?", key.User, key.Provider, owner)
		return fail(err, "free the credential of %s", key)
	})
}

// DropCredential implements store.Credentials.
func (s *Store) DropCredential(ctx context.Context, key store.Key) error {
	return s.transact(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, "DELETE FROM credentials WHERE "+ofSource, key.User, key.Provider)
		return fail(err, "delete the credential of %s", key)
	})
}

// Credentials implements store.Credentials.
func (s *Store) Credentials(ctx context.Context, f store.CredentialFilter) ([]store.Credential, error) {
	var where filter
	where.equal("user_id", f.User)
	if f.NotBy != "" {
		where.add("key_id <> ?", f.NotBy)
	}
	if f.Due {
		where.add("due_at <= ?", s.now())
	}
	if f.After != (store.Key{}) {
		where.add("(user_id, provider) > (?, ?)", f.After.User, f.After.Provider)
	}
	return list(ctx, s, "list credentials", "SELECT "+credentialColumns+" FROM credentials"+where.sql("user_id, provider", f.Limit), where.args, scanCredential)
}
