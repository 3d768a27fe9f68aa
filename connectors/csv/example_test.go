package csv

import (
	"path/filepath"
	"strings"
	"testing"
)

// The example that the documentation leads newcomers through has one bad row,
// and all else of it comes in.
func TestExampleFeed(t *testing.T) {
	path := filepath.Join("..", "..", "examples", "feeds", "orders.csv")
	r := mustWalk(t, open(t, path, with(keyed("vendor", "order_number"), func(o *Options) { o.Mark = "placed_at" })), "")
	seen := map[string]bool{}
	var rejects []string
	for i, x := range rows(r.records) {
		if strings.HasPrefix(x, "!") {
			rejects = append(rejects, x)
			continue
		}
		id := r.records[i].ID
		if seen[id] || r.records[i].Mark == 0 {
			t.Errorf("%s is there twice, or has no mark", id)
		}
		seen[id] = true
	}
	if len(rejects) != 1 || rejects[0] != "! line 23 wrong_field_count" {
		t.Errorf("rejects %q, want line 23 alone", rejects)
	}
	for _, id := range []string{"Sjöberg & Söner/007", "bramble-co/B%2F2026%2F118", "ÖKOHOF/000317"} {
		if !seen[id] {
			t.Errorf("no record %s", id)
		}
	}
	if len(seen) != 39 {
		t.Errorf("%d records, want 39", len(seen))
	}
}
