package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

const credentialColumns = `user_id, provider, kind, sealed, key_id, version, identity, refused,
	expires_at, due_at, refresher, refresher_until, created_at, updated_at`

// scanCredential reads credentialColumns.
func scanCredential(row pgx.Row) (store.Credential, error) {
	var c store.Credential
	var expires, due, until, created, updated pgtype.Timestamptz
	err := row.Scan(&c.User, &c.Provider, &c.Kind, &c.Sealed, &c.KeyID, &c.Version, &c.Identity, &c.Refused,
		&expires, &due, &c.Refresher, &until, &created, &updated)
	c.ExpiresAt, c.DueAt, c.RefresherUntil = moment(expires), moment(due), moment(until)
	c.CreatedAt, c.UpdatedAt = moment(created), moment(updated)
	return c, err
}

// Credential implements store.Credentials.
func (s *Store) Credential(ctx context.Context, key store.Key) (store.Credential, error) {
	found, err := rows(ctx, s, "read the credential of "+key.String(),
		"SELECT "+credentialColumns+" FROM credentials WHERE "+ofSource, []any{key.User, key.Provider},
		func(row pgx.CollectableRow) (store.Credential, error) { return scanCredential(row) })
	if err == nil && len(found) == 0 {
		err = fail(store.ErrNotFound, "credential of %s", key)
	}
	if err != nil {
		return store.Credential{}, err
	}
	return found[0], nil
}

// PutCredential implements store.Credentials.
func (s *Store) PutCredential(ctx context.Context, c store.Credential) (int64, error) {
	what := "write the credential of " + c.Key.String()
	if err := limits.Credential(c); err != nil {
		return 0, fail(err, "%s", what)
	}
	statement := `UPDATE credentials SET kind = $3, sealed = $4, key_id = $5, version = $6, identity = $7, refused = $8,
		expires_at = $9, due_at = $10, refresher = '', refresher_until = NULL, updated_at = clock_timestamp()
		WHERE ` + ofSource + ` AND version = $6 - 1 AND ($11 = '' OR refresher = $11) RETURNING version`
	if c.Version == 0 {
		statement = `INSERT INTO credentials (user_id, provider, kind, sealed, key_id, version, identity, refused, expires_at, due_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (user_id, provider) DO NOTHING RETURNING version`
	}
	args := []any{c.User, c.Provider, c.Kind, c.Sealed, c.KeyID, c.Version + 1, c.Identity, c.Refused, stamp(c.ExpiresAt), stamp(c.DueAt)}
	if c.Version != 0 {
		args = append(args, c.Refresher)
	}
	var version int64
	err := s.row(ctx, what, statement, args, &version)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fail(store.ErrConflict, "%s", what)
	}
	return version, err
}

// HoldCredential implements store.Credentials.
func (s *Store) HoldCredential(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Credential, bool, error) {
	var before store.Credential
	var held bool
	err := s.again(ctx, func() error {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		held = false
		return fail(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
			before, err = scanCredential(tx.QueryRow(ctx, "SELECT "+credentialColumns+" FROM credentials WHERE "+ofSource+" FOR UPDATE", key.User, key.Provider))
			if err != nil {
				return missing(err)
			}
			tag, err := tx.Exec(ctx, "UPDATE credentials SET refresher = $3, refresher_until = clock_timestamp() + $4 * interval '1 microsecond' WHERE "+ofSource+
				" AND (refresher IN ('', $3) OR refresher_until <= clock_timestamp())", key.User, key.Provider, owner, ttl.Microseconds())
			held = tag.RowsAffected() == 1
			return err
		}), "hold the credential of %s", key)
	})
	return before, held && err == nil, err
}

// FreeCredential implements store.Credentials.
func (s *Store) FreeCredential(ctx context.Context, key store.Key, owner string) error {
	_, err := s.exec(ctx, "free the credential of "+key.String(),
		"UPDATE credentials SET refresher = '', refresher_until = NULL WHERE "+ofSource+" AND refresher = $3", key.User, key.Provider, owner)
	return err
}

// DropCredential implements store.Credentials.
func (s *Store) DropCredential(ctx context.Context, key store.Key) error {
	_, err := s.exec(ctx, "delete the credential of "+key.String(), "DELETE FROM credentials WHERE "+ofSource, key.User, key.Provider)
	return err
}

// Credentials implements store.Credentials.
func (s *Store) Credentials(ctx context.Context, f store.CredentialFilter) ([]store.Credential, error) {
	var where filter
	where.equal("user_id", f.User)
	if f.NotBy != "" {
		where.add("key_id <> $%d", f.NotBy)
	}
	if f.Due {
		where.add("due_at <= clock_timestamp()")
	}
	if f.After != (store.Key{}) {
		where.add("(user_id, provider) > ($%d, $%d)", f.After.User, f.After.Provider)
	}
	return rows(ctx, s, "list credentials", "SELECT "+credentialColumns+" FROM credentials"+where.sql("user_id, provider", f.Limit), where.args,
		func(row pgx.CollectableRow) (store.Credential, error) { return scanCredential(row) })
}
