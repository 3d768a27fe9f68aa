package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

// look loads the configuration and opens a store that is there and whose schema
// is up to date. It changes nothing.
func (a *app) look(ctx context.Context) (*config.Config, store.Store, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	s, err := a.lookAt(ctx, cfg)
	return cfg, s, err
}

// lookAt is look at the store of a configuration. The error is errNoStore if
// there is none yet.
func (a *app) lookAt(ctx context.Context, cfg *config.Config) (store.Store, error) {
	s, err := a.existing(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := migrated(ctx, s, cfg, a.configFile()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func migrated(ctx context.Context, s store.Store, cfg *config.Config, file string) error {
	known, err := s.Migrations(ctx)
	if err != nil {
		return err
	}
	for i, m := range known {
		if !m.AppliedAt.IsZero() {
			continue
		}
		then := fmt.Sprintf("start the daemon (syncd run --config %s), or run: syncd migrate --config %s", file, file)
		if i == 0 {
			return fmt.Errorf("%w: %s is empty: %s", errNoStore, cfg.StoreName(), then)
		}
		return fmt.Errorf("the store %s lacks the migration %s: %s", cfg.StoreName(), migrationName(m), then)
	}
	return nil
}

// pageRows is how many rows are asked for at a time.
const pageRows = 1000

// sourcesOf returns the sources that match, by user and provider.
func sourcesOf(ctx context.Context, s store.Catalog, f store.SourceFilter) iter.Seq2[store.Source, error] {
	return paged(func(last store.Source) ([]store.Source, error) {
		f.After, f.Limit = last.Key, pageRows
		return s.Sources(ctx, f)
	})
}

// runsOf returns the runs that match, newest first.
func runsOf(ctx context.Context, s store.Catalog, f store.RunFilter) iter.Seq2[store.Run, error] {
	return paged(func(last store.Run) ([]store.Run, error) {
		f.Before, f.Limit = or(last.ID, f.Before), pageRows
		return s.Runs(ctx, f)
	})
}

// rejectsOf returns the rejects that match, newest first, without their bytes.
func rejectsOf(ctx context.Context, s store.Catalog, f store.RejectFilter) iter.Seq2[store.Reject, error] {
	return paged(func(last store.Reject) ([]store.Reject, error) {
		f.BeforeID, f.Limit = last.ID, pageRows
		return s.Rejects(ctx, f)
	})
}

// paged returns row after row of pages of pageRows, each of which is asked for
// by the last row before it; the zero row asks for the first.
func paged[T any](page func(last T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last T
		for {
			rows, err := page(last)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < pageRows {
				return
			}
			last = rows[len(rows)-1]
		}
	}
}

// oneSource returns the row of one source, or store.ErrNotFound.
func oneSource(ctx context.Context, s store.Catalog, key store.Key) (store.Source, error) {
	rows, err := s.Sources(ctx, store.SourceFilter{User: key.User, Provider: key.Provider, Limit: 1})
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("source %s: %w", key, store.ErrNotFound)
	}
	if err != nil {
		return store.Source{}, err
	}
	return rows[0], nil
}

// briefly is how long a lease that an operator's command takes can last.
const briefly = 30 * time.Second

// underLease runs f in one transaction under the source's lease, so that no
// run is under way meanwhile. If there is one the error is a *store.LeasedError.
// What the source is due for stays as it is.
func underLease(ctx context.Context, s store.Store, key store.Key, f func(ctx context.Context, tx store.Tx) error) error {
	claim, err := s.Acquire(ctx, key, operator(), briefly)
	if leased, ok := errors.AsType[*store.LeasedError](err); ok {
		return fmt.Errorf("%w: wait until the run has ended, or pause the source first", leased)
	}
	if err != nil {
		return err
	}
	err = s.Update(ctx, claim.Lease, f)
	// The lease is given back also when ctx was cancelled meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), briefly)
	defer cancel()
	return errors.Join(err, s.Release(ctx, claim.Lease))
}

// operator names whoever runs this command, as the owner of a lease.
func operator() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("operator on %s (process %d)", host, os.Getpid())
}
