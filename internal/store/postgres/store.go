package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/syncdhq/syncd/internal/store"
)

// Store implements store.Store. It may be used by many goroutines at once.
type Store struct {
	pool    *pgxpool.Pool
	begin   string        // the first statement under a lease; see lease.go
	timeout time.Duration // of one round trip
	buffers sync.Pool     // of *[]byte, for COPY
}

var _ store.Store = (*Store)(nil)

// Open connects to the database and checks that prepared statements work
// there. It creates nothing: see Migrate.
func Open(ctx context.Context, dsn string) (*Store, error) {
	config, pooled, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &Store{pool: pool, begin: beginStatement(pooled), timeout: statementTimeout + grace}
	if err := s.probe(ctx, pooled); err != nil {
		pool.Close()
		conn := config.ConnConfig
		return nil, fail(err, "open the store (database %q of user %q at %s)", conn.Database, conn.User, conn.Host)
	}
	return s, nil
}

// Close waits for the connections in use and closes all.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Now implements store.Queue.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now pgtype.Timestamptz
	err := s.row(ctx, "read the database's clock", "SELECT clock_timestamp()", nil, &now)
	return moment(now), err
}

// bounded limits one round trip.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}
