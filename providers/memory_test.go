package providers_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
)

// A reader keeps a provider's records, in one store or another.
type reader interface {
	sync(flags ...string) store.Counters // "--full", or nothing
	table() map[string]string            // the live records' data by their ids
}

// A deployer gives alice an account at a provider, as deploy does.
type deployer func(t *testing.T, connectors []string, settings, source string) reader

// eachStore runs a test with the whole program, which keeps records in SQLite,
// and with the engine alone, which keeps them in memory.
func eachStore(t *testing.T, test func(t *testing.T, deploy deployer)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t *testing.T, connectors []string, settings, source string) reader {
			return deploy(t, connectors, settings, source)
		})
	})
	t.Run("memory", func(t *testing.T) {
		test(t, func(t *testing.T, connectors []string, settings, source string) reader {
			return newEngine(t, deploy(t, connectors, settings, source))
		})
	})
}

// An engine is a deployment's source, run without the program around it.
type engine struct {
	*testing.T
	store  *memory.Store
	source run.Source
}

// signed adds a header to each request.
type signed struct {
	name, value string
	http.RoundTripper
}

func (s signed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if s.name != "" {
		req.Header.Set(s.name, s.value)
	}
	return s.RoundTripper.RoundTrip(req)
}

func newEngine(t *testing.T, d *deployment) *engine {
	t.Helper()
	connectors, err := config.Expand(d.connectors)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(d.config(), connectors, nil)
	if err != nil {
		t.Fatal(err)
	}
	src := cfg.Sources[0]
	auth := src.Of.Connector.Auth
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	wire := signed{auth.Name, auth.Prefix + src.Credentials["token"].Reveal(), transport}
	client, err := syncd.NewClient(src.Of.BaseURL, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	streams, err := src.Options.Streams(client)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{t, memory.New(nil), run.Source{
		Key: store.Key{User: src.User, Provider: src.Provider}, Streams: streams, Settings: src.Settings,
		MarkMissing: true, MaxMissing: 100, MaxRejects: 50,
	}}
	now := time.Now()
	if err := e.store.Add(t.Context(), store.Spec{Key: e.source.Key, Connector: "c", Schedule: "@hourly", NextAt: now, DueAt: now, SpreadAt: now}); err != nil {
		t.Fatal(err)
	}
	return e
}

// sync runs the source once, which must end well and set nothing aside.
func (e *engine) sync(flags ...string) store.Counters {
	e.Helper()
	ctx := e.Context()
	claim, err := e.store.Acquire(ctx, e.source.Key, "test", time.Minute)
	if err != nil {
		e.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7()).String()
	open := store.Run{ID: id, Key: e.source.Key, Token: claim.Token, Owner: "test", Trigger: store.TriggerOperator, State: store.Running}
	if err := e.store.Begin(ctx, claim.Lease, open, claim.NextAt, claim.DueAt); err != nil {
		e.Fatal(err)
	}
	runner := &run.Runner{Store: e.store, Writer: &ingest.Writer{Store: e.store}, Now: time.Now}
	res := runner.Run(ctx, run.Job{
		Source: e.source, Lease: claim.Lease, RunID: id, At: claim.Now,
		Full: slices.Contains(flags, "--full"), FullDue: claim.Now,
	})
	if err := e.store.Finish(ctx, claim.Lease, id, store.Outcome{State: res.State, DueAt: claim.DueAt}); err != nil {
		e.Fatal(err)
	}
	if res.State != store.Done || res.Counters.Rejected > 0 {
		e.Fatalf("the run ended %s: %v %v, %+v", res.State, res.Err, res.Notes, res.Counters)
	}
	return res.Counters
}

func (e *engine) table() map[string]string {
	table := map[string]string{}
	for _, r := range e.store.Records(e.source.Key) {
		if r.DeletedAt.IsZero() {
			table[r.ID] = string(r.Data)
		}
	}
	return table
}
