package run_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/cursor"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/pgtest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
	"github.com/syncdhq/syncd/internal/store/postgres"
	"github.com/syncdhq/syncd/internal/store/sqlite"
)

var (
	noon  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	alice = store.Key{User: "alice", Provider: "shop"}
)

// An opener opens an empty store, inside whatever bubble the test is in.
type opener func(t *testing.T) store.Store

// A database is a store with a way to look behind it.
type database struct {
	store.Store
	changes func(t *testing.T) []store.Change // alice's, in order
}

// eachStore runs a test on all three stores.
func eachStore(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("memory", func(t *testing.T) {
		test(t, func(*testing.T) store.Store { return newStore(t) })
	})
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t *testing.T) store.Store {
			path := filepath.Join(t.TempDir(), "syncd.db")
			s, err := sqlite.Open(t.Context(), path)
			return &database{migrated(t, s, err), func(t *testing.T) []store.Change { return changesOfFile(t, path) }}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := pgtest.Database(t)
		test(t, func(t *testing.T) store.Store {
			s, err := postgres.Open(t.Context(), dsn)
			return &database{migrated(t, s, err), func(t *testing.T) []store.Change { return changesOfDatabase(t, dsn) }}
		})
	})
}

const selectChanges = "SELECT external_id, stream, kind, mark, version, run_id FROM changes WHERE user_id = 'alice' ORDER BY seq"

func changesOfFile(t *testing.T, path string) (out []store.Change) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), selectChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c store.Change
		if err := rows.Scan(&c.ID, &c.Stream, &c.Kind, &c.Mark, &c.Version, &c.RunID); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func changesOfDatabase(t *testing.T, dsn string) []store.Change {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), selectChanges)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[store.Change])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newStore is a store for tests of what no store decides.
func newStore(t *testing.T) store.Store {
	t.Helper()
	s := memory.New(nil)
	return &database{s, func(*testing.T) []store.Change { return s.Changes(alice) }}
}

func migrated(t *testing.T, s store.Store, err error) store.Store {
	t.Helper()
	if err == nil {
		t.Cleanup(func() { s.Close() })
		_, err = s.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A rig runs one source on one store.
type rig struct {
	t      *testing.T
	store  store.Store
	pages  store.Pages // nil is store
	source run.Source
	job    func(*run.Job) // changes the next job
	now    func() time.Time
	lastID string
	lossy  bool            // a commit may have been one though it was said to have failed
	ctx    context.Context // of the run; nil is the test's

	page               chan struct{} // told of each commit
	fetched, committed int
}

func newRig(t *testing.T, s store.Store, streams ...syncd.Stream) *rig {
	t.Helper()
	began := time.Now()
	r := &rig{
		t: t, store: s,
		source: run.Source{Key: alice, Streams: streams, MaxMissing: 30, MaxRejects: 50},
		now:    func() time.Time { return noon.Add(time.Since(began)) },
	}
	now := time.Now()
	if err := s.Add(t.Context(), store.Spec{Key: alice, Connector: "c", Schedule: "@hourly", NextAt: now, DueAt: now, SpreadAt: now}); err != nil {
		t.Fatal(err)
	}
	return r
}

// resumes is why a source is due after a run, as the scheduler has it.
var resumes = map[string]string{
	store.Partial: store.ResumePartial, store.Parked: store.ResumeParked, store.Failed: store.ResumeFailed,
}

// run runs the source once and closes the run.
func (r *rig) run() run.Result {
	r.t.Helper()
	ctx := r.t.Context()
	claim, err := r.store.Acquire(ctx, alice, "test", time.Hour)
	if err != nil {
		r.t.Fatal(err)
	}
	r.lastID = uuid.Must(uuid.NewV7()).String()
	open := store.Run{ID: r.lastID, Key: alice, Token: claim.Token, Owner: "test", Trigger: store.TriggerOperator, State: store.Running}
	if err := r.store.Begin(ctx, claim.Lease, open, claim.NextAt, claim.DueAt); err != nil {
		r.t.Fatal(err)
	}
	job := run.Job{Source: r.source, Lease: claim.Lease, RunID: r.lastID, At: claim.Now, Continue: claim.MidRound()}
	r.fetched, r.committed, r.page = 0, 0, make(chan struct{}, 1000)
	job.OnPage = func(run.Event) { r.page <- struct{}{} }
	if r.job != nil {
		r.job(&job)
	}
	pages := r.pages
	if pages == nil {
		pages = r.store
	}
	runner := &run.Runner{Store: pages, Writer: &ingest.Writer{Store: pages, Changes: true}, Now: r.now}
	if r.ctx != nil {
		ctx = r.ctx
	}
	res := runner.Run(ctx, job)
	ctx = r.t.Context()
	message := ""
	if res.Err != nil {
		message = res.Err.Error()
	}
	err = r.store.Finish(ctx, claim.Lease, r.lastID, store.Outcome{State: res.State, Error: message, DueAt: claim.DueAt, Resume: resumes[res.State]})
	if err != nil && res.State != store.Lost {
		r.t.Fatal(err)
	}
	if !r.lossy {
		r.checkLog(res)
	}
	return res
}

// checkLog holds what the run log has against what the run said.
func (r *rig) checkLog(res run.Result) {
	r.t.Helper()
	row, err := r.store.Run(r.t.Context(), r.lastID)
	if err != nil {
		r.t.Fatal(err)
	}
	if row.Counters != res.Counters || row.Pages != res.Pages {
		r.t.Errorf("the run log has %+v in %d pages, the run counted %+v in %d", row.Counters, row.Pages, res.Counters, res.Pages)
	}
}

// ids spells the ids of the live records of a stream, without the stream.
func (r *rig) ids() string {
	var out []string
	for _, h := range r.heads() {
		_, id, _ := strings.Cut(h.ID, "/")
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

func (r *rig) heads() []store.Head {
	r.t.Helper()
	heads, err := r.store.Live(r.t.Context(), alice, "", "", time.Now().AddDate(100, 0, 0), 100_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return heads
}

func (r *rig) data(id string) (data []byte) {
	r.t.Helper()
	r.tx(func(ctx context.Context, tx store.Tx) error {
		all, err := tx.Data(ctx, []string{id})
		if err == nil {
			data = all[0]
		}
		return err
	})
	return data
}

// tx runs f under a lease of its own.
func (r *rig) tx(f func(context.Context, store.Tx) error) {
	r.t.Helper()
	claim, err := r.store.Acquire(r.t.Context(), alice, "test", time.Hour)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.store.Update(r.t.Context(), claim.Lease, f); err != nil {
		r.t.Fatal(err)
	}
	if err := r.store.Release(r.t.Context(), claim.Lease); err != nil {
		r.t.Fatal(err)
	}
}

// cursor returns a stored cursor.
func (r *rig) cursor(stream, part string) cursor.State {
	r.t.Helper()
	all, err := r.store.Cursors(r.t.Context(), alice)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range all {
		if c.Stream == stream && c.Part == part {
			s, err := cursor.Parse(c.State)
			if err != nil {
				r.t.Fatal(err)
			}
			return s
		}
	}
	return cursor.State{}
}

// setCursor stores a cursor of the stream items.
func (r *rig) setCursor(s cursor.State) {
	r.t.Helper()
	r.tx(func(ctx context.Context, tx store.Tx) error {
		return tx.SaveCursor(ctx, store.Cursor{Stream: "items", Watermark: int64(s.Watermark), State: s.String()})
	})
}

// changes returns the outbox.
func (r *rig) changes() []store.Change {
	r.t.Helper()
	return r.store.(*database).changes(r.t)
}

// checkChanges holds the outbox against the records: it tells of each version
// of each record once, in order, and ends with what is stored.
func (r *rig) checkChanges() {
	r.t.Helper()
	last := map[string]store.Change{}
	for _, c := range r.changes() {
		before := last[c.ID]
		if c.Version != before.Version+1 || c.Mark < before.Mark {
			r.t.Errorf("change %+v follows %+v", c, before)
		}
		if live := c.Kind != "deleted"; before.Kind == "" && c.Kind != "inserted" && live || before.Kind == "deleted" && c.Kind != "restored" {
			r.t.Errorf("%s of %s follows %q", c.Kind, c.ID, before.Kind)
		}
		last[c.ID] = c
	}
	for _, h := range r.heads() {
		if c := last[h.ID]; c.Version != h.Version || c.Kind == "deleted" {
			r.t.Errorf("%s is stored in version %d, its last change is %+v", h.ID, h.Version, c)
		}
		delete(last, h.ID)
	}
	for id, c := range last {
		if c.Kind != "deleted" {
			r.t.Errorf("%s is not there, its last change is %+v", id, c)
		}
	}
}

func (r *rig) want(what string, got, want any) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A list is a provider in memory: records by id with their marks, served in
// pages by tokens that name the last record.
type list struct {
	records []syncd.Record
	size    int
	fetched int
	before  func(n int) // called before the nth fetch
}

func numbered(n int) *list {
	l := &list{size: 3}
	for i := range n {
		l.records = append(l.records, syncd.Record{
			ID: fmt.Sprintf("%02d", i), Mark: syncd.At(noon.Add(time.Duration(i-n) * time.Minute)), Data: fmt.Appendf(nil, `{"n":%d}`, i),
		})
	}
	return l
}

// stream serves the list in the given order.
func (l *list) stream(s syncd.Stream) syncd.Stream {
	s.Fetch = func(_ context.Context, req syncd.Request) (syncd.Page, error) {
		if l.fetched++; l.before != nil {
			l.before(l.fetched)
		}
		return l.page(s, req), nil
	}
	return s
}

func (l *list) page(s syncd.Stream, req syncd.Request) syncd.Page {
	all := slices.Clone(l.records)
	slices.SortFunc(all, func(x, y syncd.Record) int {
		if c := int(x.Mark - y.Mark); c != 0 && s.Order != syncd.Descending {
			return c
		} else if c != 0 {
			return -c
		}
		return strings.Compare(x.ID, y.ID)
	})
	if s.Order == syncd.Ascending {
		all = slices.DeleteFunc(all, func(r syncd.Record) bool { return r.Mark < req.Since })
	}
	from := 0
	if req.Page != "" {
		from = 1 + slices.IndexFunc(all, func(r syncd.Record) bool { return r.ID == req.Page })
	}
	to := min(from+l.size, len(all))
	p := syncd.Page{Records: all[from:to]}
	if to < len(all) {
		p.Next = all[to-1].ID
	}
	return p
}
