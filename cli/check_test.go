package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/internal/config"
)

func TestCheckListsEveryError(t *testing.T) {
	w := newWorld(t, `store: sqlite:syncd.db
providers:
  a: { connector: sampel, schedule: "@daily" }
  b: { connector: sample, schedule: "0 0 30 2 *" }
sources:
  - { user: alice, provider: c }
`)
	out, errs, code := w.try("check")
	if code != exitUsage || out != "" {
		t.Errorf("exit code %d, out %q, want %d and nothing", code, out, exitUsage)
	}
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q, want three errors", lines)
	}
	for i, want := range []string{":3:19: ", ":4:37: ", ":6:30: "} {
		if !strings.HasPrefix(lines[i], w.file+want) {
			t.Errorf("got %q, want it to begin with %s", lines[i], w.file+want)
		}
	}
	out, errs, code = w.try("check", "-o", "json")
	if code != exitUsage || !strings.HasPrefix(errs, w.file+":3:19: ") {
		t.Errorf("exit code %d, errors %q", code, errs)
	}
	contains(t, out, `"right": false`, `"line": 3`, `"column": 19`, `"hint"`, `"line": 4`, `"line": 6`)
}

func TestCheckOfNoFile(t *testing.T) {
	w := newWorld(t, providers+sources)
	w.file = filepath.Join(t.TempDir(), "absent.yaml")
	contains(t, w.run(exitUsage, "check"), "absent.yaml")
	contains(t, w.run(exitUsage, "status"), "absent.yaml")
}

func TestCheckSaysWhatItComesTo(t *testing.T) {
	w := newWorld(t, `store: sqlite:syncd.db
providers:
  a: { connector: sample, schedule: "0 0 13 * 5", timezone: Europe/Berlin }
  b: { connector: sample }
  c: { connector: sample, schedule: "@daily" }
sources:
  - { user: alice, provider: a }
  - { user: bob, provider: a }
  - { user: carol, provider: a, schedule: "*/5 * * * *" }
  - { user: alice, provider: b, schedule: "@hourly" }
`)
	out, errs, code := w.try("check")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	contains(t, errs, w.file+":3:37: warning: schedule: day of month")
	contains(t, out, "4 sources of 3 providers", "2        0 0 13 * 5 (Europe/Berlin)", "1        */5 * * * * (Europe/Berlin)", "@hourly (UTC)", "0        @daily (UTC)")

	var got checkReport
	w.json(&got, "check")
	if !got.Right || got.Sources != 4 || len(got.Providers) != 3 || len(got.Warnings) != 1 || got.Warnings[0].Line != 3 {
		t.Fatalf("got %+v", got)
	}
	if _, _, code := w.try("check", "--config", w.file); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if matches, _ := filepath.Glob(filepath.Join(filepath.Dir(w.file), "*.db")); len(matches) > 0 {
		t.Errorf("check made %v", matches)
	}
}

// The times are those of the zone, summer time included.
func TestReportInSummerTime(t *testing.T) {
	cfg, err := config.Parse("c.yaml", []byte(`store: sqlite:syncd.db
providers: { a: { connector: sample, schedule: "30 2 * * *", timezone: America/New_York } }
sources: [{ user: alice, provider: a }]
`), []syncd.Connector{sample.Connector()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := report(cfg, time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC))
	got := strings.Join(r.Providers[0].Schedules[0].Next, " ")
	if want := "2026-03-07T02:30:00-05:00 2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	said := coming(r.Providers[0].Schedules[0].next)
	if want := "Sat 2026-03-07 02:30:00 EST, Sun 03-08 03:00:00 EDT, Mon 03-09 02:30:00"; said != want {
		t.Errorf("got %s, want %s", said, want)
	}
}
