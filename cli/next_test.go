package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
	"github.com/syncdhq/syncd/internal/store"
)

func readCases(t *testing.T, v any, name string) {
	t.Helper()
	data, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// What the command prints are the times of the table, in any zone.
func TestNextOfTheTable(t *testing.T) {
	var rows []struct {
		ID       string
		Expr     string
		TZ       string
		From     string   `json:"from_utc"`
		To       string   `json:"to_utc"`
		Expected []string `json:"expected_utc"`
	}
	readCases(t, &rows, "cron_table.json")
	w := newWorld(t, providers+sources)
	for _, row := range rows {
		to, err := time.Parse(time.RFC3339, row.To)
		if err != nil {
			t.Fatal(err)
		}
		if _, errs, code := w.try("next", "--schedule", row.Expr); len(row.Expected) == 0 && code == exitUsage {
			contains(t, errs, "never fires")
			continue
		}
		var fires []fire
		w.json(&fires, "next", "--schedule", row.Expr, "--timezone", row.TZ, "--from", row.From, "-n", strconv.Itoa(len(row.Expected)+1))
		var got []string
		for _, f := range fires {
			if !f.At.After(to) {
				got = append(got, f.At.Format(time.RFC3339))
			}
			local, err := time.Parse(time.RFC3339, f.Local)
			if err != nil || !local.Equal(f.At) {
				t.Errorf("%s: local %s is not %s", row.ID, f.Local, f.At)
			}
		}
		if strings.Join(got, " ") != strings.Join(row.Expected, " ") {
			t.Errorf("%s: got %v, want %v", row.ID, got, row.Expected)
		}
	}
}

func TestNextRefuses(t *testing.T) {
	var rows []struct{ Expr, Expect string }
	readCases(t, &rows, "cron_invalid.json")
	w := newWorld(t, providers+sources)
	for _, row := range rows {
		want := exitDone
		if strings.HasPrefix(row.Expect, "reject") {
			want = exitUsage
		}
		if out, errs, code := w.try("next", "--schedule", row.Expr); code != want {
			t.Errorf("%q (%s): exit code %d, want %d: %s%s", row.Expr, row.Expect, code, want, out, errs)
		}
	}
}

func TestNextOfAnExpression(t *testing.T) {
	w := newWorld(t, providers+sources)
	out := w.run(exitDone, "next", "--schedule", "30 2 * * *", "--timezone", "America/New_York", "--from", "2026-03-07", "-n", "3")
	contains(t, out, "UTC\n", "Sat 2026-03-07 02:30:00 EST", "Sun 2026-03-08 03:00:00 EDT", "2026-03-08 07:00:00\n", "Mon 2026-03-09 02:30:00 EDT")
	contains(t, w.run(exitDone, "next", "--schedule", "0 0 13 * 5"), "Fri ", "note: day of month")
	// Nothing is due after the year 9999.
	var fires []fire
	w.json(&fires, "next", "--schedule", "@yearly", "--from", "9998-12-31T12:00:00Z")
	if len(fires) == 0 || len(fires) == usualFires {
		t.Errorf("got %+v, want those that are left", fires)
	}
}

// A source goes on from where its schedule stands in the store.
func TestNextFromTheStore(t *testing.T) {
	w := filledWorld(t)
	at := time.Now().Add(7 * time.Minute).UTC().Truncate(time.Microsecond)
	w.must(w.store.Reschedule(t.Context(), bob, at, at))
	var fires []fire
	w.json(&fires, "next", "bob", "desk", "-n", "3")
	if len(fires) != 3 {
		t.Fatalf("got %+v, want three", fires)
	}
	for i, f := range fires {
		if want := at.Add(time.Duration(i) * 10 * time.Minute); !f.At.Equal(want) || !f.Due.Equal(want) || f.User != "bob" || f.Provider != "desk" {
			t.Errorf("fire %d: got %+v, want at %s", i, f, want)
		}
	}
	contains(t, w.run(exitDone, "next", "bob", "desk"), "IN", "6m")
	// --from asks the schedule alone.
	w.json(&fires, "next", "bob", "desk", "--from", "2026-01-01T00:00:00Z", "-n", "1")
	if want := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC); !fires[0].At.Equal(want) {
		t.Errorf("got %+v, want at %s", fires, want)
	}
}

// Ticks that nobody was there for are one run, for the last of them.
func TestNextAfterMissedTicks(t *testing.T) {
	w := filledWorld(t)
	at := time.Now().Add(-35 * time.Minute).UTC().Truncate(time.Microsecond)
	w.must(w.store.Reschedule(t.Context(), bob, at, at))
	var fires []fire
	w.json(&fires, "next", "bob", "desk", "-n", "2")
	for i, want := range []time.Time{at.Add(30 * time.Minute), at.Add(40 * time.Minute)} {
		if !fires[i].At.Equal(want) {
			t.Errorf("fire %d: got %s, want %s", i, fires[i].At, want)
		}
	}
	contains(t, w.run(exitDone, "next", "bob", "desk"), "3 ticks before the first were missed: one run stands for all")
}

func TestNextSaysWhatElseDecides(t *testing.T) {
	w := filledWorld(t)
	contains(t, w.run(exitDone, "next", "bob", "desk"), "besides: it has never been run")
	w.ran(past{key: bob, outcome: store.Outcome{State: store.Failed, Error: "no", Failures: 1, Resume: store.ResumeFailed, DueAt: time.Now().Add(time.Minute)}})
	contains(t, w.run(exitDone, "next", "bob", "desk"), "besides: the last run failed")
	w.ran(past{key: bob, outcome: store.Outcome{State: store.Parked, Resume: store.ResumeParked, DueAt: time.Now().Add(time.Hour)}})
	contains(t, w.run(exitDone, "next", "bob", "desk"), "does not run before", "waits for quota")
	w.run(exitDone, "sources", "pause", "bob", "desk")
	contains(t, w.run(exitDone, "next", "bob", "desk"), "bob desk is paused (operator)")
	w.configure(strings.Replace(providers, "@every 10m", "@every 20m", 1) + sources)
	contains(t, w.run(exitDone, "next", "bob", "desk"), "still has the schedule @every 10m")
	contains(t, w.run(exitFailed, "next", "dave", "desk"), "no source dave desk")
}

func TestNextOfAllSources(t *testing.T) {
	w := newWorld(t, providers+sources)
	var fires []fire
	w.json(&fires, "next")
	// Which is first depends on the time of the day.
	at := map[string]time.Time{}
	for _, f := range fires {
		at[f.User] = f.At
	}
	if len(fires) != 3 || at["alice"].IsZero() || !at["carol"].Equal(at["alice"]) || at["bob"].IsZero() {
		t.Errorf("without a store: got %+v, want each source once", fires)
	}
	if !slices.IsSortedFunc(fires, func(a, b fire) int { return a.At.Compare(b.At) }) {
		t.Errorf("without a store: got %+v, want the soonest first", fires)
	}
	w = filledWorld(t)
	soon := time.Now().Add(5 * time.Minute)
	w.must(w.store.Reschedule(t.Context(), carol, soon, soon))
	later := time.Now().Add(9 * time.Minute)
	w.must(w.store.Reschedule(t.Context(), bob, later, later))
	w.must(w.store.Reschedule(t.Context(), alice, later, later.Add(time.Second)))
	w.run(exitDone, "sources", "pause", "bob", "desk")
	w.configure(providers + sources + "  - { user: dave, provider: desk }\n")
	w.json(&fires, "next")
	var users []string
	for _, f := range fires {
		users = append(users, f.User)
	}
	if got := strings.Join(users, " "); got != "carol alice dave" {
		t.Errorf("got %s, want carol alice dave", got)
	}
	out := w.run(exitDone, "next", "-n", "1")
	contains(t, out, "carol", "1 paused source left out", "2 more sources")
	if strings.Contains(out, "alice") {
		t.Errorf("-n 1 shows more: %s", out)
	}
}
