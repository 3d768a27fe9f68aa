package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/web"
)

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the daemon",
		Long: `Run the daemon: keep all sources of the configuration up to date on schedule.

It brings the store's schema up to date, runs what is due, and goes on until it
is told to stop. SIGTERM or Ctrl-C lets the pages in hand commit and ends within
the grace time; a second one ends at once. SIGHUP, or a change of the file,
reads the configuration again: all of it or, if it has an error, nothing.`,
		Example: `  syncd run --config config.example.yaml
  SYNCD_CONFIG=/etc/syncd/config.yaml syncd run
  kill -HUP $(pidof syncd)     read the configuration again`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			return a.daemon(c.Context(), cfg)
		},
	}
}

// A daemon is a running `syncd run`.
type daemon struct {
	*app
	fleet *fleet
	store store.Store
	log   *slog.Logger
	first atomic.Int64 // runs that were due at the start and have not ended
}

func (a *app) daemon(ctx context.Context, cfg *config.Config) error {
	log := newLog(a.Err, cfg.Log)
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	fleet := newFleet(nil, log)
	changed, err := config.Watch(watching, cfg.Path, func() []string { return fleet.files(cfg) })
	if err != nil {
		return err
	}
	s, err := a.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	fleet.store = s
	d := &daemon{app: a, store: s, log: log, fleet: fleet}
	defer d.fleet.close()
	d.fleet.report = func(key store.Key, res run.Result, took time.Duration) { logRun(log, key, res, took) }
	if err := d.apply(ctx, cfg); err != nil {
		return err
	}
	stopWeb, err := d.listen(cfg)
	if err != nil {
		return err
	}
	defer stopWeb()
	d.greet(ctx)
	go d.watch(watching, changed)
	go d.fleet.upkeep(watching)
	debug.FreeOSMemory() // reading a large configuration takes much more than keeping it

	sched := a.scheduler(s, d.fleet, cfg, log)
	sched.Ended = func(scheduler.Task, scheduler.Result) {
		if d.first.Add(-1) == 0 {
			d.lookAround()
		}
	}
	err = sched.Run(ctx)
	log.Info("stopped")
	return err
}

// scheduler returns the scheduler of this process.
func (a *app) scheduler(s store.Store, table scheduler.Table, cfg *config.Config, log *slog.Logger) *scheduler.Scheduler {
	return &scheduler.Scheduler{
		Store: s, Table: table, Keeper: scheduler.NewKeeper(s, cfg.Lease), Owner: owner(),
		Workers: cfg.Workers, TTL: cfg.Lease, Grace: cfg.Grace, Log: log, Sources: s.Sources,
	}
}

// owner names this process in leases and in the run log.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString()[:8])
}

// apply puts a configuration in force, here and in the store.
func (d *daemon) apply(ctx context.Context, cfg *config.Config) error {
	before := d.fleet.force.Load()
	if err := d.fleet.openAccounts(ctx, d.app, cfg); err != nil {
		return err
	}
	if err := d.fleet.use(cfg); err != nil {
		return err
	}
	applied, err := d.applySpecs(ctx)
	if err == nil {
		err = d.fleet.redeclare(ctx)
	}
	if err != nil {
		if before != nil {
			d.fleet.force.Store(before)
		}
		return fmt.Errorf("apply the configuration: %w", err)
	}
	for _, w := range cfg.Warnings {
		d.log.Warn(w.Error())
	}
	if before != nil || applied.Added+applied.Removed+applied.Restored+applied.Changed > 0 {
		d.log.Info("the configuration is in force", "sources", len(cfg.Sources), "added", applied.Added,
			"rescheduled", applied.Changed, "removed", applied.Removed, "restored", applied.Restored)
	}
	return nil
}

func (d *daemon) applySpecs(ctx context.Context) (store.Applied, error) {
	now, err := d.store.Now(ctx)
	if err != nil {
		return store.Applied{}, err
	}
	return d.store.Apply(ctx, d.fleet.specs(now))
}

// greet says what the daemon is about to do.
func (d *daemon) greet(ctx context.Context) {
	cfg := d.fleet.config()
	over, err := d.store.Overview(ctx)
	if err != nil {
		d.log.Warn("cannot count the sources", "error", err)
	}
	d.first.Store(over.Due)
	d.log.Info("syncd runs", "version", version(), "store", cfg.StoreName(), "sources", len(cfg.Sources),
		"providers", len(cfg.Providers), "due now", over.Due)
	if over.Due == 0 {
		d.nothingDue(ctx)
		d.lookAround()
	}
}

// nothingDue says when there will be something to do.
func (d *daemon) nothingDue(ctx context.Context) {
	at, ok, err := d.store.NextWake(ctx)
	if err != nil || !ok {
		d.log.Info("nothing is due: there is no source that is not paused")
		return
	}
	d.log.Info("nothing is due before " + when(at))
}

// lookAround says where to look, once what was due has been done.
func (d *daemon) lookAround() {
	file := d.configFile()
	d.log.Info("the records are in the table `records` (the view `live_records` leaves out what was deleted)", "store", d.fleet.config().StoreName())
	d.log.Info("look around with: syncd status, syncd runs list, syncd rejects list (each with --config " + file + ")")
}

// watch reads the configuration again at SIGHUP and when its file has changed.
func (d *daemon) watch(ctx context.Context, changed <-chan struct{}) {
	hup := make(chan os.Signal, 1)
	if hangup != nil {
		signal.Notify(hup, hangup)
		defer signal.Stop(hup)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		case <-changed:
		}
		d.reload(ctx)
	}
}

// reload puts the file's configuration in force, or keeps the old one and says
// what is wrong with the new.
func (d *daemon) reload(ctx context.Context) {
	old := d.fleet.config()
	cfg, err := config.Load(old.Path, d.connectors, d.env)
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		d.fleet.refuse(wrong)
		for _, e := range wrong {
			d.log.Error("the configuration was not reloaded: " + e.Error())
		}
		d.log.Error("the old configuration stays in force", "errors", len(wrong))
		return
	case err != nil:
		d.log.Error("the configuration was not reloaded; the old one stays in force", "error", err)
		return
	}
	if cfg.Store != old.Store || cfg.Listen != old.Listen || cfg.Workers != old.Workers || cfg.Lease != old.Lease || cfg.Grace != old.Grace {
		d.log.Warn("store, listen, workers, lease and grace change with a restart only")
	}
	d.fleet.wrong.Store(nil)
	if err := d.apply(ctx, cfg); err != nil && ctx.Err() == nil {
		d.log.Error("the configuration was not reloaded; the old one stays in force", "error", err)
	}
}

// listen serves health checks, the API and the pages of users who connect where the configuration says so.
func (d *daemon) listen(cfg *config.Config) (stop func(), err error) {
	if cfg.Listen == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler: web.Handler(func(ctx context.Context) error {
			_, err := d.store.Now(ctx)
			return err
		}, d.fleet.api()),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	go server.Serve(l)
	return func() {
		// A user who has just consented is not sent away: the code that they
		// brought can be used once.
		ctx, cancel := context.WithTimeout(context.Background(), cfg.Grace)
		defer cancel()
		_ = server.Shutdown(ctx) // what is not done by then is cut off
		server.Close()
	}, nil
}
