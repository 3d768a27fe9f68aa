package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/sqlite"
)

// A world is a folder with a configuration and its store.
type world struct {
	*testing.T
	file  string
	store store.Store
	cfg   *config.Config
}

const providers = `store: sqlite:syncd.db
spread: 0s
providers:
  shop: { connector: sample, schedule: "30 2 * * *", timezone: America/New_York }
  desk: { connector: sample, schedule: "@every 10m" }
`

var (
	alice = store.Key{User: "alice", Provider: "shop"}
	bob   = store.Key{User: "bob", Provider: "desk"}
	carol = store.Key{User: "carol", Provider: "shop"}
)

const sources = `sources:
  - { user: alice, provider: shop }
  - { user: bob, provider: desk }
  - { user: carol, provider: shop }
`

// newWorld writes a configuration. There is no store yet.
func newWorld(t *testing.T, text string) *world {
	t.Helper()
	w := &world{T: t, file: filepath.Join(t.TempDir(), "config.yaml")}
	w.configure(text)
	return w
}

// filledWorld has a store that knows the sources, as the daemon would leave it.
func filledWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, providers+sources)
	s, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(w.file), "syncd.db"))
	w.must(err)
	t.Cleanup(func() { s.Close() })
	w.store = s
	_, err = s.Migrate(t.Context())
	w.must(err)
	w.apply()
	return w
}

// configure writes the configuration and reads it if it is right.
func (w *world) configure(text string) {
	w.Helper()
	w.must(os.WriteFile(w.file, []byte(text), 0o600))
	w.cfg, _ = config.Load(w.file, []syncd.Connector{sample.Connector()}, nil)
}

func (w *world) apply() {
	w.Helper()
	now, err := w.store.Now(w.Context())
	w.must(err)
	var specs []store.Spec
	for _, src := range w.cfg.Sources {
		specs = append(specs, timetable(src).Spec(keyOf(src), src.Of.Connector.Name, now))
	}
	_, err = w.store.Apply(w.Context(), specs)
	w.must(err)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// try runs a command line and returns what it wrote.
func (w *world) try(args ...string) (out, errs string, code int) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	line := append([]string{"--config", w.file}, args...)
	if args[0] == "__complete" { // the last word is the one to complete
		line = append([]string{"__complete", "--config", w.file}, args[1:]...)
	}
	code = Run(w.Context(), []syncd.Connector{sample.Connector()}, line, Streams{strings.NewReader(""), &stdout, &stderr})
	return stdout.String(), stderr.String(), code
}

// run runs a command line that must end with the exit code, and returns all
// that it wrote.
func (w *world) run(code int, args ...string) string {
	w.Helper()
	out, errs, got := w.try(args...)
	if got != code {
		w.Fatalf("syncd %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	return out + errs
}

// json runs a command line with -o json and decodes its answer.
func (w *world) json(v any, args ...string) {
	w.Helper()
	out, errs, code := w.try(append(args, "-o", "json")...)
	if code != exitDone {
		w.Fatalf("syncd %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		w.Fatalf("syncd %s: %v in %s", strings.Join(args, " "), err, out)
	}
}

// contains checks that each of the wanted texts is in got, in that order.
func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	rest := got
	for _, text := range want {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("got %s\nwant %q in it, after what else is wanted", got, text)
		}
		rest = after
	}
}

// A past is what a run did.
type past struct {
	key     store.Key
	tick    time.Time
	counts  store.Counters
	cursors []store.Cursor
	rejects []store.Reject
	outcome store.Outcome
}

// ran adds a run to the past and returns its id.
func (w *world) ran(p past) string {
	w.Helper()
	ctx := w.Context()
	claim, err := w.store.Acquire(ctx, p.key, "daemon/1", time.Minute)
	w.must(err)
	id := uuid.Must(uuid.NewV7()).String()
	r := store.Run{ID: id, Key: p.key, Token: claim.Token, Owner: "daemon/1", Trigger: store.TriggerSchedule, Tick: p.tick, Folded: 2, State: store.Running}
	w.must(w.store.Begin(ctx, claim.Lease, r, claim.NextAt, claim.DueAt))
	w.must(w.store.Update(ctx, claim.Lease, func(ctx context.Context, tx store.Tx) error {
		for _, c := range p.cursors {
			c.RunID = id
			if err := tx.SaveCursor(ctx, c); err != nil {
				return err
			}
		}
		for i := range p.rejects {
			p.rejects[i].RunID = id
			p.rejects[i].RawSize = int64(len(p.rejects[i].Raw))
		}
		if err := tx.Reject(ctx, p.rejects); err != nil {
			return err
		}
		return tx.Progress(ctx, store.Progress{RunID: id, Counters: p.counts, Pages: 2, Input: "customers at 2026-06-01T00:00:00Z"})
	}))
	if p.outcome.State != "" {
		w.must(w.store.Finish(ctx, claim.Lease, id, p.outcome))
	}
	return id
}

// done is the outcome of a run that ended well; the source is due in an hour.
func done() store.Outcome {
	return store.Outcome{State: store.Done, DueAt: time.Now().Add(time.Hour), Requests: 7}
}

// read is a cursor with a state.
func read(stream string, s cursor.State) store.Cursor {
	return store.Cursor{Stream: stream, Watermark: int64(s.Watermark), State: s.String()}
}
