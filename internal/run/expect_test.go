package run_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/store"
)

// An expectation is what a file beside a script says must come of it, as far
// as it can be compared: the names in these files are not ours.
type expectation struct {
	Status      string          `json:"status"`
	Runs        int             `json:"runs"`
	Rows        json.RawMessage `json:"rows"`
	Requests    json.RawMessage `json:"requests"`
	MaxRequests int             `json:"max_requests"`
	Watermark   string          `json:"watermark"`
	Outbox      *int64          `json:"outbox_events"`
	Deleted     json.RawMessage `json:"deleted"`
	Run2        *store.Counters `json:"run2"`
	After2      struct {
		Rows      json.RawMessage `json:"rows"`
		Watermark string          `json:"watermark"`
	} `json:"after_run2"`
	Counters struct {
		Inserted int64 `json:"inserted"`
		Batch    int64 `json:"duplicate_in_batch"`
		Run      int64 `json:"duplicate_in_run"`
	} `json:"counters"`
	Quarantine []json.RawMessage `json:"quarantine"`
}

// states are our states for the files' words.
var states = map[string][]string{
	"":                                   {store.Done, store.Failed},
	"ok":                                 {store.Done},
	"ok or parked":                       {store.Done, store.Parked},
	"failed":                             {store.Failed},
	"failed unless connector allows 204": {store.Failed},
	"rate_limited":                       {store.Parked},
	"suspect_empty":                      {store.Done}, // with a note, and nothing deleted
}

// What faults wants is what the files beside the scripts say.
func TestFaultsAgreeWithTheFiles(t *testing.T) {
	for name, f := range faults {
		b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name+".expect.json"))
		if err != nil {
			t.Fatal(err)
		}
		var e expectation
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Run(name, func(t *testing.T) { e.compare(t, f) })
	}
}

func (e expectation) compare(t *testing.T, f fault) {
	last := f.runs[len(f.runs)-1]
	var sum store.Counters
	for _, r := range f.runs {
		sum = sum.Add(r.counters)
	}
	if known, ok := states[e.Status]; !ok || !slices.Contains(known, last.state) {
		t.Errorf("status %q, the table has %s", e.Status, last.state)
	}
	same := func(what string, got, want any) {
		if got != want {
			t.Errorf("the table has %s %v, the file %v", what, got, want)
		}
	}
	if e.Runs > len(f.runs) && sum.Rejected == 0 {
		t.Errorf("the table has %d runs, the file %d", len(f.runs), e.Runs)
	}
	for _, rows := range []json.RawMessage{e.Rows, e.After2.Rows} {
		if ids, ok := rowIDs(t, rows); ok {
			same("rows", f.rows, ids)
		}
	}
	for _, w := range []string{e.Watermark, e.After2.Watermark} {
		if w != "" {
			same("watermark", last.watermark, w)
		}
	}
	var requests int
	if json.Unmarshal(e.Requests, &requests) == nil {
		same("requests", f.requests, requests)
	}
	if e.MaxRequests > 0 {
		same("requests", f.requests, e.MaxRequests)
	}
	if e.Outbox != nil {
		same("changes", f.changes, *e.Outbox)
	}
	if e.Run2 != nil {
		same("counters of run 2", f.runs[1].counters, *e.Run2)
	}
	if e.Counters.Inserted > 0 {
		same("inserted", sum.Inserted, e.Counters.Inserted)
	}
	if n := e.Counters.Batch + e.Counters.Run; n > 0 {
		same("duplicate", sum.Duplicate, n)
	}
	if d := string(e.Deleted); d == "[]" || d == "0" {
		same("deleted", sum.Deleted, int64(0))
	} else if d != "" {
		t.Errorf("deleted %s is not compared", d)
	}
	if n := len(e.Quarantine); n > 0 {
		same("rejected", sum.Rejected, int64(n))
	}
}

// rowIDs spells the ids of an expected table, and returns false where the file
// has none.
func rowIDs(t *testing.T, rows json.RawMessage) (string, bool) {
	var list []any
	var byID map[string]any
	var ids []string
	switch {
	case len(rows) == 0 || json.Unmarshal(rows, new(int)) == nil: // how many
		return "", false
	case json.Unmarshal(rows, &list) == nil:
		for _, id := range list {
			ids = append(ids, fmt.Sprint(id))
		}
	case json.Unmarshal(rows, &byID) == nil:
		ids = slices.Collect(maps.Keys(byID))
	default:
		t.Fatalf("rows %s", rows)
	}
	slices.Sort(ids)
	return strings.Join(ids, " "), true
}
