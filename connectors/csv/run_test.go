package csv

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	instore "github.com/syncdhq/syncd/internal/store/memory"
)

// A rig runs one feed as the daemon does, against a store in memory.
type rig struct {
	t     *testing.T
	store *instore.Store
	path  string
	set   func(*Options)
	page  func() // called before each page is fetched
}

func (r *rig) run() run.Result {
	r.t.Helper()
	ctx := r.t.Context()
	key := store.Key{User: "acme", Provider: "orders"}
	now := time.Now()
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	_, err := r.store.Apply(ctx, []store.Spec{{Key: key, Connector: "csv", Schedule: "@daily", NextAt: now, DueAt: now}})
	must(err)
	claim, err := r.store.Acquire(ctx, key, "test", time.Minute)
	must(err)
	id := uuid.Must(uuid.NewV7()).String()
	must(r.store.Begin(ctx, claim.Lease, store.Run{ID: id, Key: key, Trigger: store.TriggerOperator, State: store.Running}, now, now))
	runner := &run.Runner{Store: r.store, Writer: &ingest.Writer{Store: r.store}, Now: time.Now}
	o := Defaults()
	o.Path = r.path
	r.set(o)
	streams, err := o.Streams(nil)
	must(err)
	if fetch := streams[0].Fetch; r.page != nil {
		streams[0].Fetch = func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			r.page()
			return fetch(ctx, req)
		}
	}
	res := runner.Run(ctx, run.Job{
		Source: run.Source{Key: key, Streams: streams, MarkMissing: true, MaxMissing: 100, MaxRejects: 100},
		Lease:  claim.Lease, RunID: id, At: claim.Now,
	})
	must(r.store.Finish(ctx, claim.Lease, id, store.Outcome{State: res.State, DueAt: now}))
	return res
}

// live spells the records that are there.
func (r *rig) live() string {
	var out []string
	for _, x := range r.store.Records(store.Key{User: "acme", Provider: "orders"}) {
		if !x.Deleted {
			out = append(out, x.ID+"="+string(x.Data))
		}
	}
	return strings.Join(out, " ")
}

func TestRuns(t *testing.T) {
	r := &rig{t: t, store: instore.New(nil), path: feedFile(t, ""), set: keyed("id")}
	const one, two, three = `rows/1={"id":"1","n":"a"}`, `rows/2={"id":"2","n":"b"}`, `rows/3={"id":"3","n":"c"}`
	steps := []struct {
		name, text string
		state      string
		counters   store.Counters
		unchanged  bool
		live       []string
	}{
		{"the first", "id,n\n1,a\n2,b\n3\n", store.Done, store.Counters{Inserted: 2, Rejected: 1}, false, []string{one, two}},
		{"the same", "id,n\n1,a\n2,b\n3\n", store.Done, store.Counters{}, true, []string{one, two}},
		{"a row that is back", "id,n\n1,a\n2,b\n3,c\n", store.Done, store.Counters{Inserted: 1, Unchanged: 2}, false, []string{one, two, three}},
		{"a row less, and a bad one", "id,n\n2,b\n3,\"c\"x\n", store.Done, store.Counters{Unchanged: 1, Rejected: 1}, false, []string{one, two, three}},
		{"cut in the last field", "id,n\n1,a\n2", store.Done, store.Counters{Unchanged: 1, Rejected: 1}, false, []string{one, two, three}},
		{"empty", "", store.Failed, store.Counters{}, false, []string{one, two, three}},
		{"a mark alone", "\ufeff", store.Failed, store.Counters{}, false, []string{one, two, three}},
		{"a header alone", "id,n\n", store.Failed, store.Counters{}, false, []string{one, two, three}},
		{"an open quote", "id,n\n1,\"a\n", store.Failed, store.Counters{}, false, []string{one, two, three}},
		{"other columns", "nr,n\n1,a\n", store.Failed, store.Counters{}, false, []string{one, two, three}},
		{"a row less", "id,n\n1,a\n3,c\n", store.Done, store.Counters{Unchanged: 2, Deleted: 1}, false, []string{one, three}},
		{"and back", "id,n\n1,a\n2,b\n3,c\n2,b\n", store.Done, store.Counters{Unchanged: 2, Restored: 1, Duplicate: 1}, false, []string{one, two, three}},
	}
	for _, step := range steps {
		write(t, r.path, step.text)
		res := r.run()
		if res.State != step.state || res.Unchanged != step.unchanged {
			t.Errorf("%s: %s (%v), unchanged %v; want %s, %v", step.name, res.State, res.Err, res.Unchanged, step.state, step.unchanged)
		}
		if diff := cmp.Diff(step.counters, res.Counters); diff != "" {
			t.Errorf("%s: -want +got\n%s", step.name, diff)
		}
		if got, want := r.live(), strings.Join(step.live, " "); got != want {
			t.Errorf("%s: there is %s, want %s", step.name, got, want)
		}
	}
}

// A file that is replaced while it is read leaves what the new one has, once it
// has been read without a change.
func TestRunReplaced(t *testing.T) {
	var before, after strings.Builder
	var want []string
	before.WriteString("id,n\n")
	after.WriteString("id,n\n")
	for i := range 40 {
		fmt.Fprintf(&before, "%02d,old\n", i)
		fmt.Fprintf(&after, "%02d,new\n", i+10)
		want = append(want, fmt.Sprintf(`rows/%02d={"id":"%02d","n":"new"}`, i+10, i+10))
	}
	r := &rig{t: t, store: instore.New(nil), path: feedFile(t, before.String())}
	r.set = func(o *Options) { o.Key, o.PageRows = []string{"id"}, 5 }
	pages := 0
	r.page = func() {
		if pages++; pages == 3 {
			keepTime(t, r.path, func() { write(t, r.path, after.String()) })
		}
	}
	for i, unchanged := range []bool{false, true} {
		if res := r.run(); res.State != store.Done || res.Unchanged != unchanged {
			t.Errorf("run %d: %s, unchanged %v: %v; want done, %v", i+1, res.State, res.Unchanged, res.Err, unchanged)
		}
	}
	if diff := cmp.Diff(strings.Join(want, " "), r.live()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
