package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/transport"
)

// A fleet is all sources of the configuration in force, ready to be run. A new
// configuration is put in force whole; runs that are under way end with the
// one they began with.
type fleet struct {
	store  store.Store
	log    *slog.Logger
	report func(store.Key, run.Result, time.Duration) // a run has ended; nil is allowed
	onPage func(run.Event)                            // nil is allowed
	tap    func(http.RoundTripper) http.RoundTripper  // around what clients ask through; nil is allowed
	base   http.RoundTripper
	now    func() time.Time

	alarms sync.Map // names of providers that refuse the application

	force atomic.Pointer[force]
	wrong atomic.Pointer[[]string] // the files because of which a newer configuration was refused; nil if none was

	mu     sync.Mutex
	pacers map[store.Key]*transport.Pacer // of a user at a provider; of the app where User is ""
	demos  map[string]*demo               // by connector
	book   *account.Book                  // nil until it is needed

	openBook func(context.Context) (*account.Book, error)
}

// A force is a configuration in force.
type force struct {
	cfg     *config.Config
	sources map[store.Key]*config.Source

	told sync.Map // keys of sources about which something was said once
}

// complain says once what is wrong with a source that was added at run time.
func (now *force) complain(log *slog.Logger, key store.Key, err error) {
	if _, told := now.told.LoadOrStore(key, true); !told {
		log.Warn("a source can't be run", "user", key.User, "provider", key.Provider, "error", err)
	}
}

// A demo is a stand-in for a provider, served on the loopback interface.
type demo struct {
	server *http.Server
	url    string
}

func newFleet(s store.Store, log *slog.Logger) *fleet {
	return &fleet{
		store: s, log: log, base: transport.NewBase(), now: time.Now,
		pacers: map[store.Key]*transport.Pacer{}, demos: map[string]*demo{},
	}
}

// use puts a configuration in force.
func (f *fleet) use(cfg *config.Config) error {
	for _, p := range cfg.Providers {
		if err := f.serveDemo(p); err != nil {
			return err
		}
	}
	next := &force{cfg: cfg, sources: make(map[store.Key]*config.Source, len(cfg.Sources))}
	for _, s := range cfg.Sources {
		next.sources[keyOf(s)] = s
	}
	f.force.Store(next)
	return nil
}

// inForce returns a fleet in which the configuration is in force, for a command
// that runs sources by hand.
func (a *app) inForce(ctx context.Context, cfg *config.Config, s store.Store) (*fleet, error) {
	f := newFleet(s, newLog(a.Err, cfg.Log))
	err := f.openAccounts(ctx, a, cfg)
	if err == nil {
		err = f.use(cfg)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// withFleet opens the store, the accounts and the sources in force.
func (a *app) withFleet(ctx context.Context, do func(*fleet) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	s, err := a.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := a.inForce(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer f.close()
	return do(f)
}

func (f *fleet) config() *config.Config { return f.force.Load().cfg }

// files returns the provider files of the configuration in force, or of the one
// that is to be where none is yet, and the files because of which the last one
// was refused: a new one may be among them, and is about to be mended.
func (f *fleet) files(next *config.Config) []string {
	if now := f.force.Load(); now != nil {
		next = now.cfg
	}
	files := next.Files
	if wrong := f.wrong.Load(); wrong != nil {
		files = append(slices.Clip(files), *wrong...)
	}
	return files
}

// refuse notes why a configuration was not put in force.
func (f *fleet) refuse(errs config.Errors) {
	var files []string
	for _, e := range errs {
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	f.wrong.Store(&files)
}

// specs returns what the store must know of the sources in force.
func (f *fleet) specs(now time.Time) []store.Spec {
	cfg := f.config()
	specs := make([]store.Spec, 0, len(cfg.Sources))
	for _, s := range cfg.Sources {
		specs = append(specs, specOf(s, now))
	}
	return specs
}

// specOf returns what the store must know of a source.
func specOf(s *config.Source, now time.Time) store.Spec {
	spec := timetable(s).Spec(keyOf(s), s.Of.Connector.Name, now)
	spec.Declared = s.Declared
	return spec
}

func keyOf(s *config.Source) store.Key { return store.Key{User: s.User, Provider: s.Provider} }

func timetable(s *config.Source) scheduler.Timetable {
	return scheduler.Timetable{Schedule: s.Schedule, Spread: s.Spread, CatchUp: s.CatchUp, Full: s.Full}
}

// timetable is a source's, with when it is given up.
func (now *force) timetable(src *config.Source) scheduler.Timetable {
	t := timetable(src)
	t.GiveUp = scheduler.GiveUp(now.cfg.GiveUp)
	return t
}

// Entry implements scheduler.Table.
func (f *fleet) Entry(key store.Key, declared string) (scheduler.Entry, bool) {
	now := f.force.Load()
	src, err := now.source(key, declared)
	if err != nil {
		now.complain(f.log, key, err)
	}
	if src == nil {
		return scheduler.Entry{}, false
	}
	return scheduler.Entry{
		Timetable: now.timetable(src),
		Run: func(ctx context.Context, task scheduler.Task, stop <-chan struct{}) scheduler.Result {
			return f.run(ctx, now.cfg, src, task.Claim.Account, run.Job{
				Lease: task.Claim.Lease, RunID: task.Run.ID, At: task.Claim.Now,
				Full: task.Plan.Full, FullDue: task.Claim.FullAt, Continue: task.Claim.MidRound(), Stop: stop,
			})
		},
	}, true
}

// run runs a source once and reports how it went. whose is the account that its
// records are of, as its claim says.
func (f *fleet) run(ctx context.Context, cfg *config.Config, src *config.Source, whose string, job run.Job) scheduler.Result {
	began := f.now()
	source, requests, err := f.source(ctx, cfg, src, whose)
	var res run.Result
	if err != nil {
		res = run.Result{State: store.Failed, Err: err}
	} else {
		job.Source, job.OnPage = source, f.onPage
		res = f.runner(cfg).Run(ctx, job)
	}
	f.needsUser(ctx, res.Err)
	f.misconfigured(src.Of, res.Err)
	if f.report != nil {
		f.report(job.Lease.Key, res, f.now().Sub(began))
	}
	out := scheduler.Result{
		State: res.State, Notes: strings.Join(res.Notes, "\n"), Input: res.Input,
		Requests: requests(),
	}
	if res.State == store.Parked {
		out.Wait = res.Until.Sub(f.now())
	}
	if res.Err != nil {
		out.Error = res.Err.Error()
	}
	return out
}

func (f *fleet) runner(cfg *config.Config) *run.Runner {
	return &run.Runner{Store: f.store, Writer: &ingest.Writer{Store: f.store, Changes: cfg.Changes}, Now: f.now}
}

// source makes what is run of a source of the configuration.
func (f *fleet) source(ctx context.Context, cfg *config.Config, src *config.Source, whose string) (run.Source, func() int64, error) {
	none := func() int64 { return 0 }
	base := f.baseURL(src.Of)
	signed, err := f.signing(ctx, src, whose)
	if err != nil {
		return run.Source{}, none, err
	}
	stack, err := f.stack(cfg, src, base, signed)
	if err != nil {
		return run.Source{}, none, err
	}
	client, err := syncd.NewClient(or(base, syncd.NoBase), f.tapped(stack.Whole()), f.tapped(stack.Stream()))
	if err != nil {
		return run.Source{}, none, err
	}
	streams, err := src.Options.Streams(client)
	if err != nil {
		return run.Source{}, none, fmt.Errorf("options: %w", err)
	}
	p := src.Of
	return run.Source{
		Key: keyOf(src), Streams: streams, Settings: src.Settings,
		MarkMissing: p.OnMissing == config.Mark, MaxMissing: int(p.MaxMissing), AllowEmpty: p.AllowEmpty,
		MaxRejects: int(cfg.Limits.Rejects),
		Budget:     run.Budget{Time: p.Budget.Time, Pages: p.Budget.Pages},
		Wire:       stack,
	}, stack.Requests, nil
}

func (f *fleet) stack(cfg *config.Config, src *config.Source, base string, signed signing) (*transport.Stack, error) {
	p := src.Of
	var origin *url.URL
	if base != "" {
		u, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("base_url: %w", err)
		}
		origin = u
	}
	app, user := p.Connector.Rate.App, p.Connector.Rate.User
	if p.Rate != nil {
		app = *p.Rate
	}
	if p.UserRate != nil {
		user = *p.UserRate
	}
	return transport.New(transport.Config{
		Auth: signed.auth, Credentials: signed.credentials, Tokens: signed.tokens, Origin: origin,
		Quota: p.Connector.Rate.Quota, Throttled: p.Connector.Rate.Throttled,
		App:           f.pacer(store.Key{Provider: p.Name}, app),
		User:          f.pacer(keyOf(src), user),
		MaxInlineWait: cfg.Limits.InlineWait, MaxPark: cfg.Limits.Park, MaxBody: cfg.Limits.Body,
		Allow: p.AllowHosts, UserAgent: "syncd/" + version(), Base: f.base,
	})
}

// pacer returns the pacer of an app or a user. It outlives runs and reloads:
// the provider's quota does too.
func (f *fleet) pacer(key store.Key, limit syncd.Limit) *transport.Pacer {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.pacers[key]
	if !ok {
		p = transport.NewPacer(limit)
		f.pacers[key] = p
	}
	p.SetLimit(limit)
	return p
}

// baseURL returns where a provider is asked, "" if the connector asks nobody.
func (f *fleet) baseURL(p *config.Provider) string {
	if p.BaseURL != "" {
		return p.BaseURL
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.demos[p.Connector.Name]; d != nil {
		return d.url
	}
	return ""
}

// serveDemo serves the connector's stand-in where no provider is named.
func (f *fleet) serveDemo(p *config.Provider) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.BaseURL != "" || p.Connector.Demo == nil || f.demos[p.Connector.Name] != nil {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve the %s provider on loopback: %w", p.Connector.Name, err)
	}
	d := &demo{
		server: &http.Server{Handler: p.Connector.Demo(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)},
		url:    "http://" + l.Addr().String(),
	}
	go d.server.Serve(l)
	f.demos[p.Connector.Name] = d
	return nil
}

// close ends what the fleet serves.
func (f *fleet) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.demos {
		d.server.Close()
	}
}
