package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/postgres"
	"github.com/syncdhq/syncd/internal/store/sqlite"
)

// An app is one invocation of the program.
type app struct {
	Streams
	connectors []syncd.Connector
	env        func(string) (string, bool)
	configPath string // of --config
}

// commands returns what makes the commands, in the order of the help.
func (a *app) commands() []func() *cobra.Command {
	return []func() *cobra.Command{
		a.runCommand, a.syncCommand, a.checkCommand, a.nextCommand, a.statusCommand, a.whyCommand, a.sourcesCommand,
		a.connectCommand, a.disconnectCommand, a.usersCommand, a.keysCommand,
		a.cursorCommand, a.runsCommand, a.rejectsCommand, a.connectorsCommand, a.schemaCommand, a.migrateCommand, a.versionCommand,
	}
}

// systemConfig is where the configuration is if nothing else is said.
func systemConfig() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramData"), "syncd", "config.yaml")
	}
	return "/etc/syncd/config.yaml"
}

// configFile returns the path of the configuration.
func (a *app) configFile() string {
	if a.configPath != "" {
		return a.configPath
	}
	if path, ok := a.env("SYNCD_CONFIG"); ok && path != "" {
		return path
	}
	return systemConfig()
}

// load reads the configuration. One that can't be read is as wrong as one that
// has errors in it.
func (a *app) load() (*config.Config, error) {
	cfg, err := config.Load(a.configFile(), a.connectors, a.env)
	if _, wrong := errors.AsType[config.Errors](err); err == nil || wrong {
		return cfg, err
	}
	if errors.Is(err, os.ErrNotExist) && a.configPath == "" {
		err = fmt.Errorf("%w (name one with --config FILE or $SYNCD_CONFIG)", err)
	}
	return nil, usageError{err}
}

// open opens the configured store with its schema up to date.
func (a *app) open(ctx context.Context, cfg *config.Config) (store.Store, error) {
	s, err := a.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := s.Migrate(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect opens the configured store as it is.
func (a *app) connect(ctx context.Context, cfg *config.Config) (store.Store, error) {
	if path, ok := strings.CutPrefix(cfg.Store, "sqlite:"); ok {
		return sqlite.Open(ctx, path)
	}
	return postgres.Open(ctx, cfg.Store)
}

// errNoStore: the store is not there yet, or it is empty.
var errNoStore = errors.New("there is no store yet")

// read loads the configuration and opens a store that is there already, for
// commands that only look.
func (a *app) read(ctx context.Context) (*config.Config, store.Store, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	s, err := a.existing(ctx, cfg)
	return cfg, s, err
}

// existing opens the configured store, and creates none.
func (a *app) existing(ctx context.Context, cfg *config.Config) (store.Store, error) {
	if path, ok := strings.CutPrefix(cfg.Store, "sqlite:"); ok {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w at %s: start the daemon with: syncd run --config %s", errNoStore, path, a.configFile())
		}
	}
	return a.connect(ctx, cfg)
}
