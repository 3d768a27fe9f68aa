package connectortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// secret is the source's credential: it must be seen nowhere.
const secret = "token-that-must-not-be-seen"

var owner = store.Key{User: "alice", Provider: "provider"}

// api returns what the connector, or its options, say of the provider.
func (s Subject) api() (syncd.API, syncd.Options, error) {
	c := s.Connector
	defaults := s.Options
	if defaults == nil {
		defaults = c.Options
	}
	if defaults == nil {
		return syncd.API{}, nil, errors.New("the connector has no Options")
	}
	o := defaults()
	api := syncd.API{BaseURL: c.BaseURL, Auth: c.Auth, Rate: c.Rate}
	if d, ok := o.(syncd.Describer); ok {
		var err error
		if api, err = d.API(); err != nil {
			return api, nil, fmt.Errorf("options: %w", err)
		}
	}
	if api.BaseURL == "" {
		api.BaseURL = "http://provider.test"
	}
	if api.Auth.Scheme == syncd.OAuth2 {
		api.Auth.Scheme = syncd.Bearer // getting and refreshing tokens is not the connector's
	}
	return api, o, nil
}

// open makes the streams anew, as each process does, over a stack that ends in base.
func (s Subject) open(base *wire) ([]syncd.Stream, *transport.Stack, error) {
	api, o, err := s.api()
	if err != nil {
		return nil, nil, err
	}
	credentials := map[string]vault.Secret{"username": vault.NewSecret("alice"), "password": vault.NewSecret(secret), "token": vault.NewSecret(secret)}
	stack, err := transport.New(transport.Config{
		Base: base, Auth: api.Auth, Credentials: credentials, Attempts: 5, Budget: 20,
		Quota: api.Rate.Quota, Throttled: api.Rate.Throttled,
	})
	if err != nil {
		return nil, nil, err
	}
	client, err := stack.Client(api.BaseURL)
	if err != nil {
		return nil, nil, err
	}
	streams, err := o.Streams(client)
	return streams, stack, err
}

// streams returns the streams as a world needs to know them.
func (s Subject) streams() ([]syncd.Stream, error) {
	if s.Fake == nil {
		return nil, errors.New("Subject.Fake is not set")
	}
	base := &wire{}
	streams, _, err := s.open(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("make the streams: %w", err)
	case base.total > 0:
		return nil, fmt.Errorf("Options.Streams makes requests (%s): it is called for `syncd check` too, without a network", base.run[0])
	case len(streams) == 0:
		return nil, errors.New("Options.Streams returns no streams")
	}
	seen := map[string]bool{}
	for _, x := range streams {
		switch {
		case x.Name == "" || strings.Trim(x.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			return nil, fmt.Errorf("stream %q: a name is lower case letters, digits and underscores", x.Name)
		case seen[x.Name]:
			return nil, fmt.Errorf("stream %q is there twice", x.Name)
		case x.Fetch == nil:
			return nil, fmt.Errorf("stream %q has no Fetch", x.Name)
		}
		seen[x.Name] = true
	}
	for name, facts := range s.Streams {
		if !seen[name] {
			return nil, fmt.Errorf("Subject.Streams names %q, which is no stream of the connector", name)
		}
		for sc := range facts.Except {
			if !slices.ContainsFunc(all, func(x scenario) bool { return x.name == sc }) {
				return nil, fmt.Errorf("Facts.Except of %s names %q, which is no scenario", name, sc)
			}
		}
	}
	api, _, err := s.api()
	if err != nil {
		return nil, err
	}
	return streams, errors.Join(transport.CheckLimit(api.Rate.App), transport.CheckLimit(api.Rate.User))
}

// A rig runs one stream of a connector on a world.
type rig struct {
	of    Subject
	only  string // the stream; "" is all of them
	world *World
	wire  *wire
	store *memory.Store
	runs  int

	mu    sync.Mutex
	calls []call // of Fetch, in the run at hand

	fetching func(syncd.Request) // is called before each call of Fetch; nil is allowed
}

// A call is one call of Fetch.
type call struct {
	stream string
	req    syncd.Request
	page   syncd.Page
	err    error
	asked  []string // the requests that it made
	took   time.Duration
}

// epoch is when scenarios begin.
var epoch = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// newRig makes an empty world, and a store without records. It is called in a bubble.
func newRig(s Subject, streams []syncd.Stream, stream string, size int) (*rig, error) {
	wait(time.Until(epoch))
	w := &World{
		facts: s.Streams, streams: map[string]syncd.Stream{}, size: size, dead: -1,
		lists: map[list][]*Item{}, shown: map[itemKey]sight{}, poisoned: map[itemKey]string{},
		bad: map[string]itemKey{}, hidden: map[itemKey]bool{}, past: map[string]bool{}, turned: map[list]int{}, deleted: map[itemKey]int{},
	}
	for _, x := range streams {
		w.streams[x.Name] = x
	}
	r := &rig{of: s, only: stream, world: w, wire: &wire{world: w}, store: memory.New(nil)}
	r.wire.fake = s.Fake(w)
	now := time.Now()
	err := r.store.Add(context.Background(), store.Spec{Key: owner, Connector: s.Connector.Name, Schedule: "@hourly", NextAt: now, DueAt: now, SpreadAt: now})
	return r, err
}

// wait lets fake time pass.
func wait(d time.Duration) { <-time.After(d) }

// How is how a run is done.
type how struct {
	full   bool
	budget int // pages
	kill   int // the transaction at which the process dies; 0 is none
	after  bool
}

// resumes is why a source is due after a run, as the scheduler has it.
var resumes = map[string]string{
	store.Partial: store.ResumePartial, store.Parked: store.ResumeParked, store.Failed: store.ResumeFailed,
}

// run runs the source once, in a process of its own.
func (r *rig) run(h how) (run.Result, error) {
	wait(2 * time.Second)
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	claim, err := r.store.Acquire(ctx, owner, "suite", 48*time.Hour)
	if err != nil {
		return run.Result{}, err
	}
	r.runs++
	id := fmt.Sprintf("run %d", r.runs)
	open := store.Run{ID: id, Key: owner, Token: claim.Token, Owner: "suite", Trigger: store.TriggerOperator, State: store.Running}
	if err := r.store.Begin(ctx, claim.Lease, open, claim.NextAt, claim.DueAt); err != nil {
		return run.Result{}, err
	}
	r.wire.start()
	r.world.start()
	r.calls = nil
	streams, stack, err := r.of.open(r.wire)
	if err != nil {
		return run.Result{}, err
	}
	for i := range streams {
		streams[i].Fetch = r.recorded(streams[i])
	}
	pages := &cutter{Pages: r.store, at: h.kill, after: h.after, kill: kill}
	runner := &run.Runner{
		Store: pages, Writer: &ingest.Writer{Store: pages, Changes: true},
		Now: time.Now,
	}
	res := runner.Run(ctx, run.Job{
		Source: run.Source{
			Key: owner, Streams: streams, MarkMissing: true, MaxMissing: 100, AllowEmpty: true, MaxRejects: 100,
			Budget: run.Budget{Pages: h.budget}, Wire: stack,
		},
		Lease: claim.Lease, RunID: id, At: claim.Now, Continue: claim.MidRound(), Stream: r.only,
		Full: h.full, FullDue: claim.Now,
	})
	out := store.Outcome{State: res.State, DueAt: claim.DueAt, Resume: resumes[res.State]}
	if res.Err != nil {
		out.Error = res.Err.Error()
	}
	if pages.dead {
		out.State, out.Resume = store.Abandoned, store.ResumeAbandoned
		res.State = store.Abandoned
	}
	err = r.store.Finish(context.Background(), claim.Lease, id, out)
	if err != nil && res.State != store.Lost {
		return res, err
	}
	return res, nil
}

// recorded is a stream's Fetch whose calls are kept.
func (r *rig) recorded(x syncd.Stream) func(context.Context, syncd.Request) (syncd.Page, error) {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		if r.fetching != nil {
			r.fetching(req)
		}
		c := r.call(ctx, x, req)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, c)
		return c.page, c.err
	}
}

// call calls a stream's Fetch.
func (r *rig) call(ctx context.Context, x syncd.Stream, req syncd.Request) call {
	before, began := len(r.wire.asked()), time.Now()
	page, err := x.Fetch(ctx, req)
	return call{stream: x.Name, req: req, page: page, err: err, asked: r.wire.asked()[before:], took: time.Since(began)}
}

// cursors returns the stored cursors by part.
func (r *rig) cursors(stream string) (map[string]cursor.State, error) {
	all, err := r.store.Cursors(context.Background(), owner)
	if err != nil {
		return nil, err
	}
	out := map[string]cursor.State{}
	for _, c := range all {
		if c.Stream != stream {
			continue
		}
		if out[c.Part], err = cursor.Parse(c.State); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A cutter is a store whose process dies at a transaction: before it, or after
// it was committed and before anybody was told.
type cutter struct {
	store.Pages
	at    int
	after bool
	kill  func()
	count int
	dead  bool
}

var errKilled = errors.New("the process was killed")

// Update implements store.Pages.
func (c *cutter) Update(ctx context.Context, lease store.Lease, f func(context.Context, store.Tx) error) error {
	if c.at == 0 {
		return c.Pages.Update(ctx, lease, f)
	}
	c.count++
	if c.count < c.at {
		return c.Pages.Update(ctx, lease, f)
	}
	if c.count == c.at && c.after {
		if err := c.Pages.Update(ctx, lease, f); err != nil {
			return err
		}
	}
	c.dead = true
	c.kill()
	return errKilled
}
