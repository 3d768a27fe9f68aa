package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/limits"
)

// Credential implements store.Credentials.
func (s *Store) Credential(ctx context.Context, key store.Key) (store.Credential, error) {
	if err := ctx.Err(); err != nil {
		return store.Credential{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.credentials[key]
	if !ok {
		return store.Credential{}, fmt.Errorf("credential of %s: %w", key, store.ErrNotFound)
	}
	c.Sealed = bytes.Clone(c.Sealed)
	return c, nil
}

// PutCredential implements store.Credentials.
func (s *Store) PutCredential(ctx context.Context, c store.Credential) (int64, error) {
	if err := limits.Credential(c); err != nil {
		return 0, fmt.Errorf("write the credential of %s: %w", c.Key, err)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.credentials[c.Key]
	if old.Version != c.Version || c.Refresher != "" && old.Refresher != c.Refresher {
		return 0, fmt.Errorf("write the credential of %s: %w", c.Key, store.ErrConflict)
	}
	now := s.now()
	c.Version++
	c.Sealed = bytes.Clone(c.Sealed)
	c.Refresher, c.RefresherUntil = "", time.Time{}
	c.ExpiresAt, c.DueAt = micro(c.ExpiresAt), micro(c.DueAt)
	c.CreatedAt, c.UpdatedAt = old.CreatedAt, now
	if old.Version == 0 {
		c.CreatedAt = now
	}
	s.credentials[c.Key] = c
	return c.Version, nil
}

// HoldCredential implements store.Credentials.
func (s *Store) HoldCredential(ctx context.Context, key store.Key, owner string, ttl time.Duration) (store.Credential, bool, error) {
	if err := ctx.Err(); err != nil {
		return store.Credential{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.credentials[key]
	if !ok {
		return store.Credential{}, false, fmt.Errorf("credential of %s: %w", key, store.ErrNotFound)
	}
	before := c
	before.Sealed = bytes.Clone(c.Sealed)
	now := s.now()
	if c.Refresher != "" && c.Refresher != owner && c.RefresherUntil.After(now) {
		return before, false, nil
	}
	c.Refresher, c.RefresherUntil = owner, micro(now.Add(ttl))
	s.credentials[key] = c
	return before, true, nil
}

// FreeCredential implements store.Credentials.
func (s *Store) FreeCredential(ctx context.Context, key store.Key, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.credentials[key]; ok && c.Refresher == owner {
		c.Refresher, c.RefresherUntil = "", time.Time{}
		s.credentials[key] = c
	}
	return nil
}

// DropCredential implements store.Credentials.
func (s *Store) DropCredential(ctx context.Context, key store.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.credentials, key)
	return nil
}

// Credentials implements store.Credentials.
func (s *Store) Credentials(ctx context.Context, f store.CredentialFilter) ([]store.Credential, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Credential
	now := s.now()
	for key, c := range s.credentials {
		if f.User != "" && key.User != f.User || f.NotBy != "" && c.KeyID == f.NotBy || compareKeys(key, f.After) <= 0 ||
			f.Due && (c.DueAt.IsZero() || c.DueAt.After(now)) {
			continue
		}
		c.Sealed = bytes.Clone(c.Sealed)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b store.Credential) int { return compareKeys(a.Key, b.Key) })
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	return out, nil
}
