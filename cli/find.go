package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

// find returns a source of the configuration, or one that was added at run time
// and is in the store; s may be nil where there is no store yet. The error is
// store.ErrNotFound if there is no such source.
func find(ctx context.Context, cfg *config.Config, s store.Catalog, key store.Key) (*config.Source, error) {
	if src, ok := configured(cfg)[key]; ok {
		return src, nil
	}
	if s != nil {
		row, err := oneSource(ctx, s, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if row.Declared != "" {
			return declared(cfg, key, row.Declared)
		}
	}
	return nil, noSource{key, cfg.Path}
}

// A noSource is a source that is nowhere. It is a store.ErrNotFound.
type noSource struct {
	key  store.Key
	path string
}

func (e noSource) Error() string {
	return fmt.Sprintf("there is no source %s in %s, and none was added at run time (see: syncd sources list)", e.key, e.path)
}

func (e noSource) Is(target error) bool { return target == store.ErrNotFound }

// declared returns a source that was added at run time, as the configuration
// has its provider now.
func declared(cfg *config.Config, key store.Key, declaration string) (*config.Source, error) {
	src, err := cfg.Declare(key.User, key.Provider, declaration)
	if err != nil {
		return nil, fmt.Errorf("source %s was added at run time, and does not fit the configuration: %w", key, err)
	}
	return src, nil
}

// source returns what a source is by this configuration: its own, or one that
// was added at run time with a declaration. Nil and no error is none.
func (now *force) source(key store.Key, declaration string) (*config.Source, error) {
	if src, ok := now.sources[key]; ok {
		return src, nil
	}
	if declaration == "" {
		return nil, nil
	}
	return declared(now.cfg, key, declaration)
}
